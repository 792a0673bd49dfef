#include "interp/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "fake_runtime/fake_objects.h"
#include "fake_runtime/function_writer.h"

namespace flowscope::interp {
namespace {

using fake::FunctionWriter;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Writes down what it is asked, and checks that regions are closed in their order.
class LogHost : public Host {
 public:
  void Execute(const NodeInfo& node, TFE_Op* op, TFE_TensorHandle** outputs, int* num_outputs,
               TF_Status* status) override {
    Log(std::string(node.op) + " " + std::string(node.name));
    most_handles = std::max(most_handles, fake::LiveHandles());
    device = fake::FakeApi().TFE_OpGetDevice(op, status);
    if (node.name == fail_at) {
      fake::FakeApi().TF_SetStatus(status, 1, "stopped here");
      return;
    }
    fake::FakeApi().TFE_Execute(op, outputs, num_outputs, status);
    if (node.name == lose_output_at) lost = outputs[--*num_outputs];
    if (fake::FakeApi().TF_GetCode(status) == 0) made += *num_outputs;
  }

  void OnConstant(const NodeInfo& node, TFE_TensorHandle* value) override {
    Log("constant " + std::string(node.name) + " = " + std::to_string(value->value.dims.size()));
    ++made;
  }

  uint32_t EnterRegion(const RegionInfo& region) override {
    std::string line = "> " + std::string(region.name) + " #" + std::to_string(region.index);
    if (region.kind == RegionKind::kIteration) line += " iteration";
    if (region.kind == RegionKind::kBranch) line += " branch";
    if (region.predicate != nullptr) line += " if " + Show(region.predicate);
    Log(line);
    open.push_back(next_token);
    deepest = std::max(deepest, open.size());
    return next_token++;
  }

  void ExitRegion(uint32_t token, bool failed) override {
    ASSERT_FALSE(open.empty());
    EXPECT_EQ(open.back(), token);
    open.pop_back();
    Log(failed ? "< failed" : "<");
  }

  TFE_TensorHandle* Share(TFE_TensorHandle* handle, TF_Status* status) override {
    ++made;
    return Host::Share(handle, status);
  }
  void Delete(TFE_TensorHandle* handle) override {
    --made;
    Host::Delete(handle);
  }

  std::vector<std::string> log;
  std::vector<uint32_t> open;
  std::string fail_at;
  std::string lose_output_at;
  TFE_TensorHandle* lost = nullptr;
  std::string device;
  int64_t most_handles = 0;
  int64_t made = 0;  // references that the interpreter has now
  size_t deepest = 0;
  uint32_t next_token = 7;
  bool quiet = false;

 private:
  static std::string Show(TFE_TensorHandle* handle) {
    if (handle->value.dtype == DType::kBool) return fake::Bools(handle)[0] ? "true" : "false";
    return std::to_string(fake::Ints(handle)[0]);
  }
  void Log(std::string line) {
    if (!quiet) log.push_back(std::move(line));
  }
};

class InterpreterTest : public ::testing::Test {
 protected:
  struct Outcome {
    std::vector<fake::Handle> values;
    int code = 0;
    std::string message;
  };

  Outcome RunWith(Host& host, const std::string& function,
                  const std::vector<TFE_TensorHandle*>& args) {
    const tf::StatusPtr status = tf::NewStatus();
    Outcome outcome;
    for (tf::HandlePtr& value :
         interpreter_.Run(fake::Context(), function, args, host, status.get())) {
      outcome.values.emplace_back(value.release());
    }
    outcome.code = fake::FakeApi().TF_GetCode(status.get());
    outcome.message = fake::FakeApi().TF_Message(status.get());
    return outcome;
  }

  // Runs a function that must succeed and hold nothing back.
  std::vector<fake::Handle> Run(const std::string& function,
                                const std::vector<TFE_TensorHandle*>& args) {
    host_ = LogHost();
    const std::optional<std::string> refused = interpreter_.WhyRefused(fake::Context(), function);
    EXPECT_EQ(refused, std::nullopt);
    Outcome outcome = RunWith(host_, function, args);
    EXPECT_EQ(outcome.code, 0) << outcome.message;
    EXPECT_THAT(host_.open, IsEmpty());
    EXPECT_EQ(host_.made, static_cast<int64_t>(outcome.values.size()));
    return std::move(outcome.values);
  }

  Outcome RunToFailure(const std::string& function, const std::vector<TFE_TensorHandle*>& args) {
    Outcome outcome = RunWith(host_, function, args);
    EXPECT_NE(outcome.code, 0);
    EXPECT_THAT(outcome.values, IsEmpty());
    EXPECT_THAT(host_.open, IsEmpty());
    EXPECT_EQ(host_.made, 0);
    return outcome;
  }

  void TearDown() override { EXPECT_EQ(fake::LeakReport(), ""); }

  static std::string Types(std::initializer_list<DType> types) { return fake::TypesAttr(types); }

