#include "base/chunk_kernels.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/float_formats.h"
#include "base/payload_testing.h"

namespace flowscope {
namespace {

// Sizes around the number of accumulators, up to the largest.
const size_t kSizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 100, 2047, kChunkElements};

// Small whole numbers, whose sums are exact in any order.
template <typename T>
std::vector<T> Whole(size_t n) {
  std::vector<T> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = static_cast<T>(static_cast<int>(i * 37 % 11) - 5);
  return values;
}

template <typename T>
ChunkSums ExpectedSums(const std::vector<T>& values, double pivot) {
  ChunkSums sums;
  for (T value : values) {
    if (!std::isfinite(value)) continue;
    const double v = static_cast<double>(value);
    sums.sum += v - pivot;
    sums.squares += (v - pivot) * (v - pivot);
    sums.min = std::min(sums.min, v);
    sums.max = std::max(sums.max, v);
    sums.zeros += v == 0 ? 1 : 0;
  }
  return sums;
}

void ExpectEqual(const ChunkSums& actual, const ChunkSums& expected) {
  EXPECT_EQ(actual.sum, expected.sum);
  EXPECT_EQ(actual.squares, expected.squares);
  EXPECT_EQ(actual.min, expected.min);
  EXPECT_EQ(actual.max, expected.max);
  EXPECT_EQ(actual.zeros, expected.zeros);
}

template <typename T>
class SumTest : public testing::Test {};
using SumTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(SumTest, SumTypes);

TYPED_TEST(SumTest, SumsOfEverySizeAreExactOnWholeNumbers) {
  for (size_t n : kSizes) {
    SCOPED_TRACE(n);
    const std::vector<TypeParam> values = Whole<TypeParam>(n);
    const ChunkSums expected = ExpectedSums(values, 2);
    ExpectEqual(SumChunk(values.data(), n, 2, {}), expected);
    ExpectEqual(SumFinite(values.data(), n, 2, {}), expected);
  }
}

TYPED_TEST(SumTest, OneNonFiniteValueAnywhereShowsInTheSum) {
  for (size_t n : kSizes) {
    for (float special : {kFloatInf, -kFloatInf, kFloatNan}) {
      std::vector<TypeParam> values = Whole<TypeParam>(n);
      values[n - 1] = static_cast<TypeParam>(special);
      EXPECT_FALSE(std::isfinite(SumChunk(values.data(), n, 1, {}).sum)) << n;
    }
  }
}

TYPED_TEST(SumTest, SumFiniteLeavesOutWhatIsNotFinite) {
  for (size_t n : kSizes) {
    if (n < 8) continue;
    SCOPED_TRACE(n);
    std::vector<TypeParam> values = Whole<TypeParam>(n);
    values[1] = static_cast<TypeParam>(kFloatInf);
    values[n / 2] = static_cast<TypeParam>(-kFloatInf);
    values[n - 1] = static_cast<TypeParam>(kFloatNan);
    const double pivot = static_cast<double>(values[2]);
    ExpectEqual(SumFinite(values.data(), n, pivot, {}), ExpectedSums(values, pivot));
  }
}

TYPED_TEST(SumTest, MinusZeroIsAZero) {
  const std::vector<TypeParam> values = {0, -TypeParam{0}, 1};
  EXPECT_EQ(SumChunk(values.data(), 3, 0, {}).zeros, 2);
  EXPECT_EQ(SumFinite(values.data(), 3, 0, {}).zeros, 2);
}

TYPED_TEST(SumTest, DenormalsAreNotZeros) {
  const TypeParam tiny = std::numeric_limits<TypeParam>::denorm_min();
  const std::vector<TypeParam> values = {tiny, -tiny, 0};
  const ChunkSums sums = SumChunk(values.data(), 3, 0, {});
  EXPECT_EQ(sums.zeros, 1);
  EXPECT_EQ(sums.max, static_cast<double>(tiny));
  EXPECT_EQ(sums.min, -static_cast<double>(tiny));
}

template <typename F>
class ScanTest : public testing::Test {
 protected:
  using Raw = typename F::Raw;
  using Bits = typename F::Bits;
  static Raw Make(Bits bits) { return std::bit_cast<Raw>(bits); }
};
using ScanTypes = testing::Types<Float32Raw, Float64Raw, Float16Raw, Bfloat16Raw>;
TYPED_TEST_SUITE(ScanTest, ScanTypes);

TYPED_TEST(ScanTest, FindsTheOneSpecialValueAtEveryPlace) {
  using Bits = typename TypeParam::Bits;
  const Bits inf = TypeParam::kInf;
  const Bits specials[] = {inf, static_cast<Bits>(inf | TypeParam::kSign),
                           static_cast<Bits>(inf + 1), static_cast<Bits>(~Bits{0})};
  // The largest finite number of either sign is nearest to being taken for infinite.
  const Bits finite = static_cast<Bits>((inf - 1) | TypeParam::kSign);
  for (size_t n : kSizes) {
    std::vector<typename TypeParam::Raw> values(n, this->Make(finite));
    EXPECT_FALSE(AnyNonFinite(TypeParam{}, values.data(), n));
    const size_t step = n > 64 ? 61 : 1;
    for (size_t place = 0; place < n; place += step) {
      values[place] = this->Make(specials[place % 4]);
      EXPECT_TRUE(AnyNonFinite(TypeParam{}, values.data(), n)) << place << " of " << n;
      values[place] = this->Make(finite);
    }
  }
}

TYPED_TEST(ScanTest, CountsEveryKind) {
  using Bits = typename TypeParam::Bits;
  const Bits inf = TypeParam::kInf;
  const Bits codes[] = {0,
                        inf,
                        static_cast<Bits>(inf | TypeParam::kSign),
                        static_cast<Bits>(inf + 1),
                        static_cast<Bits>(~Bits{0}),
                        static_cast<Bits>(inf - 1),
                        TypeParam::kSign};
  std::vector<typename TypeParam::Raw> values;
  for (size_t i = 0; i < 2044; ++i) values.push_back(this->Make(codes[i % 7]));  // 292 of each
  EXPECT_EQ(CountChunk(TypeParam{}, values.data(), values.size()),
            (NonFiniteCounts{584, 292, 292}));
  EXPECT_EQ(CountChunk(TypeParam{}, values.data(), 0), NonFiniteCounts{});
}

TYPED_TEST(ScanTest, CountsAChunkFullOfNan) {
  const std::vector<typename TypeParam::Raw> values(
      kChunkElements, this->Make(static_cast<typename TypeParam::Bits>(TypeParam::kInf + 1)));
  EXPECT_EQ(CountChunk(TypeParam{}, values.data(), values.size()),
            (NonFiniteCounts{kChunkElements, 0, 0}));
}

template <typename F>
void ExpectWidensLikeDecode(DType dtype) {
  std::vector<uint16_t> codes(kChunkElements);
  std::vector<float> wide(kChunkElements);
  for (size_t first = 0; first < 0x10000; first += kChunkElements) {
    for (size_t i = 0; i < kChunkElements; ++i) codes[i] = static_cast<uint16_t>(first + i);
    Widen(F{}, codes.data(), codes.size(), wide.data());
    for (size_t i = 0; i < kChunkElements; ++i) {
      const double expected = DecodeFloat(FloatFormatOf(dtype), codes[i]);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(wide[i])) << codes[i];
      } else {
        ASSERT_EQ(static_cast<double>(wide[i]), expected) << codes[i];
        ASSERT_EQ(std::signbit(wide[i]), std::signbit(expected)) << codes[i];
      }
    }
  }
}

