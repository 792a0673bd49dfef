#include "fake_runtime/fake_runtime.h"

#include <cmath>
#include <thread>

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "tf/handles.h"
#include "tf/op_registry.h"
#include "trace/attrs.h"

namespace flowscope::fake {
namespace {

using F = std::vector<float>;
using I = std::vector<int32_t>;

int executions = 0;
int deletions = 0;

void CountExecute(TFE_Op* op, TFE_TensorHandle** results, int* count, TF_Status* status) {
  ++executions;
  tf::Api().TFE_Execute(op, results, count, status);
}
void CountDelete(TFE_TensorHandle* handle) {
  ++deletions;
  tf::Api().TFE_DeleteTensorHandle(handle);
}

tf::HookTargets CountingTargets() {
  tf::HookTargets targets;
  targets.execute = &CountExecute;
  targets.delete_handle = &CountDelete;
  return targets;
}

class FakeRuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override { executions = deletions = 0; }
  void TearDown() override { EXPECT_EQ(LeakReport(), ""); }

  Runtime runtime_;
};

TEST_F(FakeRuntimeTest, ComputesElementwiseWithBroadcasting) {
  const Handle a = Tensor({2, 2}, {1, 2, 3, 4});
  const Handle row = Tensor({2}, {10, 20});
  EXPECT_EQ(Floats(fake::Run("AddV2", {a, row})), (F{11, 22, 13, 24}));
  EXPECT_EQ(Floats(fake::Run("Sub", {Scalar(1.f), a})), (F{0, -1, -2, -3}));
  EXPECT_EQ(Ints(fake::Run("Mul", {Scalar(3), Scalar(4)})), I{12});
  EXPECT_EQ(Bools(fake::Run("Less", {a, Scalar(3.f)})),
            (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(Floats(fake::Run("Relu", {Tensor({2}, {-1, 2})})), (F{0, 2}));
  EXPECT_TRUE(std::isinf(Floats(fake::Run("Log", {Scalar(0.f)}))[0]));
  EXPECT_EQ(Floats(fake::Run("AddV2", {Tensor({0, 2}, {}), row})), F{});
}

TEST_F(FakeRuntimeTest, ComputesMatMulWithTransposes) {
  const Handle a = Tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Floats(fake::Run("MatMul", {a, a}, {{"transpose_b", BoolAttr(true)}})),
            (F{14, 32, 32, 77}));
  EXPECT_EQ(
      Floats(fake::Run("MatMul", {a, Tensor({2, 1}, {1, 1})}, {{"transpose_a", BoolAttr(true)}})),
      (F{5, 7, 9}));
}

TEST_F(FakeRuntimeTest, PacksUnpacksAndFills) {
  const Handle packed = fake::Run("Pack", {Tensor({2}, {1, 2}), Tensor({2}, {3, 4})});
  const std::vector<Handle> parts = fake::RunAll("Unpack", {packed}, {{"num", IntAttr(2)}});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(Floats(parts[1]), (F{3, 4}));
  EXPECT_EQ(Floats(fake::Run("Fill", {IntTensor({2}, {1, 3}), Scalar(7.f)})), (F{7, 7, 7}));
}

TEST_F(FakeRuntimeTest, VariablesKeepTheirState) {
  const Handle variable = fake::Run("VarHandleOp", {}, {{"shared_name", StringAttr("w")}});
  EXPECT_FALSE(fake::TryRun("ReadVariableOp", {variable}).ok());
  fake::Run("AssignVariableOp", {variable, Scalar(1.f)});
  const Handle before = fake::Run("ReadVariableOp", {variable});
  EXPECT_TRUE(fake::RunAll("AssignAddVariableOp", {variable, Scalar(2.f)}).empty());
  EXPECT_EQ(Floats(fake::Run("ReadVariableOp", {variable})), F{3});
  EXPECT_EQ(Floats(before), F{1});
}

TEST_F(FakeRuntimeTest, RandomNumbersFollowTheSeed) {
  const Handle shape = IntTensor({1}, {4});
  const F first = Floats(fake::Run("RandomUniform", {shape}));
  EXPECT_NE(Floats(fake::Run("RandomUniform", {shape})), first);
  SeedRandom(0);
  EXPECT_EQ(Floats(fake::Run("RandomUniform", {shape})), first);
  for (const float x : first) EXPECT_TRUE(x >= 0 && x < 1) << x;
}

TEST_F(FakeRuntimeTest, ReportsErrorsAsTensorFlowDoes) {
  const auto failed = fake::TryRun("Fail", {Scalar(1.f)}, {{"message", StringAttr("boom")}});
  EXPECT_EQ(failed.status().message(), "Fail: boom");
  EXPECT_FALSE(fake::TryRun("NoSuchOp", {}).ok());
  EXPECT_FALSE(fake::TryRun("Add", {Tensor({2}, {1, 2}), Tensor({3}, {1, 2, 3})}).ok());
  EXPECT_EQ(fake::TryRun("Identity", {Poisoned("late error")}).status().message(),
            "Identity: late error");
}

TEST_F(FakeRuntimeTest, InfersTypeAttributes) {
  const tf::StatusPtr status = tf::NewStatus();
  const tf::OpPtr op(FakeApi().TFE_NewOp(Context(), "Neg", status.get()));
  const Handle input = Scalar(1);
  FakeApi().TFE_OpAddInput(op.get(), input, status.get());
  const tf::BufferPtr buffer(FakeApi().TF_NewBuffer());
  FakeApi().TFE_OpAttrsSerialize(FakeApi().TFE_OpGetAttrs(op.get()), buffer.get(), status.get());
  const auto attrs = SplitAttrs({static_cast<const char*>(buffer->data), buffer->length});
  ASSERT_TRUE(attrs.ok());
  EXPECT_EQ(FormatAttr(attrs->at("T")), "type: int32");
}

TEST_F(FakeRuntimeTest, EveryKernelHasAnOpDef) {
  for (const char* type : {"Add", "AddV2", "Sub", "Mul", "MatMul", "Relu", "Log", "Neg", "Less",
                           "Identity", "Fill", "VarHandleOp", "ReadVariableOp", "AssignVariableOp",
                           "AssignAddVariableOp", "RandomUniform", "_EagerConst", "Fail"}) {
    const tf::StatusPtr status = tf::NewStatus();
    const tf::OpPtr op(FakeApi().TFE_NewOp(Context(), type, status.get()));
    EXPECT_NE(op, nullptr) << type;
    EXPECT_NE(tf::FindOpDef(type), nullptr) << type;
  }
}

TEST_F(FakeRuntimeTest, VerbsGoThroughALiveLease) {
  {
    const Result<tf::HookLease> lease = tf::AcquireHook(CountingTargets());
    ASSERT_TRUE(lease.ok());
    fake::Run("Neg", {Scalar(1.f)});
    EXPECT_EQ(executions, 1);
    EXPECT_EQ(deletions, 2);
  }
  fake::Run("Neg", {Scalar(1.f)});
  EXPECT_EQ(executions, 1);
  EXPECT_EQ(deletions, 2);
}

TEST_F(FakeRuntimeTest, SlotsCanBeSetByHand) {
  SetSlots(CountingTargets());
  fake::Run("Neg", {Scalar(1.f)});
  EXPECT_EQ(executions, 1);
  FollowLease();
  fake::Run("Neg", {Scalar(1.f)});
  EXPECT_EQ(executions, 1);
}

TEST_F(FakeRuntimeTest, CopiesAndShares) {
  const Handle a = Tensor({1}, {5});
  const Handle same = Share(a);
  EXPECT_EQ(same.get(), a.get());
  const Handle other = CopyToDevice(a, "GPU:0");
  EXPECT_NE(other.get(), a.get());
  EXPECT_EQ(Read(other), F{5});
  const tf::StatusPtr status = tf::NewStatus();
  EXPECT_STREQ(FakeApi().TFE_TensorHandleDeviceName(other, status.get()), "GPU:0");
}

TEST_F(FakeRuntimeTest, AddressesComeBackWhereAsked) {
  ReuseHandleAddresses(true);
  TFE_TensorHandle* first = Scalar(1.f).get();
  const Handle second = Scalar(2.f);
  EXPECT_EQ(second.get(), first);
  EXPECT_EQ(Floats(second), F{2});
}

TEST_F(FakeRuntimeTest, FunctionsRunTheirBodyInsideTheCall) {
  AddFunction(
      "twice",
      [](const std::vector<TFE_TensorHandle*>& inputs) {
        std::vector<Handle> outputs;
        outputs.push_back(fake::Run("AddV2", {inputs[0], inputs[0]}));
        return outputs;
      },
      "definition");
  AddFunction("failing", [](const std::vector<TFE_TensorHandle*>& inputs) {
    return fake::TryRun("Fail", inputs);
  });
  const Result<tf::HookLease> lease = tf::AcquireHook(CountingTargets());
  EXPECT_EQ(Floats(fake::Run("twice", {Scalar(4.f)})), F{8});
  EXPECT_EQ(executions, 2) << "the call and the op inside";
  EXPECT_FALSE(fake::TryRun("failing", {Scalar(4.f)}).ok());

  EXPECT_TRUE(FakeApi().TFE_ContextHasFunction(Context(), "twice"));
  EXPECT_FALSE(FakeApi().TFE_ContextHasFunction(NewContext(), "twice"));
  const tf::StatusPtr status = tf::NewStatus();
  const tf::BufferPtr buffer(FakeApi().TF_NewBuffer());
  FakeApi().TFE_ContextGetFunctionDef(Context(), "twice", buffer.get(), status.get());
  EXPECT_EQ(std::string(static_cast<const char*>(buffer->data), buffer->length), "definition");
}

TEST_F(FakeRuntimeTest, DefinitionsAreKnownByTheirName) {
  std::string definition;
  {
    protozero::pbf_writer function(definition);
    protozero::pbf_writer(function, 1).add_string(1, "f");
  }
  const tf::StatusPtr status = tf::NewStatus();
  FakeApi().TFE_ContextAddFunctionDef(Context(), definition.data(), definition.size(),
                                      status.get());
  EXPECT_TRUE(FakeApi().TFE_ContextHasFunction(Context(), "f"));
  EXPECT_FALSE(fake::TryRun("f", {}).ok()) << "known, without a body";
}

TEST_F(FakeRuntimeTest, MakesTensorsFromProtos) {
  std::string proto;
  {
    protozero::pbf_writer tensor(proto);
    tensor.add_enum(1, 1);
    protozero::pbf_writer shape(tensor, 2);
    protozero::pbf_writer(shape, 2).add_int64(1, 3);
    shape.commit();
    const F values = {1, 2};
    tensor.add_packed_float(5, values.begin(), values.end());
  }
  const tf::StatusPtr status = tf::NewStatus();
  const tf::BufferPtr buffer(FakeApi().TF_NewBufferFromString(proto.data(), proto.size()));
  const tf::TensorPtr tensor(FakeApi().TF_AllocateTensor(1, nullptr, 0, 4));
  FakeApi().TF_TensorFromProto(buffer.get(), tensor.get(), status.get());
  const Handle handle(FakeApi().TFE_NewTensorHandle(tensor.get(), status.get()));
  EXPECT_EQ(Floats(handle), (F{1, 2, 2})) << "the last element stands for the rest";
}

TEST_F(FakeRuntimeTest, ThreadsRunAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      Handle sum = Scalar(0.f);
      for (int step = 0; step < 100; ++step) sum = fake::Run("AddV2", {sum, Scalar(1.f)});
      EXPECT_EQ(Floats(sum), F{100});
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(FakeRuntimeTest, CountsWhatLives) {
  {
    const Handle a = Scalar(1.f);
    const Handle again = Share(a);
    EXPECT_EQ(LiveHandles(), 1);
    EXPECT_EQ(LeakReport(), "1 handles");
  }
  EXPECT_EQ(LiveHandles(), 0);
}

TEST(FakeRuntimeDeathTest, RefusesAHandleAfterItsEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Runtime runtime;
  ReuseHandleAddresses(true);
  EXPECT_DEATH(
      {
        TFE_TensorHandle* gone = Scalar(1.f).get();
        FakeApi().TFE_TensorHandleDataType(gone);
      },
      "used after its end");
}

}  // namespace
}  // namespace flowscope::fake
