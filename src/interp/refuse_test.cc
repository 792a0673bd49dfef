#include "interp/refuse.h"

#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_runtime/function_writer.h"
#include "interp/interpreter.h"

namespace flowscope::interp {
namespace {

using fake::FunctionWriter;
using ::testing::HasSubstr;

const std::string& Types() {
  static const std::string types = fake::TypesAttr({DType::kFloat32});
  return types;
}

FunctionWriter Random(const std::string& name) {
  return FunctionWriter(name)
      .Arg("shape", DType::kInt32)
      .Node("draw", "RandomUniform", {"shape"}, {{"dtype", fake::TypeAttr(DType::kFloat32)}})
      .Returns("r", "draw:output:0");
}

FunctionWriter StatelessRandom(const std::string& name) {
  return FunctionWriter(name)
      .Arg("shape", DType::kInt32)
      .Arg("seed", DType::kInt32)
      .Node("draw", "StatelessRandomUniform", {"shape", "seed"})
      .Returns("r", "draw:output:0");
}

// A function "f" that falls under the row, with what it needs.
struct RowCase {
  std::string id;
  std::function<void()> add;
  std::string where;  // what the reason must name
};

std::vector<RowCase> RowCases() {
  const auto unary = [](const std::string& op, const fake::Attrs& attrs, const std::string& out) {
    FunctionWriter("f").Arg("x").Node("n", op, {"x"}, attrs).Returns("r", "n:" + out + ":0").Add();
  };
  return {
      {"malformed", [] { fake::AddFunction("f", {}, "\x0a\x7fsignature"); }, "protocol buffer"},
      {"missing_function",
       [=] {
         unary("PartitionedCall",
               {{"Tin", Types()}, {"Tout", Types()}, {"f", fake::FuncAttr("gone")}}, "output");
       },
       "'gone'"},
      {"unknown_op", [=] { unary("NeverHeardOf", {}, "y"); }, "NeverHeardOf"},
      {"stateful_random", [] { Random("f").Add(); }, "'draw' (RandomUniform) of function 'f'"},
      {"xla_random",
       [] { StatelessRandom("f").Attr("_XlaMustCompile", fake::BoolAttr(true)).Add(); },
       "StatelessRandomUniform"},
      {"collective", [=] { unary("CollectiveReduce", {{"group_size", fake::IntAttr(2)}}, "data"); },
       "CollectiveReduce"},
      {"frame",
       [] {
         FunctionWriter("f")
             .Arg("x")
             .Arg("p", DType::kBool)
             .Node("s", "Switch", {"x", "p"})
             .Returns("r", "s:output_true:0")
             .Add();
       },
       "'s' (Switch)"},
      {"ref_type",
       [] {
         FunctionWriter("f")
             .Arg("x")
             .Node("a", "Assign", {"x", "x"})
             .Returns("r", "a:output_ref:0")
             .Add();
       },
       "'a' (Assign)"},
      {"node_named_state",
       [] { FunctionWriter("f").Node("q", "FIFOQueueV2").Returns("r", "q:handle:0").Add(); },
       "'q' (FIFOQueueV2)"},
      {"tensor_attr",
       [=] { unary("ImageSummary", {{"bad_color", fake::IntTensorAttr({}, {1})}}, "summary"); },
       "ImageSummary"},
      {"needs_graph", [=] { unary("AccumulateNV2", {{"N", fake::IntAttr(1)}}, "sum"); },
       "AccumulateNV2"},
      {"no_kernel",
       [] {
         FunctionWriter("f")
             .Arg("x")
             .Node("n", "XlaDot", {"x", "x"})
             .Returns("r", "n:output:0")
             .Add();
       },
       "'n' (XlaDot)"},
      {"rewritten", [=] { unary("Neg", {{"_tpu_replicate", fake::StringAttr("cluster")}}, "y"); },
       "'n' (Neg)"},
      {"bad_attr", [=] { unary("Neg", {{"what", "\xea\x04\x01x"}}, "y"); }, "attribute 'what'"},
      {"unbound_attr", [=] { unary("Neg", {{"T", fake::PlaceholderAttr("U")}}, "y"); },
       "placeholder 'U'"},
      {"no_plan",
       [] { FunctionWriter("f").Node("a", "Neg", {"a:y:0"}).Returns("r", "a:y:0").Add(); },
       "circle"},
  };
}

class RefuseTest : public ::testing::Test {
 protected:
  static std::optional<std::string> WhyRefused(const std::string& function,
                                               bool interpret_random = false) {
    return Interpreter(NewPlanCache(), {interpret_random}).WhyRefused(fake::Context(), function);
  }

