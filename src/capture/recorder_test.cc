#include "capture/recorder_test.h"

#include <atomic>
#include <thread>

namespace flowscope::capture {
namespace {

using ::testing::HasSubstr;

TEST_F(RecorderTest, RecordsWhatRuns) {
  const fake::Handle x = fake::Tensor({2}, {1, -2});
  Start();
  recorder_->DeclareInput(x, "x");
  const fake::Handle y = fake::Run("Add", {fake::Run("Relu", {x}), fake::Scalar(1.f)});
  recorder_->DeclareOutputs({{"output", y}});
  const Trace& trace = Stop();
  EXPECT_EQ(trace.info().num_executed, 2u);
  EXPECT_EQ(InputsOf("Relu"), "input input");
  EXPECT_EQ(InputsOf("Add"), "op Relu, literal");
  EXPECT_EQ(trace.tables().outputs.size(), 1u);
}

TEST_F(RecorderTest, OneRecordingForEachThread) {
  Start();
  EXPECT_EQ(Recorder::Start({}, nullptr).status().code(), StatusCode::kFailedPrecondition);
  std::thread([] { EXPECT_TRUE(Recorder::Start({}, nullptr).ok()); }).join();
  EXPECT_EQ(Stop().num_ops(), 0u);
  EXPECT_EQ(recorder_->Stop("").status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(RecorderTest, ARecordingThatNobodyStops) {
  Start();
  const fake::Handle x = fake::Tensor({1}, {1});
  std::thread([&] { Recorder::Abandon(std::move(recorder_)); }).join();
  EXPECT_EQ(Recorder::Current(), nullptr);
  EXPECT_EQ(tf::HookLeaseCount(), 0);
  fake::Run("Neg", {x});
  Start();
  EXPECT_EQ(Recorder::Current(), recorder_.get());
  fake::Run("Relu", {x});
  EXPECT_EQ(Stop().info().num_executed, 1u);
}

// TensorFlow's fast path: the op is the only one that holds the value when it runs.
TEST_F(RecorderTest, AnInputThatIsDroppedBeforeTheOpRuns) {
  const fake::Handle weight = Variable("w", 2.f);
  const fake::Handle x = fake::Tensor({1}, {3});
  Start(Nothing());
  recorder_->DeclareInput(x, "x");
  fake::Op op("Mul");
  op.Add(x);
  op.Add(Read(weight));
  const auto outputs = op.Execute();
  ASSERT_TRUE(outputs.ok());
  Stop();
  EXPECT_EQ(InputsOf("Mul"), "input input, op ReadVariableOp");
}

TEST_F(RecorderTest, ADroppedInputsAddressIsFreeAfterTheOp) {
  const fake::Handle x = fake::Tensor({2}, {3, 4});
  Start(Nothing());
  recorder_->DeclareInput(x, "x");
  {
    fake::Op op("Neg");
    op.Add(fake::Run("Relu", {x}));
    ASSERT_TRUE(op.Execute().ok());
  }
  // Nobody records what makes these: whatever their address, they are constants.
  for (int i = 0; i < 4; ++i) fake::Run("Log", {fake::Tensor({2}, {1, 2})});
  Stop();
  EXPECT_EQ(InputsOf("Log"), "constant constant");
  EXPECT_EQ(Edges(EdgeClass::kOp), 1);
}

TEST_F(RecorderTest, AnOpThatNeverRanLeavesNoInputs) {
  const fake::Handle x = fake::Tensor({2}, {3, 4});
  Start(Nothing());
  recorder_->DeclareInput(x, "x");
  for (int i = 0; i < 3; ++i) {
    fake::Op abandoned("Neg");
    abandoned.Add(fake::Run("Relu", {x}));
  }
  fake::Run("Log", {fake::Tensor({2}, {1, 2})});
  Stop();
  EXPECT_EQ(InputsOf("Log"), "constant constant");
}

TEST_F(RecorderTest, ReusedAddressesAreNotLinked) {
  Start(Nothing());
  const fake::Handle x = fake::Tensor({2}, {3, 4});
  recorder_->DeclareInput(x, "x");
  for (int i = 0; i < 50; ++i) {
    const fake::Handle y = fake::Run("Neg", {x});
    const fake::Handle z = fake::Run("Add", {y, fake::Tensor({2}, {1, 1})});
  }
  Stop();
  EXPECT_EQ(Edges(EdgeClass::kOp), 50);
  EXPECT_EQ(Edges(EdgeClass::kConstant), 50);
  EXPECT_EQ(InputsOf("Add"), "op Neg, constant constant");
}

TEST_F(RecorderTest, ACopysAddressIsNotUsedAgainWhileItsValueIsHeld) {
  const fake::Handle x = fake::Tensor({2}, {3, 4});
  Start();
  recorder_->DeclareInput(x, "x");
  for (int i = 0; i < 5; ++i) {
    const fake::Handle y = fake::Run("Neg", {x});
    fake::Run("Relu", {fake::CopyToDevice(y, "/device:CPU:0")});
    fake::Run("Log", {fake::Tensor({2}, {1, 2})});
  }
  Stop();
  EXPECT_EQ(InputsOf("Relu"), "op Neg");
  EXPECT_EQ(InputsOf("Log"), "constant constant");
}

// A copy that another thread takes keeps the value when the model lets go of its own reference.
TEST_F(RecorderTest, ReferencesOfOtherThreadsCount) {
  const fake::Handle x = fake::Tensor({2}, {3, 4});
  Start(Nothing());
  recorder_->DeclareInput(x, "x");
  fake::Handle y = fake::Run("Neg", {x});
  fake::Handle shared;
  std::thread([&] { shared = fake::Share(y); }).join();
  y.reset();
  fake::Run("Relu", {shared});
  Stop();
  EXPECT_EQ(InputsOf("Relu"), "op Neg");
}

TEST_F(RecorderTest, OtherThreadsDeleteMeanwhile) {
  const fake::Handle x = fake::Tensor({2}, {3, 4});
  Start(Nothing());
  recorder_->DeclareInput(x, "x");
  std::atomic<bool> stop = false;
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      while (!stop) {
        const fake::Handle own = fake::Tensor({2}, {1, 1});
        const fake::Handle twice = fake::Share(own);
        fake::Run("Neg", {twice});
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    fake::Handle y = fake::Run("Relu", {x});
    fake::Op op("Add");
    op.Add(y);
    y.reset();
    op.Add(fake::Run("Neg", {x}));
    EXPECT_TRUE(op.Execute().ok());
  }
  stop = true;
  for (std::thread& thread : others) thread.join();
  EXPECT_EQ(Stop().info().num_executed, 900u);
  EXPECT_EQ(Edges(EdgeClass::kOp), 600);
  EXPECT_EQ(Edges(EdgeClass::kInput), 600);
}

TEST_F(RecorderTest, AVariantFromBeforeIsAConstant) {
  const fake::Handle dataset = fake::RawTensor(DType::kVariant, {}, "");
  Start();
  fake::Run("Identity", {dataset});
  Stop();
  EXPECT_EQ(InputsOf("Identity"), "constant constant");
}

TEST_F(RecorderTest, StopsAtTheFirstNonFiniteValue) {
  RecordOptions options;
  options.raise_on_nan = true;
  Start(options);
  const auto log = fake::TryRun("Log", {fake::Tensor({1}, {0})});
  EXPECT_THAT(log.status().message(), HasSubstr("non-finite value in log_1"));
  EXPECT_FALSE(fake::TryRun("Neg", {fake::Tensor({1}, {0})}).ok()) << "it stays stopped";
  EXPECT_EQ(Stop().info().num_executed, 1u);
}

TEST_F(RecorderTest, HaltsAfterTheOpThatMatches) {
  RecordOptions options;
  options.halt = SelectFunc("Neg");
  Start(options);
  fake::Run("Relu", {fake::Tensor({1}, {1})});
  EXPECT_FALSE(fake::TryRun("Neg", {fake::Tensor({1}, {1})}).ok());
  EXPECT_TRUE(recorder_->halted());
  EXPECT_TRUE(Stop().info().halted);
}

TEST_F(RecorderTest, AFailedOpKeepsItsError) {
  Start();
  const fake::Handle x = fake::Tensor({1}, {1});
  EXPECT_FALSE(fake::TryRun("Fail", {x}).ok());
  const Trace& trace = Stop();
  EXPECT_EQ(trace.str(trace.op(trace.num_ops() - 1).error), "this op always fails");
}

TEST_F(RecorderTest, AnotherContextIsSaid) {
  Start();
  const fake::Handle x = fake::Tensor({1}, {1});
  fake::Run("Neg", {x});
  const tf::StatusPtr status = tf::NewStatus();
  const tf::OpPtr op(tf::Api().TFE_NewOp(fake::NewContext(), "Neg", status.get()));
  tf::Api().TFE_OpAddInput(op.get(), x, status.get());
  TFE_TensorHandle* output = nullptr;
  int count = 1;
  recorder_->Execute(op.get(), &output, &count, status.get());
  const fake::Handle made(output);
  const Trace& trace = Stop();
  ASSERT_EQ(trace.info().notes.size(), 1u);
  EXPECT_THAT(trace.info().notes[0], HasSubstr("context was replaced after op 1"));
}

TEST_F(RecorderTest, AsynchronousExecutionIsSaidWhereverItBegins) {
  Start();
  const fake::Handle x = fake::Tensor({1}, {1});
  fake::Run("Neg", {x});
  fake::SetAsync(true);
  fake::Run("Neg", {x});
  fake::SetAsync(false);
  EXPECT_TRUE(Stop().info().asynchronous);
}

TEST_F(RecorderTest, CallbacksHoldWhatTheyCannotWatch) {
  auto recorder = Recorder::Start(Nothing(), nullptr, true);
  ASSERT_TRUE(recorder.ok());
  recorder_ = std::move(recorder).value();
  const fake::Handle x = fake::Tensor({2}, {1, 2});
  recorder_->DeclareInput(x, "x");
  std::vector<const TFE_TensorHandle*> addresses;
  for (int i = 0; i < 5; ++i) {
    const fake::Handle y = fake::Run("Neg", {x});
    addresses.push_back(y.get());
    EXPECT_TRUE(recorder_->RecordCallback("Neg", {x}, {y}).ok());
  }
  std::ranges::sort(addresses);
  EXPECT_EQ(std::ranges::unique(addresses).begin(), addresses.end());
  Stop();
}

TEST_F(RecorderTest, CallbacksTellWhenToStop) {
  RecordOptions options;
  options.halt = SelectFunc("Neg");
  auto recorder = Recorder::Start(options, nullptr, true);
  ASSERT_TRUE(recorder.ok());
  recorder_ = std::move(recorder).value();
  const fake::Handle x = fake::Tensor({2}, {1, 2});
  const fake::Handle y = fake::Run("Neg", {x});
  EXPECT_THAT(recorder_->RecordCallback("Neg", {x}, {y}).message(),
              HasSubstr("halted after neg_1"));
  EXPECT_FALSE(recorder_->RecordCallback("Relu", {x}, {y}).ok());
  EXPECT_EQ(Stop().info().num_executed, 1u);
}

TEST_F(RecorderTest, CallbacksTellAFunctionByItsNotBeingAnOp) {
  auto recorder = Recorder::Start({}, nullptr, true);
  ASSERT_TRUE(recorder.ok());
  recorder_ = std::move(recorder).value();
  const fake::Handle x = fake::Tensor({2}, {1, 2});
  EXPECT_TRUE(recorder_->RecordCallback("__inference_f_1", {x}, {fake::Run("Neg", {x})}).ok());
  const Trace& trace = Stop();
  EXPECT_EQ(trace.op(trace.num_ops() - 1).kind, OpKind::kCall);
  EXPECT_NE(trace.op(trace.num_ops() - 1).opaque_reason, 0u);
}

}  // namespace
}  // namespace flowscope::capture
