#include "base/histogram.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/payload_testing.h"

namespace flowscope {
namespace {

TEST(HistogramTest, BinsAreEqualAndTheLastTakesTheMaximum) {
  const BinRule rule = MakeBinRule(0, 64);
  EXPECT_EQ(BinOf(0, rule), 0u);
  EXPECT_EQ(BinOf(1.99, rule), 0u);
  EXPECT_EQ(BinOf(2, rule), 1u);
  EXPECT_EQ(BinOf(63, rule), 31u);
  EXPECT_EQ(BinOf(64, rule), 31u);
}

TEST(HistogramTest, NegativeRange) {
  const BinRule rule = MakeBinRule(-32, 0);
  EXPECT_EQ(BinOf(-32, rule), 0u);
  EXPECT_EQ(BinOf(-0.5, rule), 31u);
  EXPECT_EQ(BinOf(-16, rule), 16u);
}

TEST(HistogramTest, RangesAtTheEdgeOfDouble) {
  const double huge = std::numeric_limits<double>::max();
  const BinRule wide = MakeBinRule(-huge, huge);
  EXPECT_EQ(BinOf(-huge, wide), 0u);
  EXPECT_EQ(BinOf(0, wide), 16u);
  EXPECT_EQ(BinOf(huge, wide), 31u);
  const BinRule narrow = MakeBinRule(0, 0x20p-1074);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(BinOf(i * 0x1p-1074, narrow), static_cast<size_t>(i));
}

TEST(HistogramTest, OneValueIsInTheFirstBin) {
  for (double value : {0.0, -3.5, 1e308, 5e-324}) {
    EXPECT_EQ(BinOf(value, MakeBinRule(value, value)), 0u) << value;
  }
}

TEST(HistogramTest, CountsAreRightForEverySize) {
  for (size_t n : {0u, 1u, 3u, 4u, 5u, 63u, 2048u}) {
    std::vector<int32_t> bins(n);
    for (size_t i = 0; i < n; ++i) bins[i] = static_cast<int32_t>(i % 5);
    BinCounts counts{};
    CountBins(bins.data(), n, {}, counts);
    for (size_t bin = 0; bin < counts.size(); ++bin) {
      const size_t expected = bin < 5 ? n / 5 + (n % 5 > bin ? 1 : 0) : 0;
      EXPECT_EQ(counts[bin], static_cast<int64_t>(expected)) << n << " " << bin;
    }
  }
}

// Bin k of [0, 31 + 1) holds the whole number k.
TEST(HistogramTest, NonFiniteValuesAreInNoBin) {
  std::vector<float> values;
  for (int i = 0; i <= 32; ++i) values.push_back(static_cast<float>(i));
  for (int i = 0; i < 5; ++i) values.push_back(std::numeric_limits<float>::quiet_NaN());
  for (int i = 0; i < 3; ++i) values.push_back(std::numeric_limits<float>::infinity());
  for (int i = 0; i < 2; ++i) values.push_back(-std::numeric_limits<float>::infinity());
  const Stats stats = ComputeStats(MakePayload(DType::kFloat32, values));
  for (size_t bin = 0; bin < 31; ++bin) EXPECT_EQ(stats.histogram[bin], 1) << bin;
  EXPECT_EQ(stats.histogram[31], 2);  // 31 and 32
}

}  // namespace
}  // namespace flowscope
