#include "tf/slot_table.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "fake_tensorflow/fake_tensorflow.h"
#include "tf/c_api.h"

namespace flowscope::tf {
namespace {

void Hook(TFE_Op*, TFE_TensorHandle**, int* count, TF_Status*) { *count = 100; }
void OtherHook(TFE_Op*, TFE_TensorHandle**, int* count, TF_Status*) { *count = 200; }
void DeleteHook(TFE_TensorHandle*) {}

// Refuses one call that makes a page writable, counted from 0; none where it is negative.
int refused_call = -1;
int RefusingProtect(void* page, size_t length, int protection) {
  if ((protection & PROT_WRITE) != 0 && refused_call-- == 0) {
    errno = EACCES;
    return -1;
  }
  return ::mprotect(page, length, protection);
}

class SlotTableTest : public ::testing::Test {
 protected:
  std::vector<SlotTable::Target> Targets(void (*execute)(TFE_Op*, TFE_TensorHandle**, int*,
                                                         TF_Status*)) const {
    return {{reinterpret_cast<void*>(execute), tensorflow_.Address("TFE_Execute")},
            {reinterpret_cast<void*>(&DeleteHook), tensorflow_.Address("TFE_DeleteTensorHandle")}};
  }

  static SlotTable MakeTable(ProtectFn protect) {
    return {fake::kTensorFlow, {"TFE_Execute", "TFE_DeleteTensorHandle"}, protect};
  }

