#include "replay/compare.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/payload_testing.h"

namespace flowscope::replay {
namespace {

using testing::HasSubstr;

Payload Floats(const std::vector<float>& values) { return MakePayload(DType::kFloat32, values); }

TEST(CompareTest, SameBitsAreEqual) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Difference difference = Compare(Floats({1, nan}), Floats({1, nan}), {});
  EXPECT_TRUE(difference.equal());
  EXPECT_TRUE(difference.within());
}

TEST(CompareTest, OneUlpIsCounted) {
  const float next = std::nextafter(1.0F, 2.0F);
  const Difference difference = Compare(Floats({0, 1}), Floats({0, next}), {});
  EXPECT_EQ(difference.kind, "value");
  EXPECT_EQ(difference.num_different, 1);
  EXPECT_EQ(difference.first, 1);
  EXPECT_EQ(difference.max_ulp, 1U);
  EXPECT_FALSE(difference.within());
  EXPECT_TRUE(Compare(Floats({0, 1}), Floats({0, next}), Tolerance{1e-6, 0}).within());
}

TEST(CompareTest, UlpsAreCountedAcrossZero) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(Compare(Floats({-tiny}), Floats({tiny}), {}).max_ulp, 2U);
}

TEST(CompareTest, MinusZeroDiffersToTheBitOnly) {
  const Difference difference = Compare(Floats({0.0F}), Floats({-0.0F}), {});
  EXPECT_EQ(difference.num_different, 1);
  EXPECT_TRUE(Compare(Floats({0.0F}), Floats({-0.0F}), Tolerance{}).within());
}

TEST(CompareTest, NanAndInfinityAreNeverNearANumber) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tolerance loose{10, 10};
  EXPECT_FALSE(Compare(Floats({1}), Floats({nan}), loose).within());
  EXPECT_FALSE(Compare(Floats({inf}), Floats({1}), loose).within());
  EXPECT_FALSE(Compare(Floats({inf}), Floats({-inf}), loose).within());
}

TEST(CompareTest, IntegersHaveNoTolerance) {
  const Payload a = MakePayload<int32_t>(DType::kInt32, {1}, {1000});
  const Payload b = MakePayload<int32_t>(DType::kInt32, {1}, {1001});
  EXPECT_FALSE(Compare(a, b, Tolerance{1, 1}).within());
}

TEST(CompareTest, DtypeAndShapeComeFirst) {
  EXPECT_EQ(Compare(Floats({1}), MakePayload<int32_t>(DType::kInt32, {1}, {1}), {}).kind, "dtype");
  const Payload row = MakePayload<float>(DType::kFloat32, {1, 2}, {1, 2});
  EXPECT_EQ(Compare(row, Floats({1, 2}), {}).kind, "shape");
  EXPECT_FALSE(Compare(row, Floats({1, 2}), Tolerance{1, 1}).within());
}

TEST(CompareTest, ComplexPartsAreCompared) {
  const Payload a = MakePayload<float>(DType::kComplex64, {1}, {1, 2});
  const Payload b = MakePayload<float>(DType::kComplex64, {1}, {1, 2.001F});
  EXPECT_FALSE(Compare(a, b, {}).within());
  EXPECT_TRUE(Compare(a, b, Tolerance{1e-3, 0}).within());
}

TEST(CompareTest, TheSentenceTellsPlaceAndDistance) {
  const Payload a = MakePayload<float>(DType::kFloat32, {2, 2}, {1, 2, 3, 4});
  const Payload b = MakePayload<float>(DType::kFloat32, {2, 2}, {1, 2, 3.5F, 4});
  EXPECT_THAT(Describe(Compare(a, b, {}), a, b),
              HasSubstr("1 of 4 elements differ, the first at [1, 0]: recorded 3, replayed 3.5"));
}

}  // namespace
}  // namespace flowscope::replay
