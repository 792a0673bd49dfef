#include "tf/hook.h"

#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fake_runtime/fake_runtime.h"
#include "fake_tensorflow/fake_tensorflow.h"

namespace flowscope::tf {
namespace {

// Calls the real one, then says that it was here.
void CountingExecute(TFE_Op* op, TFE_TensorHandle** results, int* count, TF_Status* status) {
  Api().TFE_Execute(op, results, count, status);
  *count += 100;
}
void OtherExecute(TFE_Op*, TFE_TensorHandle**, int*, TF_Status*) {}

HookTargets Targets() {
  HookTargets targets;
  targets.execute = &CountingExecute;
  return targets;
}

HookLease Acquire() {
  Result<HookLease> lease = AcquireHook(Targets());
  EXPECT_TRUE(lease.ok()) << lease.status().ToString();
  return lease.ok() ? std::move(lease).value() : HookLease();
}

class HookTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(LoadCApi(fake::kTensorFlow).ok()); }
  void TearDown() override {
    EXPECT_EQ(HookLeaseCount(), 0);
    EXPECT_EQ(HookedSlotCount(), 0);
    EXPECT_TRUE(HookSlotsRestored());
  }

  fake::LoadedTensorFlow tensorflow_{fake::kTensorFlow};
};

TEST_F(HookTest, StandsInFrontOfExecuteWhileALeaseLives) {
  const fake::Client client("lazy");
  const std::vector<void*> before = client.SlotValues();
  EXPECT_EQ(HookLeaseCount(), 0);
  {
    const HookLease lease = Acquire();
    EXPECT_TRUE(lease.held());
    EXPECT_EQ(client.Execute(), 101);
    EXPECT_EQ(HookLeaseCount(), 1);
    EXPECT_EQ(HookedSlotCount(), 1);
    EXPECT_TRUE(HookSlotsRestored());
    EXPECT_EQ(client.SlotValues()[1], before[1]) << "no target for it, not patched";
  }
  EXPECT_EQ(client.SlotValues(), before);
  EXPECT_EQ(client.Execute(), 1);
}

TEST_F(HookTest, TheLastLeaseRestores) {
  const fake::Client client("readonly");
  HookLease first = Acquire();
  HookLease second = Acquire();
  EXPECT_EQ(HookLeaseCount(), 2);
  first = HookLease();
  EXPECT_EQ(client.Execute(), 101);
  HookLease moved = std::move(second);
  EXPECT_FALSE(second.held());  // NOLINT(bugprone-use-after-move): what a move leaves
  EXPECT_EQ(client.Execute(), 101);
  moved = HookLease();
  EXPECT_EQ(client.Execute(), 1);
}

TEST_F(HookTest, SeesObjectsLoadedUnderALease) {
  const fake::Client first("readonly");
  const HookLease lease = Acquire();
  const fake::Client second("noplt");
  EXPECT_EQ(second.Execute(), 1);
  const HookLease again = Acquire();
  EXPECT_EQ(second.Execute(), 101);
}

TEST_F(HookTest, RefusesWhereNothingImportsExecute) {
  const Result<HookLease> lease = AcquireHook(Targets());
  ASSERT_FALSE(lease.ok());
  EXPECT_EQ(lease.status().code(), StatusCode::kUnavailable);
  EXPECT_NE(lease.status().message().find(fake::kTensorFlow), std::string::npos);
}

TEST_F(HookTest, RefusesOtherTargetsBesideALiveLease) {
  const fake::Client client("readonly");
  HookTargets others;
  others.execute = &OtherExecute;
  {
    const HookLease lease = Acquire();
    const Result<HookLease> other = AcquireHook(others);
    ASSERT_FALSE(other.ok());
    EXPECT_EQ(other.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(client.Execute(), 101);
  }
  EXPECT_TRUE(AcquireHook(others).ok());
}

TEST_F(HookTest, RefusesATargetlessHook) {
  const Result<HookLease> lease = AcquireHook({});
  ASSERT_FALSE(lease.ok());
  EXPECT_EQ(lease.status().code(), StatusCode::kInvalidArgument);
}

TEST_F(HookTest, ThreadsAcquireAndReleaseWhileOthersCall) {
  const fake::Client client("readonly");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        const HookLease lease = Acquire();
        EXPECT_EQ(client.Execute(), 101);
      }
    });
  }
  threads.emplace_back([&] {
    for (int round = 0; round < 1000; ++round) {
      const int result = client.Execute();
      EXPECT_TRUE(result == 1 || result == 101) << result;
    }
  });
  for (std::thread& thread : threads) thread.join();
}

TEST(FakeHook, LeasesPatchNothingAndRouteTheFakeRuntime) {
  const fake::Client client("readonly");
  const fake::Runtime runtime;
  const std::vector<void*> before = client.SlotValues();
  {
    const HookLease lease = Acquire();
    EXPECT_EQ(HookedSlotCount(), 0);
    EXPECT_EQ(client.SlotValues(), before);
    EXPECT_EQ(HookTargetsForTesting(), Targets());
  }
  EXPECT_EQ(HookTargetsForTesting(), HookTargets());
}

}  // namespace
}  // namespace flowscope::tf
