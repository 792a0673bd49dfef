#include <complex>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/payload_testing.h"
#include "base/stats.h"

namespace flowscope {
namespace {

TEST(GlanceTest, TinyTensorsShowTheirValues) {
  EXPECT_EQ(Glance(MakePayload<float>(DType::kFloat32, {}, {3})), "f32[] 3");
  EXPECT_EQ(Glance(MakePayload<float>(DType::kFloat32, {3}, {1, kFloatNan, -kFloatInf})),
            "f32[3] [1, nan, -inf]");
  EXPECT_EQ(Glance(MakePayload<double>(DType::kFloat64, {2, 2}, {1.23456789, 0, -1e-7, 12345.6})),
            "f64[2,2] [[1.235, 0], [-1e-07, 1.235e+04]]");
  EXPECT_EQ(Glance(MakePayload<int64_t>(DType::kInt64, {1}, {INT64_MIN})),
            "i64[1] [-9223372036854775808]");
  EXPECT_EQ(Glance(MakePayload<uint8_t>(DType::kBool, {2}, {1, 0})), "bool[2] [True, False]");
  EXPECT_EQ(Glance(MakePayload<std::complex<float>>(DType::kComplex64, {1}, {{1, -2}})),
            "c64[1] [(1-2j)]");
}

TEST(GlanceTest, LargerTensorsShowStatistics) {
  // 0 to 8: mean 4, variance 60 / 9.
  std::vector<float> values(9);
  std::iota(values.begin(), values.end(), 0.0f);
  EXPECT_EQ(Glance(MakePayload(DType::kFloat32, {3, 3}, values)),
            "f32[3,3] min=0 max=8 mean=4 std=2.582 zeros=1/9");
  values[4] = kFloatNan;  // mean 4 still, variance 60 / 8
  values[0] = kFloatInf;  // 1 2 3 5 6 7 8: mean 32 / 7
  EXPECT_EQ(Glance(MakePayload(DType::kFloat32, {9}, values)),
            "f32[9] min=1 max=8 mean=4.571 std=2.441 zeros=0/9 NaN=1 +Inf=1 -Inf=0");
}

TEST(GlanceTest, IntegersShowWholeExtremes) {
  std::vector<int32_t> values(10, 0);
  values[3] = 123456789;
  EXPECT_EQ(Glance(MakePayload(DType::kInt32, {10}, values)),
            "i32[10] min=0 max=123456789 mean=1.235e+07 std=3.704e+07 zeros=9/10");
}

TEST(GlanceTest, NothingFinite) {
  EXPECT_EQ(Glance(MakePayload(DType::kFloat32, {9}, std::vector<float>(9, kFloatNan))),
            "f32[9] no finite value NaN=9 +Inf=0 -Inf=0");
}

TEST(GlanceTest, EmptyTensors) {
  EXPECT_EQ(Glance(MakePayload<float>(DType::kFloat32, {0, 4}, {})), "f32[0,4] empty");
  EXPECT_EQ(Glance(MakeStrings({0}, {})), "str[0] empty");
}

TEST(GlanceTest, StringsShowTheFirstFew) {
  EXPECT_EQ(Glance(MakeStrings({}, {"cat"})), "str[] b'cat'");
  EXPECT_EQ(Glance(MakeStrings({3}, {"a", "b", "c"})), "str[3] [b'a', b'b', b'c']");
  EXPECT_EQ(Glance(MakeStrings({2, 2}, {"a", "b", "c", "d"})), "str[2,2] [b'a', b'b', b'c', ...]");
  EXPECT_EQ(Glance(MakeStrings({1}, {std::string(30, 'x')})),
            "str[1] [b'" + std::string(24, 'x') + "'... (30 bytes)]");
}

TEST(GlanceTest, WhatHasNoBytesShowsDTypeAndShape) {
  Payload payload;
  payload.dtype = DType::kResource;
  EXPECT_EQ(Glance(payload), "resource[]");
  payload.dtype = DType::kVariant;
  payload.dims = {2};
  EXPECT_EQ(Glance(payload), "variant[2]");
  payload.dtype = DType::kFloat32;
  EXPECT_EQ(Glance(payload), "f32[2] not held");
}

}  // namespace
}  // namespace flowscope
