// The fixture of the interpreter's tests: functions in the fake context, and a host that writes
// down what it is asked.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_runtime/fake_objects.h"
#include "fake_runtime/function_writer.h"
#include "interp/interpreter.h"

namespace flowscope::interp {

// Checks that regions are closed in their order, and counts the references that it hands out.
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

  void OnValues(std::string_view node, std::span<TFE_TensorHandle* const> values) override {
    std::string line(node.empty() ? "arguments" : node);
    for (TFE_TensorHandle* value : values) line += value == nullptr ? " -" : " +";
    told.push_back(std::move(line));
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
  std::vector<std::string> told;  // values: + is there, - nobody needs it
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
    EXPECT_TRUE(host_.open.empty());
    EXPECT_EQ(host_.made, static_cast<int64_t>(outcome.values.size()));
    return std::move(outcome.values);
  }

  Outcome RunToFailure(const std::string& function, const std::vector<TFE_TensorHandle*>& args) {
    Outcome outcome = RunWith(host_, function, args);
    EXPECT_NE(outcome.code, 0);
    EXPECT_TRUE(outcome.values.empty());
    EXPECT_TRUE(host_.open.empty());
    EXPECT_EQ(host_.made, 0);
    return outcome;
  }

  void TearDown() override { EXPECT_EQ(fake::LeakReport(), ""); }

  static std::string Types(std::initializer_list<DType> types) { return fake::TypesAttr(types); }

  // count(n, x): while (i < n) x = x + 1, by a node "loop".
  static void AddCountingLoop() {
    const std::string types = Types({DType::kInt32, DType::kInt32, DType::kFloat32});
    fake::FunctionWriter("goes_on")
        .Arg("i", DType::kInt32)
        .Arg("n", DType::kInt32)
        .Arg("x")
        .Node("less", "Less", {"i", "n"}, {{"T", fake::TypeAttr(DType::kInt32)}})
        .Returns("r", "less:z:0", DType::kBool)
        .Add();
    fake::FunctionWriter("step")
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
    fake::FunctionWriter("count")
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
    fake::FunctionWriter("negate").Arg("x").Node("neg", "Neg", {"x"}).Returns("r", "neg:y:0").Add();
    fake::FunctionWriter("keep").Arg("x").Returns("r", "x").Add();
    fake::FunctionWriter("choose")
        .Arg("p", DType::kBool)
        .Arg("x")
        .Node("cond", "If", {"p", "x"},
              {{"Tcond", fake::TypeAttr(DType::kBool)},
               {"Tin", types},
               {"Tout", types},
               {"then_branch", fake::FuncAttr("negate")},
               {"else_branch", fake::FuncAttr("keep")}})
        .Returns("r", "cond:output:0")
        .Add();
    fake::FunctionWriter("pick")
        .Arg("i", DType::kInt32)
        .Arg("x")
        .Node("case", "StatelessCase", {"i", "x"},
              {{"Tin", types},
               {"Tout", types},
               {"branches", fake::FunctionsAttr({"negate", "keep", "negate"})}})
        .Returns("r", "case:output:0")
        .Add();
  }

  fake::Runtime runtime_;
  Interpreter interpreter_{NewPlanCache(), {}};
  LogHost host_;
};

}  // namespace flowscope::interp