TEST(WidenTest, EveryHalf) { ExpectWidensLikeDecode<Float16Raw>(DType::kFloat16); }
TEST(WidenTest, EveryBfloat16) { ExpectWidensLikeDecode<Bfloat16Raw>(DType::kBfloat16); }

template <typename T, typename Wide>
void ExpectWidens(const std::vector<T>& values, const std::vector<Wide>& expected) {
  std::vector<Wide> wide(values.size());
  Widen(values.data(), values.size(), wide.data());
  EXPECT_EQ(wide, expected);
}

TEST(WidenTest, IntegersAtTheirExtremes) {
  ExpectWidens<int16_t, float>({-32768, -1, 0, 32767}, {-32768, -1, 0, 32767});
  ExpectWidens<uint16_t, float>({0, 65535}, {0, 65535});
  ExpectWidens<int32_t, double>({INT32_MIN, INT32_MAX}, {-0x1p31, 0x1p31 - 1});
  ExpectWidens<uint32_t, double>({0, UINT32_MAX}, {0, 0x1p32 - 1});
  ExpectWidens<int64_t, double>({INT64_MIN, INT64_MAX, 1}, {-0x1p63, 0x1p63, 1});
  ExpectWidens<uint64_t, double>({0, UINT64_MAX, uint64_t{1} << 63}, {0, 0x1p64, 0x1p63});
}

TEST(FindBinsTest, ValuesFallWhereTheRuleSays) {
  const BinRule rule = {1, -1, 2, 3};  // four bins over [-1, 1]
  const std::vector<double> values = {-1, -0.75, -0.5, 0, 0.49, 0.5, 0.99, 1};
  std::vector<int32_t> bins(values.size());
  FindBins(values.data(), values.size(), rule, bins.data());
  EXPECT_EQ(bins, (std::vector<int32_t>{0, 0, 1, 2, 2, 3, 3, 3}));
}

TEST(FindBinsTest, NonFiniteValuesFallInTheOuterBins) {
  const BinRule rule = {1, 0, 1, 3};
  const std::vector<float> values = {kFloatNan, kFloatInf, -kFloatInf, 1};
  std::vector<int32_t> bins(values.size());
  FindBins(values.data(), values.size(), rule, bins.data());
  EXPECT_EQ(bins, (std::vector<int32_t>{3, 3, 0, 1}));
}

}  // namespace
}  // namespace flowscope
