#include "capture/compiled_difference.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/payload_testing.h"

namespace flowscope::capture {
namespace {

CompiledDifference Difference(const std::vector<float>& a, const std::vector<float>& b) {
  const Result<CompiledDifference> found =
      Compare(MakePayload(DType::kFloat32, a), MakePayload(DType::kFloat32, b));
  EXPECT_TRUE(found.ok());
  return found.ok() ? *found : CompiledDifference();
}

TEST(CompiledDifferenceTest, EqualBitsDifferInNothing) {
  const CompiledDifference same = Difference({1, kFloatNan, -2}, {1, kFloatNan, -2});
  EXPECT_EQ(same.num_elements, 3u);
  EXPECT_EQ(same.num_different, 0u);
  EXPECT_EQ(same.max_abs, 0);
}

TEST(CompiledDifferenceTest, TellsTheLargestDifference) {
  const CompiledDifference found = Difference({1, 2, 100}, {1, 2.5, 101});
  EXPECT_EQ(found.num_different, 2u);
  EXPECT_EQ(found.max_abs, 1);
  EXPECT_DOUBLE_EQ(found.max_rel, 0.2);
}

TEST(CompiledDifferenceTest, ZerosOfBothSignsDifferInBitsOnly) {
  const CompiledDifference found = Difference({0}, {-0.f});
  EXPECT_EQ(found.num_different, 1u);
  EXPECT_EQ(found.max_abs, 0);
}

TEST(CompiledDifferenceTest, ANanOnOneSideIsANan) {
  const CompiledDifference found = Difference({1, kFloatNan, 3}, {2, 1, 3});
  EXPECT_EQ(found.num_different, 2u);
  EXPECT_TRUE(std::isnan(found.max_abs));
}

TEST(CompiledDifferenceTest, AnotherShapeIsNoComparison) {
  const std::vector<float> values = {1, 2};
  EXPECT_FALSE(Compare(MakePayload(DType::kFloat32, {2}, values),
                       MakePayload(DType::kFloat32, {1, 2}, values))
                   .ok());
}

}  // namespace
}  // namespace flowscope::capture
