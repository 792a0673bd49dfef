#include "base/moments.h"

#include <gtest/gtest.h>

namespace flowscope {
namespace {

Moments Of(double value) {
  Moments moments;
  moments.finite = 1;
  moments.zeros = value == 0 ? 1 : 0;
  moments.min = moments.max = moments.mean = value;
  return moments;
}

// 1, 2, 3, 6: mean 3, deviations 4 + 1 + 0 + 9.
TEST(MomentsTest, AddingOneByOneGivesMeanAndDeviations) {
  Moments total;
  for (double value : {1.0, 2.0, 3.0, 6.0}) total.Add(Of(value));
  EXPECT_EQ(total.finite, 4);
  EXPECT_DOUBLE_EQ(total.mean, 3);
  EXPECT_DOUBLE_EQ(total.m2, 14);
  EXPECT_EQ(total.min, 1);
  EXPECT_EQ(total.max, 6);
}

TEST(MomentsTest, AddingTwoGroupsGivesTheSameAsOneByOne) {
  Moments left, right;
  left.Add(Of(1));
  left.Add(Of(2));
  right.Add(Of(3));
  right.Add(Of(6));
  left.Add(right);
  EXPECT_DOUBLE_EQ(left.mean, 3);
  EXPECT_DOUBLE_EQ(left.m2, 14);
}

TEST(MomentsTest, NothingAddedChangesNothing) {
  Moments total;
  total.Add(Moments{});
  EXPECT_EQ(total.finite, 0);
  EXPECT_EQ(total.mean, 0);
  total.Add(Of(-5));
  total.Add(Moments{});
  EXPECT_EQ(total.finite, 1);
  EXPECT_EQ(total.mean, -5);
  EXPECT_EQ(total.m2, 0);
  EXPECT_EQ(total.max, -5);
}

TEST(MomentsTest, CountsAddUpWithoutFiniteValues) {
  Moments nan;
  nan.nonfinite = {2, 1, 0};
  Moments total = Of(0);
  total.Add(nan);
  total.Add(nan);
  EXPECT_EQ(total.nonfinite, (std::array<int64_t, 3>{4, 2, 0}));
  EXPECT_EQ(total.zeros, 1);
  EXPECT_EQ(total.finite, 1);
}

}  // namespace
}  // namespace flowscope