  // count(n, x): while (i < n) x = x + 1, by a node "loop".
  static void AddCountingLoop() {
    const std::string types = Types({DType::kInt32, DType::kInt32, DType::kFloat32});
    FunctionWriter("goes_on")
        .Arg("i", DType::kInt32)
        .Arg("n", DType::kInt32)
        .Arg("x")
        .Node("less", "Less", {"i", "n"}, {{"T", fake::TypeAttr(DType::kInt32)}})
        .Returns("r", "less:z:0", DType::kBool)
        .Add();
    FunctionWriter("step")
        .Arg("i", DType::kInt32)
        .Arg("n", DType::kInt32)
        .Arg("x")
        .IntConst("one", 1)
        .Const("onef", 1)
        .Node("next", "AddV2", {"i", "one:output:0"}, {{"T", fake::TypeAttr(DType::kInt32)}})
        .Node("more", "AddV2", {"x", "onef:output:0"})
        .Returns("i_out", "next:z:0", DType::kInt32)
        .Returns("n_out", "n", DType::kInt32)
        .Returns("x_out", "more:z:0")
        .Add();
    FunctionWriter("count")
        .Arg("n", DType::kInt32)
        .Arg("x")
        .IntConst("zero", 0)
        .Node("loop", "While", {"zero:output:0", "n", "x"},
              {{"T", types}, {"cond", fake::FuncAttr("goes_on")}, {"body", fake::FuncAttr("step")}})
        .Returns("times", "loop:output:0", DType::kInt32)
        .Returns("r", "loop:output:2")
        .Add();
  }

  static void AddBranches() {
    const std::string types = Types({DType::kFloat32});
    FunctionWriter("negate").Arg("x").Node("neg", "Neg", {"x"}).Returns("r", "neg:y:0").Add();
    FunctionWriter("keep").Arg("x").Returns("r", "x").Add();
    FunctionWriter("choose")
        .Arg("p", DType::kBool)
        .Arg("x")
        .Node("cond", "If", {"p", "x"},
              {{"Tcond", fake::TypeAttr(DType::kBool)}, {"Tin", types}, {"Tout", types},
               {"then_branch", fake::FuncAttr("negate")}, {"else_branch", fake::FuncAttr("keep")}})
        .Returns("r", "cond:output:0")
        .Add();
    FunctionWriter("pick")
        .Arg("i", DType::kInt32)
        .Arg("x")
        .Node("case", "StatelessCase", {"i", "x"},
              {{"Tin", types}, {"Tout", types},
               {"branches", fake::FunctionsAttr({"negate", "keep", "negate"})}})
        .Returns("r", "case:output:0")
        .Add();
  }

