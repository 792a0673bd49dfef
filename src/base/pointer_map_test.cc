#include "base/pointer_map.h"

#include <random>
#include <unordered_map>

#include <gtest/gtest.h>

namespace flowscope {
namespace {

const void* Address(uint64_t number) { return reinterpret_cast<const void*>(16 * (number + 1)); }

TEST(PointerMapTest, AValueIsFoundUntilItIsErased) {
  PointerMap<int> map;
  EXPECT_EQ(map.Find(Address(1)), nullptr);
  EXPECT_TRUE(map.TryEmplace(Address(1), 7).second);
  const auto [there, is_new] = map.TryEmplace(Address(1), 8);
  EXPECT_FALSE(is_new);
  EXPECT_EQ(*there, 7);
  map.Erase(Address(2));
  EXPECT_EQ(map.size(), 1U);
  map.Erase(Address(1));
  EXPECT_EQ(map.Find(Address(1)), nullptr);
  EXPECT_EQ(map.size(), 0U);
}

// Few addresses and many changes: clusters form, and gaps open within them.
TEST(PointerMapTest, ItAnswersAsAMapDoes) {
  std::mt19937 choose(1);
  PointerMap<uint64_t> map;
  std::unordered_map<const void*, uint64_t> wanted;
  for (uint64_t step = 0; step < 200'000; ++step) {
    const void* key = Address(choose() % 300);
    if (choose() % 2 == 0) {
      const auto [value, is_new] = map.TryEmplace(key, step);
      const auto [it, inserted] = wanted.try_emplace(key, step);
      ASSERT_EQ(is_new, inserted) << step;
      ASSERT_EQ(*value, it->second) << step;
    } else {
      map.Erase(key);
      wanted.erase(key);
    }
    ASSERT_EQ(map.size(), wanted.size()) << step;
    const void* asked = Address(choose() % 300);
    const auto it = wanted.find(asked);
    const uint64_t* found = map.Find(asked);
    ASSERT_EQ(found != nullptr, it != wanted.end()) << step;
    if (found != nullptr) {
      ASSERT_EQ(*found, it->second) << step;
    }
  }
}

}  // namespace
}  // namespace flowscope
