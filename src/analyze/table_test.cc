#include "analyze/table.h"

#include <gtest/gtest.h>

namespace flowscope {
namespace {

TEST(TableTest, HasNoRowsWithoutColumns) { EXPECT_EQ(Table{}.num_rows(), 0u); }

TEST(TableTest, CountsTheRowsOfEveryKindOfColumn) {
  EXPECT_EQ((Table{{{"a", Column::Strings{"x", "y"}, {}}}}).num_rows(), 2u);
  EXPECT_EQ((Table{{{"a", Column::Ints{1, 2, 3}, {}}}}).num_rows(), 3u);
  EXPECT_EQ((Table{{{"a", Column::Doubles{0.5}, {}}}}).num_rows(), 1u);
  EXPECT_EQ((Table{{{"a", Column::Bools{1, 0, 1, 1}, {}}}}).num_rows(), 4u);
}

TEST(TableTest, FindsAColumnByName) {
  const Table table{{{"a", Column::Ints{1}, {}}, {"b", Column::Ints{2}, {}}}};
  ASSERT_NE(table.Find("b"), nullptr);
  EXPECT_EQ(std::get<Column::Ints>(table.Find("b")->values)[0], 2);
  EXPECT_EQ(table.Find("c"), nullptr);
}

TEST(TableTest, ARowIsValidUnlessFlagged) {
  const Column all{"a", Column::Ints{1, 2}, {}};
  EXPECT_TRUE(all.is_valid(0));
  EXPECT_TRUE(all.is_valid(1));
  const Column some{"a", Column::Ints{1, 2}, {1, 0}};
  EXPECT_TRUE(some.is_valid(0));
  EXPECT_FALSE(some.is_valid(1));
}

}  // namespace
}  // namespace flowscope