  fake::Runtime runtime_;
  Interpreter interpreter_{NewPlanCache(), {}};
  LogHost host_;
};

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

TEST_F(InterpreterTest, CallsRunInRegionsOfTheirOwn) {
  const std::string types = Types({DType::kFloat32});
  AddBranches();
  FunctionWriter("f")
      .Arg("x")
      .Node("by_attr", "StatefulPartitionedCall", {"x"},
            {{"Tin", types}, {"Tout", types}, {"f", fake::FuncAttr("negate")},
             {"_XlaMustCompile", fake::BoolAttr(true)}})
      .Node("by_name", "negate", {"by_attr:output:0"})
      .Returns("r", "by_name:r:0")
      .Add();
  const fake::Handle x = fake::Scalar(2.f);
  EXPECT_THAT(fake::Floats(Run("f", {x})[0]), ElementsAre(2));
  EXPECT_THAT(host_.log, ElementsAre("> f #0", "> negate #0", "Neg neg", "<", "> negate #0",
                                     "Neg neg", "<", "<"));
}

TEST_F(InterpreterTest, OnlyTheBranchThatIsTakenRuns) {
  AddBranches();
  const fake::Handle x = fake::Scalar(2.f);
  const fake::Handle yes = fake::Scalar(true);
  EXPECT_THAT(fake::Floats(Run("choose", {yes, x})[0]), ElementsAre(-2));
  EXPECT_THAT(host_.log, ElementsAre("> choose #0", "> cond:then_branch #0 branch if true",
                                     "Neg neg", "<", "<"));
  const fake::Handle no = fake::Scalar(false);
  EXPECT_THAT(fake::Floats(Run("choose", {no, x})[0]), ElementsAre(2));
  EXPECT_THAT(host_.log,
              ElementsAre("> choose #0", "> cond:else_branch #1 branch if false", "<", "<"));
}

TEST_F(InterpreterTest, ACaseOutOfRangeTakesTheLastBranch) {
  AddBranches();
  const fake::Handle x = fake::Scalar(2.f);
  const fake::Handle one = fake::Scalar(int32_t{1});
  EXPECT_THAT(fake::Floats(Run("pick", {one, x})[0]), ElementsAre(2));
  EXPECT_EQ(host_.log[1], "> case:branch_1 #1 branch if 1");
  const fake::Handle far = fake::Scalar(int32_t{-4});
  EXPECT_THAT(fake::Floats(Run("pick", {far, x})[0]), ElementsAre(-2));
  EXPECT_EQ(host_.log[1], "> case:branch_2 #2 branch if -4");
}

TEST_F(InterpreterTest, ALoopHasARegionForEveryIteration) {
  AddCountingLoop();
  const fake::Handle n = fake::Scalar(int32_t{2});
  const fake::Handle x = fake::Scalar(0.5f);
  const auto values = Run("count", {n, x});
  EXPECT_THAT(fake::Ints(values[0]), ElementsAre(2));
  EXPECT_THAT(fake::Floats(values[1]), ElementsAre(2.5));
  EXPECT_THAT(
      host_.log,
      ElementsAre("> count #0", "constant zero = 0",                                       //
                  "> loop:cond #0", "Less less", "<",                                      //
                  "> loop #0 iteration if true", "constant one = 0", "constant onef = 0",  //
                  "AddV2 next", "AddV2 more", "<",                                         //
                  "> loop:cond #1", "Less less", "<",                                      //
                  "> loop #1 iteration if true", "AddV2 next", "AddV2 more", "<",          //
                  "> loop:cond #2", "Less less", "<", "<"));
}

TEST_F(InterpreterTest, ALoopMayNotRunAtAll) {
  AddCountingLoop();
  const fake::Handle n = fake::Scalar(int32_t{0});
  const fake::Handle x = fake::Scalar(0.5f);
  const auto values = Run("count", {n, x});
  EXPECT_EQ(values[1].get(), x.get());
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

TEST_F(InterpreterTest, FunctionsCallThemselvesAsDeepAsMemoryGoes) {
  const std::string types = Types({DType::kInt32});
  const fake::Attrs integer = {{"T", fake::TypeAttr(DType::kInt32)}};
  FunctionWriter("done").Arg("n", DType::kInt32).Returns("r", "n", DType::kInt32).Add();
  FunctionWriter("deeper")
      .Arg("n", DType::kInt32)
      .IntConst("one", 1)
      .Node("less", "Sub", {"n", "one:output:0"}, integer)
      .Node("call", "PartitionedCall", {"less:z:0"},
            {{"Tin", types}, {"Tout", types}, {"f", fake::FuncAttr("down")}})
      .Node("more", "AddV2", {"call:output:0", "one:output:0"}, integer)
      .Returns("r", "more:z:0", DType::kInt32)
      .Add();
  FunctionWriter("down")
      .Arg("n", DType::kInt32)
      .IntConst("zero", 0)
      .Node("positive", "Less", {"zero:output:0", "n"}, integer)
      .Node("if", "StatelessIf", {"positive:z:0", "n"},
            {{"Tin", types}, {"Tout", types}, {"then_branch", fake::FuncAttr("deeper")},
             {"else_branch", fake::FuncAttr("done")}})
      .Returns("r", "if:output:0", DType::kInt32)
      .Add();
  const fake::Handle n = fake::Scalar(int32_t{5000});
  EXPECT_THAT(fake::Ints(Run("down", {n})[0]), ElementsAre(5000));
  EXPECT_EQ(host_.deepest, 2u * 5000 + 2);
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

TEST_F(InterpreterTest, AConditionWithoutTruthIsAnError) {
  AddBranches();
  const fake::Handle p = fake::RawTensor(DType::kFloat16, {}, std::string_view("\0\0", 2));
  const fake::Handle x = fake::Scalar(2.f);
  const Outcome outcome = RunToFailure("choose", {p, x});
  EXPECT_THAT(outcome.message, HasSubstr("float16 cannot be converted to a boolean"));
  EXPECT_THAT(outcome.message, HasSubstr("node 'cond' (If)"));
}

TEST_F(InterpreterTest, ALoopsConditionWithoutTruthIsAnError) {
  AddCountingLoop();
  FunctionWriter("goes_on")
      .Arg("i", DType::kInt32)
      .Arg("n", DType::kInt32)
      .Arg("x", DType::kFloat16)
      .Returns("r", "x", DType::kFloat16)
      .Add();
  const fake::Handle n = fake::Scalar(int32_t{2});
  const fake::Handle x = fake::RawTensor(DType::kFloat16, {}, std::string_view("\0\0", 2));
  EXPECT_THAT(RunToFailure("count", {n, x}).message, HasSubstr("node 'loop' (While)"));
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

TEST_F(InterpreterTest, ThreadsRunOneFunctionAtTheSameTime) {
  AddCountingLoop();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      const fake::Handle n = fake::Scalar(int32_t{5 + i});
      const fake::Handle x = fake::Scalar(0.f);
      for (int round = 0; round < 20; ++round) {
        LogHost host;
        host.quiet = true;
        EXPECT_EQ(interpreter_.WhyRefused(fake::Context(), "count"), std::nullopt);
        const Outcome outcome = RunWith(host, "count", {n, x});
        ASSERT_EQ(outcome.values.size(), 2u) << outcome.message;
        EXPECT_THAT(fake::Floats(outcome.values[1]), ElementsAre(5.f + static_cast<float>(i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace flowscope::interp
