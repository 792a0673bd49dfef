#include "tf/elf_slots.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include <gtest/gtest.h>

#include "fake_tensorflow/fake_tensorflow.h"
#include "tf/c_api.h"

namespace flowscope::tf {
namespace {

void FirstHook(TFE_Op*, TFE_TensorHandle**, int* count, TF_Status*) { *count = 100; }
void* HookAddress() { return reinterpret_cast<void*>(&FirstHook); }

int FailingProtect(void*, size_t, int) {
  errno = EACCES;
  return -1;
}

// Every way in which a compiler and linker make an import.
class ClientSlots : public ::testing::TestWithParam<const char*> {
 protected:
  fake::Client client_{GetParam()};
};

TEST_P(ClientSlots, AreFoundOncePerSymbol) {
  const std::vector<ElfSlot> slots = client_.Slots({"TFE_Execute", "TFE_DeleteTensorHandle"});
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_NE(slots[0].symbol, slots[1].symbol);
  EXPECT_TRUE(client_.Slots({"TFE_Exec", "TFE_ExecuteX"}).empty());
}

TEST_P(ClientSlots, RedirectCallsAndGiveThePageBack) {
  const ElfSlot slot = client_.Slots({"TFE_Execute"}).at(0);
  const int protection = PageProtection(slot.address).value();
  void* const original = ReadSlot(slot.address);

  ASSERT_TRUE(WriteSlot(slot, HookAddress(), &::mprotect).ok());
  EXPECT_EQ(client_.Execute(), 100);
  EXPECT_EQ(PageProtection(slot.address).value(), protection);

  ASSERT_TRUE(WriteSlot(slot, original, &::mprotect).ok());
  EXPECT_EQ(client_.Execute(), 1);
  EXPECT_EQ(PageProtection(slot.address).value(), protection);
}

INSTANTIATE_TEST_SUITE_P(All, ClientSlots, ::testing::Values("lazy", "readonly", "noplt"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ElfSlots, AreGuardedWhereTheLoaderMadeThemReadOnly) {
  const fake::Client lazy("lazy");
  EXPECT_FALSE(lazy.Slots({"TFE_Execute"}).at(0).guarded);
  const fake::Client readonly("readonly");
  const ElfSlot slot = readonly.Slots({"TFE_Execute"}).at(0);
  EXPECT_TRUE(slot.guarded);
  EXPECT_EQ(PageProtection(slot.address).value(), PROT_READ);
}

TEST(ElfSlots, StayAsTheyAreWhereThePageCannotBeOpened) {
  const fake::Client client("readonly");
  const ElfSlot slot = client.Slots({"TFE_Execute"}).at(0);
  void* const original = ReadSlot(slot.address);
  const Status status = WriteSlot(slot, HookAddress(), &FailingProtect);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("Permission denied"), std::string::npos) << status.message();
  EXPECT_EQ(ReadSlot(slot.address), original);
  EXPECT_EQ(client.Execute(), 1);
}

// As in an object whose loading another thread has not finished.
TEST(ElfSlots, AreAskedAgainWhereTheirPageWasStillWritable) {
  const fake::Client client("readonly");
  void** const address = client.Slots({"TFE_Execute"}).at(0).address;
  void* const original = ReadSlot(address);
  const auto page_size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const page =
      reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) & ~(page_size - 1));
  ASSERT_EQ(::mprotect(page, page_size, PROT_READ | PROT_WRITE), 0);
  const ElfSlot slot = client.Slots({"TFE_Execute"}).at(0);
  ASSERT_TRUE(WriteSlot(slot, HookAddress(), &::mprotect).ok());
  EXPECT_EQ(PageProtection(address).value(), PROT_READ | PROT_WRITE);

  ASSERT_EQ(::mprotect(page, page_size, PROT_READ), 0);
  ASSERT_TRUE(WriteSlot(slot, original, &::mprotect).ok());
  EXPECT_EQ(PageProtection(address).value(), PROT_READ);
  EXPECT_EQ(client.Execute(), 1);
}

TEST(ElfSlots, NobodyElseHasThem) {
  int elsewhere = 0;
  ForEachLoadedObject([&](const dl_phdr_info& object) {
    elsewhere += static_cast<int>(FindSlots(object, {"TFE_TensorHandleNumDims"}).size());
    return true;
  });
  EXPECT_EQ(elsewhere, 0);
}

TEST(PageProtection, TellsCodeFromData) {
  EXPECT_EQ(PageProtection(HookAddress()).value() & PROT_EXEC, PROT_EXEC);
  int local = 0;
  EXPECT_EQ(PageProtection(&local).value(), PROT_READ | PROT_WRITE);
  EXPECT_EQ(PageProtection(nullptr).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace flowscope::tf
