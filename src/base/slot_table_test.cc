#include "base/slot_table.h"

#include <vector>

#include <gtest/gtest.h>

namespace flowscope {
namespace {

// Numbers stand for themselves, hashed badly: runs of them share their hash.
class Numbers {
 public:
  uint32_t Find(uint32_t value) const {
    return slots_.Find(Hash(value), [&](uint32_t at) { return values_[at] == value; });
  }
  void Add(uint32_t value) {
    slots_.Add(Hash(value), static_cast<uint32_t>(values_.size()),
               [this](uint32_t at) { return Hash(values_[at]); });
    values_.push_back(value);
  }

 private:
  static uint64_t Hash(uint32_t value) { return value / 8 * 977; }

  SlotTable slots_;
  std::vector<uint32_t> values_;
};

TEST(SlotTable, FindsWhatWasAddedAndNothingElse) {
  Numbers numbers;
  EXPECT_EQ(numbers.Find(0), SlotTable::kNone);
  for (uint32_t value = 0; value < 10000; value += 2) numbers.Add(value);
  for (uint32_t value = 0; value < 10000; ++value) {
    const uint32_t expected = value % 2 == 0 ? value / 2 : SlotTable::kNone;
    ASSERT_EQ(numbers.Find(value), expected);
  }
}

TEST(SlotTable, TakesFewBytes) {
  SlotTable slots;
  for (uint32_t i = 0; i < 100000; ++i) slots.Add(i, i, [](uint32_t there) { return there; });
  EXPECT_LE(slots.nbytes(), 100000 * 4 * sizeof(uint32_t));
}

}  // namespace
}  // namespace flowscope