  // A function "outer" that calls `callee` by an op of the type.
  static void AddCaller(const std::string& op, const fake::Attrs& attrs) {
    fake::Attrs all = {{"Tin", Types()}, {"Tout", Types()}};
    all.insert(all.end(), attrs.begin(), attrs.end());
    FunctionWriter("outer").Arg("x").Node("n", op, {"x"}, all).Returns("r", "n:output:0").Add();
  }

  static std::string SentenceOf(const std::string& id) {
    for (const RefuseRow& row : RefuseRows()) {
      if (row.id == id) return std::string(row.sentence);
    }
    return "there is no row " + id;
  }

  fake::Runtime runtime_;
};

TEST_F(RefuseTest, EveryRowRefusesItsCase) {
  std::set<std::string> tested;
  for (const RowCase& row : RowCases()) {
    SCOPED_TRACE(row.id);
    row.add();
    const std::optional<std::string> reason = WhyRefused("f");
    ASSERT_TRUE(reason.has_value());
    EXPECT_THAT(*reason, HasSubstr(SentenceOf(row.id)));
    EXPECT_THAT(*reason, HasSubstr(row.where));
    tested.insert(row.id);
  }
  for (const RefuseRow& row : RefuseRows()) EXPECT_TRUE(tested.contains(std::string(row.id)));
  EXPECT_EQ(fake::LeakReport(), "");
}

TEST_F(RefuseTest, TheDocumentHasEveryRow) {
  const std::ifstream file(std::string(FLOWSCOPE_TEST_DATA_DIR) + "/../docs/refuse_list.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const RefuseRow& row : RefuseRows()) {
    EXPECT_THAT(text.str(), HasSubstr("| `" + std::string(row.id) + "` |"));
  }
}

TEST_F(RefuseTest, AnOrdinaryFunctionIsNotRefused) {
  FunctionWriter("f").Arg("x").Node("n", "Neg", {"x"}).Returns("r", "n:y:0").Add();
  EXPECT_EQ(WhyRefused("f"), std::nullopt);
}

TEST_F(RefuseTest, AFunctionBelowRefusesTheWhole) {
  Random("f").Add();
  for (const auto& [op, attrs] : std::vector<std::pair<std::string, fake::Attrs>>{
           {"PartitionedCall", {{"f", fake::FuncAttr("f")}}},
           {"StatefulPartitionedCall", {{"f", fake::FuncAttr("f")}}},
       }) {
    AddCaller(op, attrs);
    ASSERT_TRUE(WhyRefused("outer").has_value());
    EXPECT_THAT(*WhyRefused("outer"), HasSubstr("of function 'f'"));
  }
}

TEST_F(RefuseTest, BranchesLoopsAndNodesNamedAfterFunctionsAreLookedAt) {
  Random("f").Add();
  FunctionWriter("safe").Arg("x").Returns("r", "x").Add();
  FunctionWriter("outer").Arg("x").Node("n", "f", {"x"}).Returns("r", "n:r:0").Add();
  EXPECT_TRUE(WhyRefused("outer").has_value());
  FunctionWriter("outer")
      .Arg("p", DType::kBool)
      .Arg("x")
      .Node("n", "If", {"p", "x"},
            {{"Tin", Types()},
             {"Tout", Types()},
             {"then_branch", fake::FuncAttr("safe")},
             {"else_branch", fake::FuncAttr("f")}})
      .Returns("r", "n:output:0")
      .Add();
  EXPECT_TRUE(WhyRefused("outer").has_value());
  FunctionWriter("outer")
      .Arg("x")
      .Node("n", "While", {"x"},
            {{"T", Types()}, {"cond", fake::FuncAttr("safe")}, {"body", fake::FuncAttr("f")}})
      .Returns("r", "n:output:0")
      .Add();
  EXPECT_TRUE(WhyRefused("outer").has_value());
}

TEST_F(RefuseTest, RandomOpsAreRunWhereTheCallerAsksForIt) {
  Random("f").Add();
  EXPECT_EQ(WhyRefused("f", true), std::nullopt);
  StatelessRandom("f").Attr("_XlaMustCompile", fake::BoolAttr(true)).Add();
  EXPECT_TRUE(WhyRefused("f", true).has_value());
}

TEST_F(RefuseTest, StatelessRandomOpsAreRefusedOnlyUnderXla) {
  StatelessRandom("f").Add();
  EXPECT_EQ(WhyRefused("f"), std::nullopt);
  const auto caller = [](const std::string& flag, const std::string& attr) {
    FunctionWriter function("outer");
    function.Arg("shape", DType::kInt32).Arg("seed", DType::kInt32);
    function.Node("plain", "f", {"shape", "seed"});
    function.Node("n", "f", {"shape", "seed"}, {{attr, fake::BoolAttr(true)}});
    function.Attr(flag, fake::BoolAttr(true)).Returns("r", "n:r:0").Returns("s", "plain:r:0").Add();
    return WhyRefused("outer").has_value();
  };
  EXPECT_FALSE(caller("_unrelated", "_unrelated"));
  EXPECT_TRUE(caller("_XlaMustCompile", "_unrelated"));
  EXPECT_TRUE(caller("_unrelated", "_XlaMustCompile"));
}

TEST_F(RefuseTest, AnRnnWithoutDropoutDrawsNothing) {
  const auto with_dropout = [](const fake::Attrs& attrs) {
    FunctionWriter("f")
        .Arg("x")
        .Node("n", "CudnnRNN", {"x"}, attrs)
        .Returns("r", "n:output:0")
        .Add();
    return WhyRefused("f").has_value();
  };
  EXPECT_FALSE(with_dropout({}));
  EXPECT_TRUE(with_dropout({{"dropout", fake::FloatAttr(0.5)}}));
}

TEST_F(RefuseTest, SomeRandomOpsAreKnownByName) {
  FunctionWriter("f")
      .Arg("x")
      .Node("n", "FractionalMaxPool", {"x"})
      .Returns("r", "n:output:0")
      .Add();
  EXPECT_TRUE(WhyRefused("f").has_value());
}

TEST_F(RefuseTest, ACollectiveOfOneIsAnOpLikeAnyOther) {
  FunctionWriter("f")
      .Arg("x")
      .Node("n", "CollectiveReduce", {"x"}, {{"group_size", fake::IntAttr(1)}})
      .Returns("r", "n:data:0")
      .Add();
  EXPECT_EQ(WhyRefused("f"), std::nullopt);
  const auto of_group = [](int32_t size) {
    FunctionWriter("f")
        .Arg("x")
        .IntConst("size", size)
        .Node("n", "CollectiveReduceV2", {"x", "size:output:0"})
        .Returns("r", "n:data:0")
        .Add();
    return WhyRefused("f").has_value();
  };
  EXPECT_FALSE(of_group(1));
  EXPECT_TRUE(of_group(2));
  FunctionWriter("f")
      .Arg("x")
      .Arg("size", DType::kInt32)
      .Node("n", "CollectiveReduceV2", {"x", "size"})
      .Returns("r", "n:data:0")
      .Add();
  EXPECT_TRUE(WhyRefused("f").has_value());  // nobody knows before it runs
}

TEST_F(RefuseTest, AnOpThatOnlyXlaKnowsIsNotRun) {
  FunctionWriter("f").Arg("x").Node("n", "XlaDot", {"x", "x"}).Returns("r", "n:output:0").Add();
  EXPECT_TRUE(WhyRefused("f").has_value());
  // Where TensorFlow does not tell of kernels, an op of XLA is taken to have none, any other one.
  tf::CApi api = fake::FakeApi();
  api.TF_GetRegisteredKernelsForOp = nullptr;
  tf::SetCApiForTesting(api);
  EXPECT_TRUE(WhyRefused("f").has_value());
  FunctionWriter("g").Arg("x").Node("n", "Log", {"x"}).Returns("r", "n:y:0").Add();
  EXPECT_EQ(WhyRefused("g"), std::nullopt);
}

TEST_F(RefuseTest, AResourceWithANameIsRun) {
  FunctionWriter("f")
      .Node("q", "FIFOQueueV2", {}, {{"shared_name", fake::StringAttr("mine")}})
      .Returns("r", "q:handle:0")
      .Add();
  EXPECT_EQ(WhyRefused("f"), std::nullopt);
}

TEST_F(RefuseTest, OnlyStateIsLookedForInWhatKernelsRun) {
  const auto map = [](const std::string& op) {
    FunctionWriter("outer")
        .Arg("x")
        .Node("n", op, {"x"},
              {{"Targuments", Types()}, {"output_types", Types()}, {"f", fake::FuncAttr("f")}})
        .Returns("r", op == "MapDefun" ? "n:output:0" : "n:handle:0")
        .Add();
    return WhyRefused("outer");
  };
  FunctionWriter("f").Arg("x").Node("n", "AccumulateNV2", {"x"}, {{"N", fake::IntAttr(1)}}).Add();
  EXPECT_EQ(map("MapDefun"), std::nullopt);
  Random("f").Add();
  EXPECT_TRUE(map("MapDefun").has_value());
  EXPECT_EQ(map("MapDataset"), std::nullopt);  // which makes its kernels anew
  FunctionWriter("g").Arg("x").Node("n", "f", {"x"}).Returns("r", "n:r:0").Add();
  Random("h").Add();
  FunctionWriter("f").Arg("x").Node("n", "h", {"x"}).Returns("r", "n:r:0").Add();
  EXPECT_TRUE(map("MapDefun").has_value());
}

TEST_F(RefuseTest, ACalleeThatDoesNotFitItsCallIsNotRun) {
  FunctionWriter("f").Arg("x").Arg("y").Returns("r", "x").Add();
  AddCaller("PartitionedCall", {{"f", fake::FuncAttr("f")}});
  EXPECT_THAT(WhyRefused("outer").value_or(""), HasSubstr("does not fit"));
}

TEST_F(RefuseTest, FunctionsMayCallThemselves) {
  AddCaller("PartitionedCall", {{"f", fake::FuncAttr("outer")}});
  EXPECT_EQ(WhyRefused("outer"), std::nullopt);
  FunctionWriter("outer")
      .Arg("x")
      .Node("n", "PartitionedCall", {"x"},
            {{"Tin", Types()},
             {"Tout", Types()},
             {"f", fake::FuncAttr("outer")},
             {"_XlaMustCompile", fake::BoolAttr(true)}})
      .Returns("r", "n:output:0")
      .Add();
  EXPECT_EQ(WhyRefused("outer"), std::nullopt);
}

TEST_F(RefuseTest, AFunctionThatIsNotThereIsNamed) {
  EXPECT_THAT(WhyRefused("nowhere").value_or(""), HasSubstr("'nowhere'"));
}

TEST_F(RefuseTest, TellsWhatMustNotRunTwiceAndWhatXlaCompiles) {
  FunctionWriter("pure").Arg("x").Node("neg", "Neg", {"x"}).Returns("r", "neg:y:0").Add();
  AddCaller("PartitionedCall",
            {{"f", fake::FuncAttr("pure")}, {"_XlaMustCompile", fake::BoolAttr(true)}});
  Interpreter interpreter(NewPlanCache(), {});
  const Interpreter::Findings pure = interpreter.Examine(fake::Context(), "pure");
  EXPECT_EQ(pure.effect, "");
  EXPECT_EQ(pure.compiled_by_xla, "");
  EXPECT_EQ(interpreter.Examine(fake::Context(), "outer").compiled_by_xla, "pure");
}

}  // namespace
}  // namespace flowscope::interp
