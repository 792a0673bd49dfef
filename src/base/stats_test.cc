#include "base/stats.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "base/payload_testing.h"

namespace flowscope {
namespace {

template <typename T>
Stats StatsOf(DType dtype, const std::vector<T>& values) {
  return ComputeStats(MakePayload(dtype, values));
}

int64_t HistogramTotal(const Stats& stats) {
  return std::accumulate(stats.histogram.begin(), stats.histogram.end(), int64_t{0});
}

void ExpectSummary(const Stats& stats, double min, double max, double mean, double std,
                   int64_t zeros) {
  EXPECT_TRUE(stats.numeric);
  EXPECT_EQ(stats.min, min);
  EXPECT_EQ(stats.max, max);
  EXPECT_DOUBLE_EQ(stats.mean, mean);
  EXPECT_DOUBLE_EQ(stats.std, std);
  EXPECT_EQ(stats.zeros, zeros);
  EXPECT_EQ(HistogramTotal(stats), stats.finite());
}

void ExpectSame(const Stats& a, const Stats& b) {
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.zeros, b.zeros);
  EXPECT_EQ(a.nan, b.nan);
  EXPECT_EQ(a.pos_inf, b.pos_inf);
  EXPECT_EQ(a.neg_inf, b.neg_inf);
  EXPECT_EQ(a.min, b.min);
  EXPECT_EQ(a.max, b.max);
  EXPECT_EQ(a.mean, b.mean);
  EXPECT_EQ(a.std, b.std);
  EXPECT_EQ(a.histogram, b.histogram);
}

// 0, 2, 4, 6: mean 3, variance (9 + 1 + 1 + 9) / 4 = 5.
template <typename T>
void ExpectStepsOfTwo(DType dtype, const std::vector<T>& codes) {
  SCOPED_TRACE(DTypeName(dtype));
  const Stats stats = StatsOf(dtype, codes);
  EXPECT_EQ(stats.count, 4);
  EXPECT_EQ(stats.nonfinite(), 0);
  ExpectSummary(stats, 0, 6, 3, std::sqrt(5.0), 1);
  EXPECT_EQ(stats.histogram[0], 1);
  EXPECT_EQ(stats.histogram[10], 1);  // 2 / 6 * 32 = 10.7
  EXPECT_EQ(stats.histogram[21], 1);
  EXPECT_EQ(stats.histogram[31], 1);
}

TEST(StatsTest, EveryIntegerDType) {
  ExpectStepsOfTwo<int8_t>(DType::kInt8, {0, 2, 4, 6});
  ExpectStepsOfTwo<uint8_t>(DType::kUint8, {0, 2, 4, 6});
  ExpectStepsOfTwo<int16_t>(DType::kInt16, {0, 2, 4, 6});
  ExpectStepsOfTwo<uint16_t>(DType::kUint16, {0, 2, 4, 6});
  ExpectStepsOfTwo<int32_t>(DType::kInt32, {0, 2, 4, 6});
  ExpectStepsOfTwo<uint32_t>(DType::kUint32, {0, 2, 4, 6});
  ExpectStepsOfTwo<int64_t>(DType::kInt64, {0, 2, 4, 6});
  ExpectStepsOfTwo<uint64_t>(DType::kUint64, {0, 2, 4, 6});
  ExpectStepsOfTwo<int8_t>(DType::kQint8, {0, 2, 4, 6});
  ExpectStepsOfTwo<uint8_t>(DType::kQuint8, {0, 2, 4, 6});
  ExpectStepsOfTwo<int16_t>(DType::kQint16, {0, 2, 4, 6});
  ExpectStepsOfTwo<uint16_t>(DType::kQuint16, {0, 2, 4, 6});
  ExpectStepsOfTwo<int32_t>(DType::kQint32, {0, 2, 4, 6});
  ExpectStepsOfTwo<int8_t>(DType::kInt4, {0, 2, 4, 6});
  ExpectStepsOfTwo<uint8_t>(DType::kUint4, {0, 2, 4, 6});
}

TEST(StatsTest, EveryFloatingDType) {
  ExpectStepsOfTwo<float>(DType::kFloat32, {0, 2, 4, 6});
  ExpectStepsOfTwo<double>(DType::kFloat64, {0, 2, 4, 6});
  ExpectStepsOfTwo<uint16_t>(DType::kFloat16, {0, 0x4000, 0x4400, 0x4600});
  ExpectStepsOfTwo<uint16_t>(DType::kBfloat16, {0, 0x4000, 0x4080, 0x40c0});
  ExpectStepsOfTwo<uint8_t>(DType::kFloat8E5m2, {0, 0x40, 0x44, 0x46});
  ExpectStepsOfTwo<uint8_t>(DType::kFloat8E4m3fn, {0, 0x40, 0x48, 0x4c});
  ExpectStepsOfTwo<uint8_t>(DType::kFloat8E4m3fnuz, {0, 0x48, 0x50, 0x54});
  ExpectStepsOfTwo<uint8_t>(DType::kFloat8E4m3b11fnuz, {0, 0x60, 0x68, 0x6c});
  ExpectStepsOfTwo<uint8_t>(DType::kFloat8E5m2fnuz, {0, 0x44, 0x48, 0x4a});
}

TEST(StatsTest, ComplexCountsByMagnitude) {
  // 0, 2, |4j|, |3.6 + 4.8j|.
  ExpectStepsOfTwo<std::complex<double>>(DType::kComplex128, {0, {-2, 0}, {0, 4}, {3.6, 4.8}});
  ExpectStepsOfTwo<std::complex<float>>(DType::kComplex64, {0, {-2, 0}, {0, 4}, {0, -6}});
}

TEST(StatsTest, TwoBitIntegersAndBool) {
  ExpectSummary(StatsOf<int8_t>(DType::kInt2, {-2, -1, 0, 1}), -2, 1, -0.5, std::sqrt(1.25), 1);
  ExpectSummary(StatsOf<uint8_t>(DType::kUint2, {3, 3}), 3, 3, 3, 0, 0);
  ExpectSummary(StatsOf<uint8_t>(DType::kBool, {1, 0, 1, 1}), 0, 1, 0.75, std::sqrt(0.1875), 1);
}

TEST(StatsTest, DTypesWithoutNumbersHaveACountOnly) {
  const Stats strings = ComputeStats(MakeStrings({3}, {"a", "", "c"}));
  EXPECT_FALSE(strings.numeric);
  EXPECT_EQ(strings.count, 3);
  for (DType dtype : {DType::kResource, DType::kVariant}) {
    Payload payload;
    payload.dtype = dtype;
    payload.dims = {2, 2};
    EXPECT_FALSE(ComputeStats(payload).numeric);
    EXPECT_EQ(ComputeStats(payload).count, 4);
  }
}

TEST(StatsTest, EmptyAndScalar) {
  const Stats empty = ComputeStats(MakePayload<float>(DType::kFloat32, {0, 3}, {}));
  EXPECT_TRUE(empty.numeric);
  EXPECT_EQ(empty.count, 0);
  EXPECT_EQ(empty.min, 0);
  EXPECT_EQ(empty.std, 0);
  EXPECT_EQ(HistogramTotal(empty), 0);
  const Stats empty_bytes = ComputeStats(MakePayload<int8_t>(DType::kInt8, {0}, {}));
  EXPECT_EQ(empty_bytes.count, 0);
  const Stats scalar = ComputeStats(MakePayload<double>(DType::kFloat64, {}, {-2.5}));
  EXPECT_EQ(scalar.count, 1);
  ExpectSummary(scalar, -2.5, -2.5, -2.5, 0, 0);
}

TEST(StatsTest, NonFiniteValuesAreCountedAndLeftOut) {
  const std::vector<double> values = {kNan, 1, kInf, 3, -kInf, kInf, -0.0, -kNan};
  const std::vector<float> floats(values.begin(), values.end());
  for (const Stats& stats : {StatsOf(DType::kFloat64, values), StatsOf(DType::kFloat32, floats)}) {
    EXPECT_EQ(stats.count, 8);
    EXPECT_EQ(stats.nan, 2);
    EXPECT_EQ(stats.pos_inf, 2);
    EXPECT_EQ(stats.neg_inf, 1);
    EXPECT_EQ(stats.finite(), 3);
    ExpectSummary(stats, 0, 3, 4.0 / 3, std::sqrt(14.0 / 9), 1);
    EXPECT_EQ(stats.histogram[0], 1);
    EXPECT_EQ(stats.histogram[10], 1);
    EXPECT_EQ(stats.histogram[31], 1);
  }
}

TEST(StatsTest, NothingFinite) {
  const Stats stats = StatsOf<uint16_t>(DType::kFloat16, {0x7e00, 0xfc00, 0x7c00, 0xfe01});
  EXPECT_EQ(stats.count, 4);
  EXPECT_EQ(stats.nan, 2);
  EXPECT_EQ(stats.pos_inf, 1);
  EXPECT_EQ(stats.neg_inf, 1);
  EXPECT_EQ(stats.min, 0);
  EXPECT_EQ(stats.mean, 0);
  EXPECT_EQ(HistogramTotal(stats), 0);
}

TEST(StatsTest, Float8SpecialCodes) {
  const Stats e5m2 = StatsOf<uint8_t>(DType::kFloat8E5m2, {0x7c, 0xfc, 0x7d, 0xff, 0x3c});
  EXPECT_EQ(e5m2.pos_inf, 1);
  EXPECT_EQ(e5m2.neg_inf, 1);
  EXPECT_EQ(e5m2.nan, 2);
  ExpectSummary(e5m2, 1, 1, 1, 0, 0);
  const Stats fnuz = StatsOf<uint8_t>(DType::kFloat8E4m3fnuz, {0x80, 0x00, 0x7f});
  EXPECT_EQ(fnuz.nan, 1);
  ExpectSummary(fnuz, 0, 240, 120, 120, 1);
}

TEST(StatsTest, ComplexIsJudgedByEitherPart) {
  const std::vector<std::complex<double>> values = {{kNan, kInf},  {kInf, 0}, {1, -kInf},
                                                    {-kInf, kInf}, {0, -0.0}, {3, 4}};
  const std::vector<std::complex<float>> floats(values.begin(), values.end());
  for (const Stats& stats :
       {StatsOf(DType::kComplex128, values), StatsOf(DType::kComplex64, floats)}) {
    EXPECT_EQ(stats.count, 6);
    EXPECT_EQ(stats.nan, 1);
    EXPECT_EQ(stats.pos_inf, 1);
    EXPECT_EQ(stats.neg_inf, 2);
    ExpectSummary(stats, 0, 5, 2.5, 2.5, 1);
  }
}

TEST(StatsTest, IntegersAtTheirExtremes) {
  ExpectSummary(StatsOf<int64_t>(DType::kInt64, {INT64_MIN, INT64_MAX}), -0x1p63, 0x1p63, 0, 0x1p63,
                0);
  ExpectSummary(StatsOf<uint64_t>(DType::kUint64, {0, UINT64_MAX}), 0, 0x1p64, 0x1p63, 0x1p63, 1);
  ExpectSummary(StatsOf<int32_t>(DType::kInt32, {INT32_MIN, INT32_MAX}), -0x1p31, 0x1p31 - 1, -0.5,
                0x1p31 - 0.5, 0);
  ExpectSummary(StatsOf<int8_t>(DType::kInt8, {-128, 127}), -128, 127, -0.5, 127.5, 0);
}

TEST(StatsTest, LargestFloatsDoNotOverflow) {
  const double huge = std::numeric_limits<double>::max();
  const Stats wide = StatsOf<double>(DType::kFloat64, {huge, -huge});
  ExpectSummary(wide, -huge, huge, 0, huge, 0);
  EXPECT_EQ(wide.histogram[0], 1);
  EXPECT_EQ(wide.histogram[31], 1);
  ExpectSummary(StatsOf<double>(DType::kFloat64, {huge, huge, huge}), huge, huge, huge, 0, 0);
  const float huge_float = std::numeric_limits<float>::max();
  ExpectSummary(StatsOf<float>(DType::kFloat32, {huge_float, -huge_float}), -huge_float, huge_float,
                0, huge_float, 0);
  const Stats with_nan = StatsOf<double>(DType::kFloat64, {huge, kNan, -huge, kInf});
  EXPECT_EQ(with_nan.nan, 1);
  EXPECT_EQ(with_nan.pos_inf, 1);
  ExpectSummary(with_nan, -huge, huge, 0, huge, 0);
}

TEST(StatsTest, MagnitudeBeyondDoubleIsTheLargestDouble) {
  const double huge = std::numeric_limits<double>::max();
  const Stats stats = StatsOf<std::complex<double>>(DType::kComplex128, {{huge, huge}});
  EXPECT_EQ(stats.nonfinite(), 0);
  EXPECT_EQ(stats.max, huge);
}

TEST(StatsTest, DenormalsKeepTheirMeanAndDeviation) {
  const Stats wide = StatsOf<double>(DType::kFloat64, {0x1p-1060, 0x3p-1060});
  ExpectSummary(wide, 0x1p-1060, 0x3p-1060, 0x1p-1059, 0x1p-1060, 0);
  EXPECT_EQ(wide.histogram[0], 1);
  EXPECT_EQ(wide.histogram[31], 1);
  ExpectSummary(StatsOf<float>(DType::kFloat32, {0x1p-149f, 0x3p-149f}), 0x1p-149, 0x3p-149,
                0x1p-148, 0x1p-149, 0);
  ExpectSummary(StatsOf<uint16_t>(DType::kFloat16, {1, 3}), 0x1p-24, 0x3p-24, 0x1p-23, 0x1p-24, 0);
  ExpectSummary(StatsOf<uint16_t>(DType::kBfloat16, {1, 3}), 0x1p-133, 0x3p-133, 0x1p-132, 0x1p-133,
                0);
}

TEST(StatsTest, SpreadSmallAgainstTheMeanIsNotLost) {
  std::vector<double> values;
  for (int i = 0; i < 100000; ++i) values.push_back(1e9 + (i % 2 == 0 ? 0.25 : -0.25));
  const Stats stats = StatsOf(DType::kFloat64, values);
  EXPECT_DOUBLE_EQ(stats.mean, 1e9);
  EXPECT_NEAR(stats.std, 0.25, 1e-9);
}

TEST(StatsTest, EqualValuesHaveNoDeviation) {
  const Stats stats = StatsOf(DType::kFloat32, std::vector<float>(300001, 0.1f));
  EXPECT_EQ(stats.mean, static_cast<double>(0.1f));
  EXPECT_EQ(stats.std, 0);
  EXPECT_EQ(stats.histogram[0], 300001);
}

// A first chunk of one size and the rest of another: the pivot of each is its own.
TEST(StatsTest, OneOutlierDoesNotSpoilTheRest) {
  std::vector<float> values(4096, 1.0f);
  values[0] = 1e12f;
  const Stats stats = StatsOf(DType::kFloat32, values);
  const double outlier = static_cast<double>(1e12f);
  EXPECT_NEAR(stats.mean, (outlier + 4095) / 4096, 1e-3);
  EXPECT_NEAR(stats.std / ((outlier - 1) / 64), std::sqrt(4095.0 / 4096), 1e-9);
}

struct Reference {
  double mean;
  double std;
};

Reference LongReference(const std::vector<float>& values) {
  long double sum = 0, squares = 0;
  for (float value : values) sum += value;
  const long double mean = sum / static_cast<long double>(values.size());
  for (float value : values) squares += (value - mean) * (value - mean);
  return {static_cast<double>(mean),
          static_cast<double>(std::sqrt(squares / static_cast<long double>(values.size())))};
}

TEST(StatsTest, AgreesWithATwoPassReferenceOnEverySize) {
  for (size_t n : {1u, 2u, 7u, 9u, 2047u, 2048u, 2049u, 5000u, 131072u, 131073u, 300000u}) {
    SCOPED_TRACE(n);
    const std::vector<double> normal = NormalValues(n, 3, 2);
    const std::vector<float> values(normal.begin(), normal.end());
    const Reference expected = LongReference(values);
    const Stats stats = StatsOf(DType::kFloat32, values);
    EXPECT_NEAR(stats.mean, expected.mean, 1e-13 * std::abs(expected.mean));
    EXPECT_NEAR(stats.std, expected.std, 1e-13 * expected.std + 1e-15);
    EXPECT_EQ(stats.min, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(stats.max, *std::max_element(values.begin(), values.end()));
    EXPECT_EQ(HistogramTotal(stats), static_cast<int64_t>(n));
  }
}

// Enough for several threads, with special values here and there.
template <typename T>
Payload LargePayload(DType dtype) {
  const std::vector<double> normal = NormalValues((size_t{6} << 20) / sizeof(T) + 4321, 1, 5);
  std::vector<T> values(normal.begin(), normal.end());
  for (size_t i = 700000; i < values.size(); i += 33333) values[i] = static_cast<T>(kNan);
  for (size_t i = 12345; i < values.size(); i += 77777) values[i] = static_cast<T>(-kInf);
  return MakePayload(dtype, values);
}

TEST(StatsTest, ThreadsDoNotChangeTheResult) {
  const Payload floats = LargePayload<float>(DType::kFloat32);
  const Payload doubles = LargePayload<double>(DType::kFloat64);
  Payload halves = floats;  // the same bytes read as other dtypes
  halves.dtype = DType::kFloat16;
  halves.dims = {static_cast<int64_t>(halves.nbytes / 2)};
  Payload bytes = floats;
  bytes.dtype = DType::kFloat8E5m2;
  bytes.dims = {static_cast<int64_t>(bytes.nbytes)};
  for (const Payload& payload : {floats, doubles, halves, bytes}) {
    SCOPED_TRACE(DTypeName(payload.dtype));
    const Stats one = ComputeStats(payload, 1);
    EXPECT_GT(one.nonfinite(), 0);
    EXPECT_EQ(HistogramTotal(one), one.finite());
    for (int threads : {0, 2, 3, 8}) ExpectSame(ComputeStats(payload, threads), one);
  }
}

TEST(StatsTest, MisalignedMemoryGivesTheSame) {
  const Payload payloads[] = {
      MakePayload<float>(DType::kFloat32, {1, 2, -3, 0}),
      MakePayload<double>(DType::kFloat64, {1, kNan, -3, 0}),
      MakePayload<uint16_t>(DType::kBfloat16, {0x3f80, 0x4000, 0x7f80}),
      MakePayload<int64_t>(DType::kInt64, {1, 2, INT64_MIN}),
      MakePayload<std::complex<float>>(DType::kComplex64, {{1, 2}, {3, 4}}),
  };
  for (const Payload& payload : payloads) {
    ExpectSame(ComputeStats(Misaligned(payload, 1)), ComputeStats(payload));
  }
}

TEST(StatsTest, HistogramOnlyWhenAskedFor) {
  const Payload payload = MakePayload<float>(DType::kFloat32, {1, 2, 3});
  const Stats without = ComputeStats(payload, 0, false);
  EXPECT_EQ(HistogramTotal(without), 0);
  EXPECT_EQ(without.mean, 2);
  const Payload bytes = MakePayload<int8_t>(DType::kInt8, {1, 2, 3});
  EXPECT_EQ(HistogramTotal(ComputeStats(bytes, 0, false)), 0);
}

TEST(StatsTest, NeverReadsBeyondTheBytesThatAreThere) {
  Payload payload = MakePayload<float>(DType::kFloat32, {1, 2, 3});
  payload.dims = {1000000};
  EXPECT_EQ(ComputeStats(payload).count, 3);
  payload.data = nullptr;
  EXPECT_EQ(ComputeStats(payload).count, 0);
  EXPECT_EQ(FirstNonFinite(payload), std::nullopt);
}

#if defined(__SSE2__)
// As TensorFlow's threads run: denormals flushed to zero on both sides.
TEST(StatsTest, AThreadThatFlushesDenormalsGetsTheSame) {
  const Payload floats = MakePayload<float>(DType::kFloat32, {0x1p-149f, 0x3p-149f, 0});
  const Payload halves = MakePayload<uint16_t>(DType::kFloat16, {1, 3, 0});
  const Stats floats_before = ComputeStats(floats);
  const Stats halves_before = ComputeStats(halves);
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040);
  const Stats floats_flushed = ComputeStats(floats);
  const Stats halves_flushed = ComputeStats(halves);
  const std::string element = FormatElement(floats, 0);
  const std::string glance = Glance(floats);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(saved);
  EXPECT_EQ(after & 0x8040, 0x8040u);
  EXPECT_EQ(floats_flushed.zeros, 1);
  ExpectSame(floats_flushed, floats_before);
  ExpectSame(halves_flushed, halves_before);
  EXPECT_EQ(element, "1e-45");
  EXPECT_EQ(glance, "f32[3] [1.401e-45, 4.204e-45, 0]");
}
#endif

}  // namespace
}  // namespace flowscope
