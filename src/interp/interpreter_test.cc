#include "interp/interpreter_test.h"

namespace flowscope::interp {
namespace {

using fake::FunctionWriter;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST_F(InterpreterTest, GivesWhatTheSameOpsGive) {
  FunctionWriter("f")
      .Arg("a")
      .Arg("b")
      .Node("m", "MatMul", {"a", "b"}, {{"transpose_b", fake::BoolAttr(true)}})
      .Node("parts", "Unpack", {"m:product:0"}, {{"num", fake::IntAttr(2)}})
      .Node("d", "Sub", {"parts:output:0", "parts:output:1"})
      .Returns("r", "d:z:0")
      .Returns("m_out", "m:product:0")
      .Add();
  const fake::Handle a = fake::Tensor({2, 2}, {1, 2, 3, 4});
  const fake::Handle b = fake::Tensor({2, 2}, {5, 6, 7, 9});
  const fake::Handle product = fake::Run("MatMul", {a, b}, {{"transpose_b", fake::BoolAttr(true)}});
  const auto values = Run("f", {a, b});
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(fake::Floats(values[1]), fake::Floats(product));
  EXPECT_THAT(fake::Floats(values[0]), ElementsAre(17 - 39, 25 - 57));
  EXPECT_THAT(host_.log, ElementsAre("> f #0", "MatMul m", "Unpack parts", "Sub d", "<"));
}

TEST_F(InterpreterTest, ConstantsAreMadeAndNeverExecuted) {
  // TensorFlow's eager kernel cache would take these two for one.
  FunctionWriter("f")
      .Node("a", "Const", {}, {{"value", fake::IntTensorAttr({4}, {16, 10, 10, 4})}})
      .Node("b", "Const", {}, {{"value", fake::IntTensorAttr({4}, {16, 10, 10, 1})}})
      .Returns("ra", "a:output:0")
      .Returns("rb", "b:output:0")
      .Add();
  const auto values = Run("f", {});
  EXPECT_THAT(fake::Ints(values[0]), ElementsAre(16, 10, 10, 4));
  EXPECT_THAT(fake::Ints(values[1]), ElementsAre(16, 10, 10, 1));
  EXPECT_THAT(host_.log, ElementsAre("> f #0", "constant a = 1", "constant b = 1", "<"));
}

TEST_F(InterpreterTest, AnArgumentMayBeReturnedAndAValueTwice) {
  FunctionWriter("f")
      .Arg("x")
      .Node("n", "Neg", {"x"})
      .Returns("same", "x")
      .Returns("a", "n:y:0")
      .Returns("b", "n:y:0")
      .Add();
  const fake::Handle x = fake::Scalar(2.f);
  const auto values = Run("f", {x});
  EXPECT_EQ(values[0].get(), x.get());
  EXPECT_EQ(values[1].get(), values[2].get());
  EXPECT_THAT(fake::Floats(values[1]), ElementsAre(-2));
}

TEST_F(InterpreterTest, StatefulNodesRunInTheOrderOfTheDefinition) {
  const fake::Attrs dtype = {{"dtype", fake::TypeAttr(DType::kFloat32)}};
  FunctionWriter("f")
      .Arg("v", DType::kResource)
      .Arg("x")
      .Node("late", "Neg", {"read:value:0"})
      .Node("add", "AssignAddVariableOp", {"v", "x"}, dtype)
      .Node("read", "ReadVariableOp", {"v"}, dtype)
      .Node("reset", "AssignVariableOp", {"v", "x"}, dtype)
      .Returns("r", "late:y:0")
      .Add();
  const fake::Handle variable = fake::Run("VarHandleOp", {}, {{"dtype", dtype[0].second}});
  const fake::Handle x = fake::Scalar(2.f);
  fake::Run("AssignVariableOp", {variable, x});
  EXPECT_THAT(fake::Floats(Run("f", {variable, x})[0]), ElementsAre(-4));
  EXPECT_THAT(fake::Floats(fake::Run("ReadVariableOp", {variable})), ElementsAre(2));
}

TEST_F(InterpreterTest, ANodesDeviceIsSet) {
  FunctionWriter("f")
      .Arg("x")
      .Node("n", "Neg", {"x"}, {}, "/device:CPU:3")
      .Returns("r", "n:y:0")
      .Add();
  const fake::Handle x = fake::Scalar(2.f);
  Run("f", {x});
  EXPECT_EQ(host_.device, "/device:CPU:3");
}

TEST_F(InterpreterTest, ValuesAreLetGoAfterTheirLastUse) {
  FunctionWriter function("f");
  function.Arg("x").Node("n0", "Neg", {"x"});
  for (int i = 1; i < 100; ++i) {
    function.Node("n" + std::to_string(i), "Neg", {"n" + std::to_string(i - 1) + ":y:0"});
  }
  function.Node("parts", "Unpack", {"n99:y:0"}, {{"num", fake::IntAttr(3)}});
  function.Returns("r", "parts:output:1").Add();
  const fake::Handle x = fake::Tensor({3}, {1, 2, 3});
  const int64_t before = fake::LiveHandles();
  EXPECT_THAT(fake::Floats(Run("f", {x})[0]), ElementsAre(2));
  EXPECT_LE(host_.most_handles, before + 2);
}

TEST_F(InterpreterTest, AnErrorNamesThePlaceAndKeepsItsCode) {
  AddCountingLoop();
  FunctionWriter("step")
      .Arg("i", DType::kInt32)
      .Arg("n", DType::kInt32)
      .Arg("x")
      .Node("bad", "Fail", {"x"}, {{"message", fake::StringAttr("no luck")}})
      .Returns("i_out", "i", DType::kInt32)
      .Returns("n_out", "n", DType::kInt32)
      .Returns("x_out", "bad:y:0")
      .Add();
  const fake::Handle n = fake::Scalar(int32_t{2});
  const fake::Handle x = fake::Scalar(0.5f);
  const Outcome outcome = RunToFailure("count", {n, x});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.message, StartsWith("no luck"));
  EXPECT_THAT(outcome.message, HasSubstr("function 'step'"));
  EXPECT_THAT(outcome.message, HasSubstr("node 'bad' (Fail)"));
  EXPECT_THAT(outcome.message, HasSubstr("count > loop iteration 0"));
  EXPECT_THAT(host_.log, ::testing::Contains("< failed").Times(2));
}

TEST_F(InterpreterTest, AHostMayStopTheRun) {
  AddCountingLoop();
  host_.fail_at = "more";
  const fake::Handle n = fake::Scalar(int32_t{2});
  const fake::Handle x = fake::Scalar(0.5f);
  const Outcome outcome = RunToFailure("count", {n, x});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.message, StartsWith("stopped here"));
}