  fake::LoadedTensorFlow tensorflow_{fake::kTensorFlow};
  SlotTable table_ = MakeTable(&::mprotect);
};

TEST_F(SlotTableTest, PatchesEveryClientAndRestoresExactly) {
  const fake::Client lazy("lazy");
  const fake::Client readonly("readonly");
  const fake::Client noplt("noplt");
  const fake::Client* const clients[] = {&lazy, &readonly, &noplt};
  std::vector<std::vector<void*>> before;
  for (const fake::Client* client : clients) before.push_back(client->SlotValues());

  ASSERT_TRUE(table_.Patch(Targets(&Hook)).ok());
  for (const fake::Client* client : clients) EXPECT_EQ(client->Execute(), 100);
  EXPECT_EQ(table_.CountPatched(), 6);
  EXPECT_EQ(table_.CountPatched("TFE_Execute"), 3);
  EXPECT_TRUE(table_.Intact(true));
  EXPECT_FALSE(table_.Intact(false));

  ASSERT_TRUE(table_.Restore().ok());
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(clients[i]->SlotValues(), before[i]);
  EXPECT_EQ(table_.CountPatched(), 0);
  EXPECT_TRUE(table_.Intact(false));
  for (const fake::Client* client : clients) EXPECT_EQ(client->Execute(), 1);
  EXPECT_TRUE(table_.Intact(false)) << "also after the loader resolved the lazy ones";
}

TEST_F(SlotTableTest, LeavesNullTargetsAlone) {
  const fake::Client client("readonly");
  const std::vector<void*> before = client.SlotValues();
  std::vector<SlotTable::Target> targets = Targets(&Hook);
  targets[1].replacement = nullptr;
  ASSERT_TRUE(table_.Patch(targets).ok());
  EXPECT_NE(client.SlotValues()[0], before[0]);
  EXPECT_EQ(client.SlotValues()[1], before[1]);
  ASSERT_TRUE(table_.Restore().ok());
}

TEST_F(SlotTableTest, SeesObjectsLoadedSinceAndForgetsThoseThatWent) {
  ASSERT_TRUE(table_.Patch(Targets(&Hook)).ok());
  EXPECT_EQ(table_.CountPatched(), 0);
  std::optional<fake::Client> client("readonly");
  EXPECT_EQ(client->Execute(), 1);
  ASSERT_TRUE(table_.Patch(Targets(&Hook)).ok());
  EXPECT_EQ(client->Execute(), 100);
  client.reset();
  EXPECT_EQ(table_.CountPatched(), 0);
  ASSERT_TRUE(table_.Restore().ok());

  client.emplace("readonly");
  EXPECT_EQ(client->Execute(), 1) << "loaded anew, restored means untouched";
  ASSERT_TRUE(table_.Patch(Targets(&Hook)).ok());
  EXPECT_EQ(client->Execute(), 100);
  ASSERT_TRUE(table_.Restore().ok());
}

TEST_F(SlotTableTest, PatchingAgainKeepsTheOriginal) {
  const fake::Client client("readonly");
  const std::vector<void*> before = client.SlotValues();
  ASSERT_TRUE(table_.Patch(Targets(&Hook)).ok());
  ASSERT_TRUE(table_.Patch(Targets(&Hook)).ok());
  ASSERT_TRUE(table_.Patch(Targets(&OtherHook)).ok());
  EXPECT_EQ(client.Execute(), 200);
  ASSERT_TRUE(table_.Restore().ok());
  EXPECT_EQ(client.SlotValues(), before);
}

TEST_F(SlotTableTest, UndoesAPatchThatFailsHalfway) {
  const fake::Client lazy("lazy");
  const fake::Client readonly("readonly");
  const fake::Client noplt("noplt");
  const fake::Client* const clients[] = {&lazy, &readonly, &noplt};
  std::vector<std::vector<void*>> before;
  for (const fake::Client* client : clients) before.push_back(client->SlotValues());

  constexpr int kGuardedSlots = 4;
  for (int call = 0; call < kGuardedSlots; ++call) {
    SlotTable table = MakeTable(&RefusingProtect);
    refused_call = call;
    EXPECT_EQ(table.Patch(Targets(&Hook)).code(), StatusCode::kUnavailable) << call;
    for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(clients[i]->SlotValues(), before[i]);
    EXPECT_TRUE(table.Intact(false));
  }
}

TEST_F(SlotTableTest, AFailedPatchKeepsWhatAnEarlierOneWrote) {
  const fake::Client lazy("lazy");
  SlotTable table = MakeTable(&RefusingProtect);
  ASSERT_TRUE(table.Patch(Targets(&Hook)).ok());
  const fake::Client readonly("readonly");
  refused_call = 1;
  EXPECT_FALSE(table.Patch(Targets(&Hook)).ok());
  EXPECT_EQ(lazy.Execute(), 100);
  EXPECT_EQ(readonly.Execute(), 1);
  ASSERT_TRUE(table.Restore().ok());
}

TEST_F(SlotTableTest, TriesARestoreAgain) {
  const fake::Client client("readonly");
  const std::vector<void*> before = client.SlotValues();
  SlotTable table = MakeTable(&RefusingProtect);
  ASSERT_TRUE(table.Patch(Targets(&Hook)).ok());
  refused_call = 0;
  EXPECT_EQ(table.Restore().code(), StatusCode::kUnavailable);
  EXPECT_EQ(table.CountPatched(), 1);
  EXPECT_FALSE(table.Intact(false));
  ASSERT_TRUE(table.Restore().ok());
  EXPECT_EQ(client.SlotValues(), before);
}

// The loader is still going to write such a slot.
TEST_F(SlotTableTest, LeavesASlotAloneThatDoesNotLeadToCode) {
  const fake::Client client("lazy");
  const ElfSlot slot = client.Slots({"TFE_Execute"}).at(0);
  void* const original = ReadSlot(slot.address);
  auto* const unrelocated = reinterpret_cast<void*>(uintptr_t{0x1036});
  ASSERT_TRUE(WriteSlot(slot, unrelocated, &::mprotect).ok());
  ASSERT_TRUE(table_.Patch(Targets(&Hook)).ok());
  EXPECT_EQ(table_.CountPatched("TFE_Execute"), 0);
  EXPECT_EQ(ReadSlot(slot.address), unrelocated);

  ASSERT_TRUE(WriteSlot(slot, original, &::mprotect).ok());
  ASSERT_TRUE(table_.Patch(Targets(&Hook)).ok());
  EXPECT_EQ(client.Execute(), 100);
  ASSERT_TRUE(table_.Restore().ok());
}

TEST_F(SlotTableTest, IgnoresObjectsOutsideTheFolder) {
  const fake::Client client("readonly");
  SlotTable table(std::string(fake::kTensorFlow) + "/pyth", {"TFE_Execute"}, &::mprotect);
  ASSERT_TRUE(table.Patch({Targets(&Hook)[0]}).ok());
  EXPECT_EQ(table.CountPatched(), 0);
  EXPECT_EQ(client.Execute(), 1);
}

}  // namespace
}  // namespace flowscope::tf
