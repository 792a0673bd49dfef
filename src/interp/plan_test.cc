#include "interp/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_runtime/function_writer.h"
#include "trace/attrs.h"

namespace flowscope::interp {
namespace {

using fake::FunctionWriter;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> NodeNames(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlanNode& node : plan.nodes) names.emplace_back(node.name);
  return names;
}

std::vector<uint32_t> InputSlots(const Plan& plan, const PlanNode& node) {
  std::vector<uint32_t> slots;
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    slots.push_back(plan.inputs[node.first_input + i].slot);
  }
  return slots;
}

class PlanTest : public ::testing::Test {
 protected:
  static std::optional<tf::OpDef> NoFunction(std::string_view) { return {}; }

  // A plan that has no findings.
  std::shared_ptr<const Plan> Build(const FunctionWriter& function, const Bindings& bindings = {},
                                    const SignatureFinder& finder = NoFunction) {
    auto plan = BuildPlan(function.Bytes(), bindings, finder);
    for (const Finding& finding : plan->findings) ADD_FAILURE() << Explain(finding);
    return plan;
  }

  // Why there is no plan.
  std::string WhyNot(const FunctionWriter& function) {
    const auto plan = BuildPlan(function.Bytes(), {}, NoFunction);
    EXPECT_TRUE(plan->nodes.empty());
    if (plan->findings.size() != 1) return std::to_string(plan->findings.size()) + " findings";
    EXPECT_EQ(plan->findings[0].row->id, kNoPlan);
    return plan->findings[0].where;
  }

  fake::Runtime runtime_;
};

TEST_F(PlanTest, ArgumentsAndOutputsHaveSlots) {
  const auto plan = Build(FunctionWriter("f")
                              .Arg("x")
                              .Arg("y")
                              .Node("sum", "AddV2", {"x", "y"})
                              .Node("twice", "Mul", {"sum:z:0", "sum:z"})
                              .Returns("r", "twice:z:0"));
  EXPECT_EQ(plan->name, "f");
  EXPECT_EQ(plan->num_args, 2u);
  EXPECT_THAT(NodeNames(*plan), ElementsAre("sum", "twice"));
  EXPECT_THAT(InputSlots(*plan, plan->nodes[0]), ElementsAre(0, 1));
  EXPECT_THAT(InputSlots(*plan, plan->nodes[1]), ElementsAre(2, 2));
  ASSERT_EQ(plan->returns.size(), 1u);
  EXPECT_EQ(plan->returns[0].slot, 3u);
}

TEST_F(PlanTest, MarksTheLastUseOfEachSlot) {
  const auto plan = Build(FunctionWriter("f")
                              .Arg("x")
                              .Arg("unused")
                              .Node("a", "Neg", {"x"})
                              .Node("b", "AddV2", {"x", "a:y:0"})
                              .Node("c", "Mul", {"b:z:0", "b:z:0"})
                              .Returns("r", "c:z:0")
                              .Returns("again", "c:z:0"));
  std::vector<bool> last;
  for (const PlanInput& input : plan->inputs) last.push_back(input.last);
  EXPECT_THAT(last, ElementsAre(false, true, true, false, true));
  EXPECT_FALSE(plan->returns[0].last);
  EXPECT_TRUE(plan->returns[1].last);
  EXPECT_TRUE(plan->kept[0]);
  EXPECT_FALSE(plan->kept[1]);
}

TEST_F(PlanTest, AListOutputTakesAsManySlotsAsItsAttributeSays) {
  const auto plan = Build(FunctionWriter("f")
                              .Arg("x")
                              .Node("parts", "Unpack", {"x"}, {{"num", fake::IntAttr(3)}})
                              .Node("pack", "Pack", {"parts:output"}, {{"N", fake::IntAttr(3)}})
                              .Returns("r", "pack:output:0")
                              .Returns("last", "parts:output:2"));
  EXPECT_EQ(plan->nodes[0].num_outputs, 3u);
  EXPECT_THAT(InputSlots(*plan, plan->nodes[1]), ElementsAre(1, 2, 3));
  EXPECT_EQ(plan->returns[1].slot, 3u);
}