TEST_F(InterpreterTest, TheNumberOfArgumentsIsChecked) {
  AddBranches();
  EXPECT_THAT(RunToFailure("negate", {}).message, HasSubstr("takes 1 tensors, not 0"));
}

TEST_F(InterpreterTest, AnOpWithTooFewOutputsIsAnError) {
  FunctionWriter("f").Arg("x").Node("n", "Neg", {"x"}).Returns("r", "n:y:0").Add();
  host_.lose_output_at = "n";
  const fake::Handle x = fake::Scalar(2.f);
  const Outcome outcome = RunWith(host_, "f", {x});
  EXPECT_EQ(outcome.code, 13);
  EXPECT_THAT(outcome.message, HasSubstr("0 outputs instead of 1"));
  const fake::Handle lost(host_.lost);
}

TEST_F(InterpreterTest, ARefusedFunctionIsNotRun) {
  FunctionWriter("f").Arg("x").Node("n", "NeverHeardOf", {"x"}).Returns("r", "n:y:0").Add();
  const fake::Handle x = fake::Scalar(2.f);
  const Outcome outcome = RunToFailure("f", {x});
  EXPECT_EQ(outcome.code, 9);
  EXPECT_THAT(outcome.message, HasSubstr("NeverHeardOf"));
  EXPECT_THAT(host_.log, IsEmpty());
}

TEST_F(InterpreterTest, ADefinitionThatChangedIsNoticed) {
  AddBranches();
  const fake::Handle x = fake::Scalar(2.f);
  EXPECT_THAT(fake::Floats(Run("negate", {x})[0]), ElementsAre(-2));
  FunctionWriter("negate").Arg("x").Node("n", "Relu", {"x"}).Returns("r", "n:activations:0").Add();
  EXPECT_THAT(fake::Floats(Run("negate", {x})[0]), ElementsAre(2));
  FunctionWriter("negate").Arg("x").Returns("r", "x").Add();
  EXPECT_THAT(fake::Floats(RunWith(host_, "negate", {x}).values[0]), ElementsAre(2));
  EXPECT_THAT(fake::Floats(RunWith(host_, "negate", {x}).values[0]), ElementsAre(2));
}

}  // namespace
}  // namespace flowscope::interp
