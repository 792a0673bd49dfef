// What a recording keeps of values: selection, statistics, budget, variables.
#include "capture/recorder_test.h"

namespace flowscope::capture {
namespace {

using ::testing::ElementsAre;

class RecorderValuesTest : public RecorderTest {
 protected:
  std::vector<PayloadState> StatesOf(const std::string& type) const {
    std::vector<PayloadState> states;
    for (const TensorRecord& tensor : trace_->tables().tensors) {
      if (tensor.producer == kNoId) continue;
      if (trace_->str(trace_->op(tensor.producer).type) == type) states.push_back(tensor.state);
    }
    return states;
  }
  // State of each version's value of variable 0.
  std::vector<PayloadState> VersionStates() const {
    std::vector<PayloadState> states;
    for (const VersionRecord& version : trace_->VersionsOfVariable(0)) {
      states.push_back(version.value == kNoId ? PayloadState::kNoValue
                                              : trace_->tensor(version.value).state);
    }
    return states;
  }
  RecordOptions Budget(int64_t bytes) {
    RecordOptions options;
    options.save_budget = bytes;
    options.warn = [this](const std::string& text) { warnings_.push_back(text); };
    return options;
  }
  std::vector<std::string> warnings_;
};

TEST_F(RecorderValuesTest, OverTheBudgetValuesBecomeStatistics) {
  const fake::Handle x = fake::Tensor({2}, {1, 2});
  Start(Budget(20));
  for (int i = 0; i < 4; ++i) fake::Run("Neg", {x});
  Stop();
  EXPECT_THAT(StatesOf("Neg"), ElementsAre(PayloadState::kKept, PayloadState::kKept,
                                           PayloadState::kStats, PayloadState::kStats));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(trace_->info().degraded, warnings_[0]);
}

TEST_F(RecorderValuesTest, SharedMemoryCountsOnce) {
  const fake::Handle weight = Variable("w", 2.f);
  Start(Budget(8));
  for (int i = 0; i < 10; ++i) Read(weight);
  fake::Run("Neg", {Read(weight)});
  Stop();
  EXPECT_EQ(StatesOf("Neg"), std::vector{PayloadState::kKept});
  EXPECT_THAT(warnings_, ElementsAre());
}

TEST_F(RecorderValuesTest, VersionsOfVariablesAreUnderTheBudget) {
  const fake::Handle weight = Variable("w", 2.f);
  Start(Budget(8));
  for (int i = 0; i < 3; ++i) fake::RunAll("AssignAddVariableOp", {weight, fake::Scalar(1.f)});
  Stop();
  EXPECT_THAT(VersionStates(), ElementsAre(PayloadState::kKept, PayloadState::kKept,
                                           PayloadState::kStats, PayloadState::kStats));
}

TEST_F(RecorderValuesTest, VersionsFollowTheirWriter) {
  const fake::Handle weight = Variable("w", 2.f);
  Start(Nothing());
  fake::RunAll("AssignAddVariableOp", {weight, fake::Scalar(1.f)});
  Stop();
  EXPECT_THAT(VersionStates(), ElementsAre(PayloadState::kKept, PayloadState::kNotKept));
}

TEST_F(RecorderValuesTest, StatisticsOfVersions) {
  const fake::Handle weight = Variable("w", 2.f);
  RecordOptions options;
  options.keep_values = false;
  Start(options);
  fake::RunAll("AssignAddVariableOp", {weight, fake::Scalar(1.f)});
  Stop();
  EXPECT_EQ(VersionStates().back(), PayloadState::kStats);
}

TEST_F(RecorderValuesTest, AVariableMadeDuringTheRunHasNoValueBeforeIt) {
  Start();
  const fake::Handle weight = Variable("w", 2.f);
  Read(weight);
  Stop();
  const auto versions = trace_->VersionsOfVariable(0);
  ASSERT_EQ(versions.size(), 1u);
  ASSERT_NE(versions[0].writer, kNoId);
  EXPECT_EQ(trace_->str(trace_->op(versions[0].writer).type), "AssignVariableOp");
}

// As TensorFlow names what only its handle owns; the number counts in the process.
TEST_F(RecorderValuesTest, AVariableMadeDuringTheRunIsCalledByItsOwnName) {
  const auto make = [&](const char* name, const char* container) {
    return fake::Run("VarHandleOp", {},
                     {{"shared_name", fake::StringAttr(name)},
                      {"container", fake::StringAttr(container)},
                      {"dtype", fake::TypeAttr(DType::kFloat32)}});
  };
  Start();
  const std::vector<std::pair<const char*, const char*>> made = {
      {"w/17", "Anonymous"}, {"w/18", "Anonymous"}, {"a/b", "Anonymous"},
      {"w/3", "localhost"},  {"/5", "Anonymous"},   {"model/w/4", "Anonymous"}};
  for (const auto& [name, container] : made) {
    fake::RunAll("AssignVariableOp", {make(name, container), fake::Scalar(1.f)});
  }
  Stop();
  std::vector<std::string> addresses, names;
  for (const VariableRecord& variable : trace_->tables().variables) {
    addresses.emplace_back(trace_->str(variable.address));
    names.emplace_back(trace_->str(variable.name));
  }
  EXPECT_THAT(addresses, ElementsAre("w", "w_1", "a/b", "w/3", "/5", "model/w"));
  EXPECT_THAT(names, ElementsAre("w", "w", "a/b", "w/3", "/5", "model/w"));
}

TEST_F(RecorderValuesTest, APlaceInTheModelTakesItsAddressFromAnOwnName) {
  const fake::Handle placed = Variable("kernel", 1.f);
  Start();
  const fake::Handle made = Variable("head", 2.f);
  const VariableId id =
      recorder_->DeclareVariable(placed.get(), {.addresses = {"head", "h"}, .name = "kernel"});
  Stop();
  const TraceTables& tables = trace_->tables();
  ASSERT_EQ(tables.variables.size(), 2U);
  EXPECT_EQ(trace_->str(tables.variables[id].address), "head");
  EXPECT_EQ(trace_->str(tables.variables[1 - id].address), "head_1");
  EXPECT_EQ(trace_->str(tables.variables[1 - id].name), "head");
}

TEST_F(RecorderValuesTest, ANameThatNothingHasIsNoted) {
  RecordOptions options;
  options.save = Not(SelectModule("typo"));
  Start(options);
  EXPECT_EQ(
      Stop().info().notes,
      std::vector<std::string>{"save=: nothing in this run has the name in module(\"typo\")"});
}

TEST_F(RecorderValuesTest, ASelectorSeesTheKindAndCountsItsMatches) {
  const fake::Handle weight = Variable("w", 2.f);
  std::vector<OpKind> seen;
  RecordOptions options;
  options.save = SelectWhere(
      [&seen](const OpFacts& facts) {
        seen.push_back(facts.kind);
        return facts.kind == OpKind::kVariableRead;
      },
      "kind");
  Start(options);
  Read(weight);
  fake::RunAll("AssignAddVariableOp", {weight, fake::Scalar(1.f)});
  EXPECT_EQ(recorder_->num_selected(), 1);
  Stop();
  EXPECT_THAT(seen, ElementsAre(OpKind::kVariableRead, OpKind::kVariableWrite));
  EXPECT_EQ(StatesOf("ReadVariableOp"), std::vector{PayloadState::kKept});
}

// An array argument that the run turned into another dtype is one input, as the run took it.
TEST_F(RecorderValuesTest, AnArrayInAnotherForm) {
  const fake::Handle ints = fake::IntTensor({2}, {1, 2});
  const fake::Handle floats = fake::Tensor({2}, {1, 2});
  Start();
  recorder_->DeclareArrayInput({ints, floats}, "x");
  const fake::Handle wrapped = fake::Run("_EagerConst", {fake::Tensor({2}, {1, 2})});
  fake::Run("Neg", {wrapped});
  Stop();
  EXPECT_EQ(InputsOf("Neg"), "input input");
  ASSERT_EQ(trace_->num_ops(), 2u);
  EXPECT_EQ(trace_->tensor(trace_->op(0).outputs.first).dtype, DType::kFloat32);
}

TEST_F(RecorderValuesTest, BothFormsOfAnArray) {
  const fake::Handle ints = fake::IntTensor({2}, {1, 2});
  const fake::Handle floats = fake::Tensor({2}, {1, 2});
  Start();
  recorder_->DeclareArrayInput({ints, floats}, "x");
  fake::Run("Neg", {fake::Run("_EagerConst", {fake::Tensor({2}, {1, 2})})});
  fake::Run("Identity", {fake::Run("_EagerConst", {fake::IntTensor({2}, {1, 2})})});
  Stop();
  EXPECT_EQ(InputsOf("Neg"), "input input");
  EXPECT_EQ(InputsOf("Identity"), "input input");
  EXPECT_THAT(StatesOf("input"), ElementsAre(PayloadState::kKept, PayloadState::kKept));
}

}  // namespace
}  // namespace flowscope::capture