TEST_F(PlanTest, AttributesWithTheirDefaultAreFilledIn) {
  const auto plan =
      Build(FunctionWriter("f")
                .Arg("a")
                .Node("m", "MatMul", {"a", "a"}, {{"transpose_b", fake::BoolAttr(true)}})
                .Returns("r", "m:product:0"));
  const AttrSet& attrs = *plan->nodes[0].attrs;
  EXPECT_EQ(attrs.op, "MatMul");
  const auto shown = SplitAttrs(attrs.name_attr_list);
  ASSERT_TRUE(shown.ok());
  EXPECT_EQ(shown->at("transpose_a"), fake::BoolAttr(false));
  EXPECT_EQ(shown->at("transpose_b"), fake::BoolAttr(true));
  EXPECT_EQ(attrs.eager.size(), 3u);
}

TEST_F(PlanTest, AttributesOfTensorFlowsOwnAreShownAndNotPassedOn) {
  const auto plan = Build(FunctionWriter("f")
                              .Arg("a")
                              .Node("i", "Identity", {"a"},
                                    {{"_gradient_op_type", fake::StringAttr("CustomGradient-1")}})
                              .Returns("r", "i:output:0"));
  const AttrSet& attrs = *plan->nodes[0].attrs;
  EXPECT_THAT(attrs.name_attr_list, HasSubstr("CustomGradient-1"));
  ASSERT_EQ(attrs.eager.size(), 1u);
  EXPECT_EQ(attrs.eager[0].first, "T");
}

TEST_F(PlanTest, NodesWithEqualAttributesShareThem) {
  const auto plan = Build(FunctionWriter("f")
                              .Arg("x")
                              .Node("a", "Neg", {"x"})
                              .Node("b", "Neg", {"a:y:0"})
                              .Node("c", "Relu", {"b:y:0"})
                              .Returns("r", "c:activations:0"));
  EXPECT_EQ(plan->nodes[0].attrs, plan->nodes[1].attrs);
  EXPECT_NE(plan->nodes[0].attrs, plan->nodes[2].attrs);
}

TEST_F(PlanTest, StatelessNodesThatNothingNeedsAreLeftOut) {
  const auto plan = Build(FunctionWriter("f")
                              .Arg("x")
                              .Arg("v", DType::kResource)
                              .Node("dead", "Neg", {"x"})
                              .Node("dead_too", "Neg", {"dead:y:0"})
                              .Node("write", "AssignVariableOp", {"v", "x"})
                              .Node("kept", "Neg", {"x"})
                              .ControlReturns("kept"));
  EXPECT_THAT(NodeNames(*plan), ElementsAre("write", "kept"));
}

TEST_F(PlanTest, ControlEdgesAndNothingNodesOrder) {
  const auto plan = Build(FunctionWriter("f")
                              .Arg("x")
                              .Node("first", "Neg", {"x", "^group"})
                              .Node("group", "NoOp", {"^second", "^x"})
                              .Node("second", "Neg", {"x"})
                              .Returns("r", "first:y:0"));
  EXPECT_THAT(NodeNames(*plan), ElementsAre("second", "first"));
}

TEST_F(PlanTest, ArgumentAndReturnNodesStandForSlots) {
  const auto plan = Build(FunctionWriter("f")
                              .Arg("x")
                              .Arg("y")
                              .Node("arg", "_Arg", {}, {{"index", fake::IntAttr(1)}})
                              .Node("n", "Neg", {"arg:output:0"})
                              .Node("ret", "_Retval", {"n:y:0"}, {{"index", fake::IntAttr(0)}})
                              .Returns("r", "n:y:0"));
  EXPECT_THAT(NodeNames(*plan), ElementsAre("n"));
  EXPECT_THAT(InputSlots(*plan, plan->nodes[0]), ElementsAre(1));
}

