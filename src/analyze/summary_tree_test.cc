#include "analyze/summary_tree.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analyze/testing_models.h"

namespace flowscope {
namespace {

SummaryNode Ops(const std::string& name, const std::string& type = "Relu") {
  SummaryNode node;
  node.name = name;
  node.type = type;
  node.passes = 1;
  return node;
}

SummaryNode Module(const std::string& name, std::vector<SummaryNode> children = {}) {
  SummaryNode node;
  node.kind = RowKind::kModule;
  node.name = name;
  node.children = std::move(children);
  return node;
}

// "a(b c)": names with their children.
std::string Shape(const SummaryNode& node) {
  std::string text = node.name;
  if (node.repeats > 1) text += "x" + std::to_string(node.repeats);
  if (node.children.empty()) return text;
  text += "(";
  for (size_t i = 0; i < node.children.size(); ++i) {
    text += (i > 0 ? " " : "") + Shape(node.children[i]);
  }
  return text + ")";
}

TEST(SummaryTreeTest, FollowsModulesInOrderOfExecution) {
  TraceMaker m;
  m.Module("self");
  m.Module("b");
  m.Module("b.inner");
  m.Module("a");
  const TensorId x = m.Input("x", {1});
  m.Call("self", [&] {
    m.Call("a", [&] { m.Op("Relu", {x}); });
    m.Op("Exp", {x});
    m.Call("b", [&] { m.Call("b.inner", [&] { m.Op("Relu", {x}); }); });
  });
  const auto trace = m.Finish();
  EXPECT_EQ(Shape(BuildSummaryTree(*trace, CostIndex(*trace), false)), "self(a exp_1_3 b(inner))");
  EXPECT_EQ(Shape(BuildSummaryTree(*trace, CostIndex(*trace), true)),
            "self(input_1_1 a(relu_1_2) exp_1_3 b(inner(relu_2_4)))");
}

TEST(SummaryTreeTest, TheModelRowHoldsTheWholeTrace) {
  SmallModel model;
  const auto trace = model.m.Finish();
  const CostIndex costs(*trace);
  const SummaryNode root = BuildSummaryTree(*trace, costs, false);
  EXPECT_EQ(root.kind, RowKind::kModel);
  EXPECT_EQ(root.cost.flops, costs.Total().flops);
  EXPECT_EQ(root.params, 1000);
  EXPECT_EQ(root.passes, 1);
}

TEST(SummaryTreeTest, AParentThatWasNotCalledStandsWhereItsChildrenRan) {
  TraceMaker m;
  m.Module("self");
  m.Module("late");
  m.Module("group");
  m.Module("group.first");
  const TensorId x = m.Input("x", {1});
  m.Call("self", [&] {
    m.Call("group.first", [&] { m.Op("Relu", {x}); });
    m.Call("late", [&] { m.Op("Relu", {x}); });
  });
  const auto trace = m.Finish();
  EXPECT_EQ(Shape(BuildSummaryTree(*trace, CostIndex(*trace), false)), "self(group(first) late)");
}

TEST(FoldRepeatsTest, JoinsLikeNeighboursOnly) {
  SummaryNode root = Module("r", {Ops("a1"), Ops("a2"), Ops("b1", "Exp"), Ops("a3")});
  FoldRepeats(root);
  EXPECT_EQ(Shape(root), "r(a1x2 b1 a3)");
  EXPECT_EQ(root.children[0].last_name, "a2");
}

TEST(FoldRepeatsTest, LooksAtWhatIsBelow) {
  SummaryNode root = Module("r", {Module("m1", {Ops("a"), Ops("b")}),
                                  Module("m2", {Ops("c"), Ops("d")}), Module("m3", {Ops("e")})});
  FoldRepeats(root);
  EXPECT_EQ(Shape(root), "r(m1x2(ax2) m3(e))");
}

TEST(CollapseOpsTest, PutsOneNoteInPlaceOfARun) {
  SummaryNode root = Module(
      "r", {Ops("a"), Ops("b", "Exp"), Ops("c"), Module("m", {Ops("d"), Ops("e")}), Ops("f")});
  CollapseOps(root);
  EXPECT_EQ(Shape(root), "r(... 3 ops: Relu x2, Exp m(... 2 ops: Relu x2) f)");
}

TEST(CutDepthTest, KeepsWhatIsAbove) {
  SummaryNode root = Module("r", {Module("m", {Module("n", {Ops("a")})}), Ops("b")});
  EXPECT_EQ(CountRows(root), 5);
  EXPECT_EQ(MaxDepth(root), 3);
  CutDepth(root, 1);
  EXPECT_EQ(Shape(root), "r(m b)");
  EXPECT_EQ(CountRows(root), 3);
  CutDepth(root, 0);
  EXPECT_EQ(Shape(root), "r");
}

}  // namespace
}  // namespace flowscope
