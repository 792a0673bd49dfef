#include "base/string_pool.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace flowscope {
namespace {

TEST(StringPoolTest, TheEmptyStringIsIdZero) {
  StringPool pool;
  EXPECT_EQ(pool.size(), 1u);
  EXPECT_EQ(pool.Intern(""), 0u);
  EXPECT_EQ(pool.Find(""), 0u);
  EXPECT_EQ(pool.View(0), "");
}

TEST(StringPoolTest, EqualStringsShareAnId) {
  StringPool pool;
  const uint32_t relu = pool.Intern("Relu");
  EXPECT_EQ(relu, 1u);
  EXPECT_EQ(pool.Intern("MatMul"), 2u);
  EXPECT_EQ(pool.Intern(std::string("Re") + "lu"), relu);
  EXPECT_EQ(pool.size(), 3u);
  EXPECT_EQ(pool.View(relu), "Relu");
}

TEST(StringPoolTest, FindDoesNotInsert) {
  StringPool pool;
  EXPECT_EQ(pool.Find("Relu"), std::nullopt);
  EXPECT_EQ(pool.size(), 1u);
  pool.Intern("Relu");
  EXPECT_EQ(pool.Find("Relu"), 1u);
  EXPECT_EQ(pool.Find("Rel"), std::nullopt);
}

TEST(StringPoolTest, KeepsBytesOfAnyKind) {
  StringPool pool;
  const std::string with_zero("a\0b", 3);
  const uint32_t id = pool.Intern(with_zero);
  EXPECT_NE(pool.Intern("a"), id);
  EXPECT_EQ(pool.View(id), with_zero);
}

TEST(StringPoolTest, TheCallersStringMayGo) {
  StringPool pool;
  std::string text = "block1/conv";
  const uint32_t id = pool.Intern(text);
  text.assign(text.size(), 'x');
  EXPECT_EQ(pool.View(id), "block1/conv");
}

TEST(StringPoolTest, ViewsStayValidWhileThePoolGrowsAndMoves) {
  StringPool pool;
  std::vector<std::string_view> views;
  for (int i = 0; i < 50000; ++i) {
    views.push_back(pool.View(pool.Intern("layer_" + std::to_string(i))));
  }
  const std::string large(100000, 'z');
  const std::string_view large_view = pool.View(pool.Intern(large));
  const StringPool moved = std::move(pool);
  EXPECT_EQ(moved.size(), 50002u);
  for (int i = 0; i < 50000; ++i) {
    const std::string expected = "layer_" + std::to_string(i);
    ASSERT_EQ(views[static_cast<size_t>(i)], expected);
    ASSERT_EQ(moved.Find(expected), static_cast<uint32_t>(i + 1));
  }
  EXPECT_EQ(large_view, large);
}

TEST(StringPoolTest, ViewsThatAreHeldOutliveThePool) {
  std::shared_ptr<const void> held;
  std::string_view text;
  std::string_view large;
  {
    StringPool pool;
    text = pool.View(pool.Intern("block1/conv"));
    held = pool.Hold();
    large = pool.View(pool.Intern(std::string(100000, 'z')));
  }
  EXPECT_EQ(text, "block1/conv");
  EXPECT_EQ(large, std::string(100000, 'z'));
}

TEST(StringPoolTest, CountsItsMemory) {
  StringPool pool;
  const size_t before = pool.nbytes();
  pool.Intern(std::string(1 << 20, 'a'));
  EXPECT_GE(pool.nbytes(), before + (1 << 20));
  const size_t after = pool.nbytes();
  pool.Intern(std::string(1 << 20, 'a'));
  EXPECT_EQ(pool.nbytes(), after);
}

}  // namespace
}  // namespace flowscope