TEST_F(PlanTest, PlaceholdersGetTheCallersValues) {
  const FunctionWriter function =
      FunctionWriter("f")
          .ListArg("xs", "N")
          .Node("pack", "Pack", {"xs"}, {{"N", fake::PlaceholderAttr("N")}})
          .Returns("r", "pack:output:0");
  const auto plan = Build(function, {{"N", fake::IntAttr(2)}});
  EXPECT_EQ(plan->num_args, 2u);
  EXPECT_THAT(InputSlots(*plan, plan->nodes[0]), ElementsAre(0, 1));
  const auto shown = SplitAttrs(plan->nodes[0].attrs->name_attr_list);
  ASSERT_TRUE(shown.ok());
  EXPECT_EQ(shown->at("N"), fake::IntAttr(2));
}

TEST_F(PlanTest, AConstantHasItsTensorAndShowsNoValue) {
  const auto plan = Build(FunctionWriter("f").Const("c", 2.5).Returns("r", "c:output:0"));
  const PlanNode& node = plan->nodes[0];
  EXPECT_EQ(node.kind, NodeKind::kConstant);
  EXPECT_EQ(plan->num_constants, 1u);
  const std::string attr = fake::TensorAttr({}, {2.5});
  const Result<AttrValue> value = ParseAttrValue(attr);
  EXPECT_EQ(node.tensor, value->bytes);
  const auto shown = SplitAttrs(node.attrs->name_attr_list);
  EXPECT_EQ(shown->size(), 1u);
}

TEST_F(PlanTest, NamesTheFunctionsThatNodesOpen) {
  const std::string types = fake::TypesAttr({DType::kFloat32});
  const auto plan = Build(
      FunctionWriter("f")
          .Arg("p", DType::kBool)
          .Arg("i", DType::kInt32)
          .Arg("x")
          .Node("call", "PartitionedCall", {"x"},
                {{"Tin", types}, {"Tout", types}, {"f", fake::FuncAttr("g")}})
          .Node("if", "StatelessIf", {"p", "call:output:0"},
                {{"Tin", types},
                 {"Tout", types},
                 {"then_branch", fake::FuncAttr("yes")},
                 {"else_branch", fake::BoundFuncAttr("no", {{"T", fake::IntAttr(1)}})}})
          .Node("case", "StatelessCase", {"i", "if:output:0"},
                {{"Tin", types}, {"Tout", types}, {"branches", fake::FunctionsAttr({"a", "b"})}})
          .Node("while", "StatelessWhile", {"case:output:0"},
                {{"T", types},
                 {"cond", fake::FuncAttr("c")},
                 {"body", fake::FuncAttr("d")},
                 {"_XlaMustCompile", fake::BoolAttr(true)}})
          .Node("map", "MapDefun", {"while:output:0"},
                {{"Targuments", types}, {"output_types", types}, {"f", fake::FuncAttr("m")}})
          .Returns("r", "map:output:0"));
  std::vector<std::string> names;
  std::vector<std::string> labels;
  for (const Callee& callee : plan->callees) {
    names.push_back(callee.name);
    labels.push_back(callee.label);
  }
  EXPECT_THAT(names, ElementsAre("g", "yes", "no", "a", "b", "c", "d"));
  EXPECT_THAT(labels, ElementsAre("g", "if:then_branch", "if:else_branch", "case:branch_0",
                                  "case:branch_1", "while:cond", "while"));
  EXPECT_EQ(plan->callees[2].bindings.at("T"), fake::IntAttr(1));
  EXPECT_TRUE(plan->callees[5].must_compile);
  EXPECT_FALSE(plan->callees[0].must_compile);
  ASSERT_EQ(plan->run_by_kernel.size(), 1u);
  EXPECT_EQ(plan->run_by_kernel[0].name, "m");
  EXPECT_EQ(ShapeOfCallee(plan->nodes[3], 0).num_returns, 1u);
}

TEST_F(PlanTest, ANodeMayCallAFunctionByItsName) {
  const FunctionWriter callee =
      FunctionWriter("g").Arg("x").Returns("a", "x").Returns("b", "x").Stateful();
  const SignatureFinder finder = [&](std::string_view name) -> std::optional<tf::OpDef> {
    if (name != "g") return {};
    return ParseFunctionDef(callee.Bytes())->signature;
  };
  const auto plan = Build(
      FunctionWriter("f").Arg("x").Node("call", "g", {"x"}).Returns("r", "call:b:0"), {}, finder);
  ASSERT_EQ(plan->nodes.size(), 1u);
  EXPECT_EQ(plan->nodes[0].kind, NodeKind::kCall);
  EXPECT_EQ(plan->nodes[0].num_outputs, 2u);
  EXPECT_EQ(plan->returns[0].slot, 2u);
  EXPECT_EQ(plan->callees[0].name, "g");
}

TEST_F(PlanTest, SaysThatXlaCompilesIt) {
  const std::string yes = fake::BoolAttr(true);
  const std::string no = fake::BoolAttr(false);
  EXPECT_TRUE(Build(FunctionWriter("f").Attr("_XlaMustCompile", yes))->must_compile);
  EXPECT_FALSE(Build(FunctionWriter("f").Attr("_XlaMustCompile", no))->must_compile);
}

TEST_F(PlanTest, SaysWhatHasNoName) {
  EXPECT_THAT(WhyNot(FunctionWriter("f").Arg("x").Node("n", "Neg", {"y"}).Returns("r", "n:y:0")),
              HasSubstr("'y'"));
  EXPECT_THAT(WhyNot(FunctionWriter("f").Arg("x").Node("n", "Neg", {"x"}).Returns("r", "n:z:0")),
              HasSubstr("'n:z'"));
  EXPECT_THAT(WhyNot(FunctionWriter("f").Arg("x").Node("n", "Neg", {"x"}).Returns("r", "n:y:1")),
              HasSubstr("'n:y:1'"));
  EXPECT_THAT(WhyNot(FunctionWriter("f").Arg("x").Returns("r", "")), HasSubstr("nothing"));
  EXPECT_THAT(WhyNot(FunctionWriter("f").ControlReturns("gone")), HasSubstr("'gone'"));
  EXPECT_THAT(
      WhyNot(FunctionWriter("f").Arg("x").Node("n", "Neg", {"x", "^gone"}).Returns("r", "n:y:0")),
      HasSubstr("'gone'"));
}

TEST_F(PlanTest, SaysThatInputsDoNotFit) {
  EXPECT_THAT(WhyNot(FunctionWriter("f").Arg("x").Node("n", "AddV2", {"x"}).Returns("r", "n:z:0")),
              HasSubstr("inputs of 'n'"));
  EXPECT_THAT(WhyNot(FunctionWriter("f")
                         .Arg("x")
                         .Node("n", "Pack", {"x"}, {{"N", fake::StringAttr("two")}})
                         .Returns("r", "n:output:0")),
              HasSubstr("inputs of 'n'"));
}

TEST_F(PlanTest, SaysThatNodesNeedEachOther) {
  EXPECT_THAT(WhyNot(FunctionWriter("f")
                         .Node("a", "Neg", {"b:y:0"})
                         .Node("b", "Neg", {"a:y:0"})
                         .Returns("r", "a:y:0")),
              HasSubstr("circle"));
}

TEST_F(PlanTest, SaysThatALengthMakesNoSense) {
  const auto with = [](int64_t num) {
    return FunctionWriter("f")
        .Arg("x")
        .Node("n", "Unpack", {"x"}, {{"num", fake::IntAttr(num)}})
        .Returns("r", "n:output:0");
  };
  EXPECT_THAT(WhyNot(with(int64_t{1} << 40)), HasSubstr("longer"));
  EXPECT_THAT(WhyNot(with(-1)), HasSubstr("not given"));
  EXPECT_THAT(WhyNot(with(4000000).Node("m", "Unpack", {"x"}, {{"num", fake::IntAttr(4000000)}})),
              HasSubstr("more tensors"));
  EXPECT_THAT(WhyNot(FunctionWriter("f").Node("a", "_Arg", {}, {{"index", fake::IntAttr(0)}})),
              HasSubstr("no argument"));
}

TEST_F(PlanTest, AnEmptyFunctionHasAPlan) {
  const auto plan = Build(FunctionWriter("f"));
  EXPECT_THAT(plan->nodes, IsEmpty());
  EXPECT_THAT(plan->returns, IsEmpty());
}

}  // namespace
}  // namespace flowscope::interp
