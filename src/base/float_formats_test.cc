#include "base/float_formats.h"

#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "base/payload_testing.h"

namespace flowscope {
namespace {

double Decode(DType dtype, uint64_t bits) { return DecodeFloat(FloatFormatOf(dtype), bits); }

FloatClass Classify(DType dtype, uint64_t bits) {
  return ClassifyFloat(FloatFormatOf(dtype), bits);
}

struct Code {
  DType dtype;
  uint64_t bits;
  double value;
};

// Worked out from the definitions of the formats.
const Code kCodes[] = {
    {DType::kFloat16, 0x3c00, 1.0},
    {DType::kFloat16, 0xc000, -2.0},
    {DType::kFloat16, 0x7bff, 65504.0},
    {DType::kFloat16, 0x0001, 0x1p-24},
    {DType::kFloat16, 0x03ff, 0x3ffp-24},
    {DType::kFloat16, 0x0400, 0x1p-14},
    {DType::kFloat16, 0x7c00, kInf},
    {DType::kFloat16, 0xfc00, -kInf},
    {DType::kBfloat16, 0x3f80, 1.0},
    {DType::kBfloat16, 0xbfc0, -1.5},
    {DType::kBfloat16, 0x7f7f, 0xffp120},
    {DType::kBfloat16, 0x0001, 0x1p-133},
    {DType::kBfloat16, 0x7f80, kInf},
    {DType::kFloat32, 0x3f800000, 1.0},
    {DType::kFloat32, 0x00000001, 0x1p-149},
    {DType::kFloat32, 0x7f7fffff, 0xffffffp104},
    {DType::kFloat32, 0xff800000, -kInf},
    {DType::kFloat64, 0x3ff0000000000000, 1.0},
    {DType::kFloat64, 0x0000000000000001, 0x1p-1074},
    {DType::kFloat64, 0xfff0000000000000, -kInf},
    {DType::kFloat8E5m2, 0x3c, 1.0},
    {DType::kFloat8E5m2, 0x7b, 57344.0},
    {DType::kFloat8E5m2, 0x01, 0x1p-16},
    {DType::kFloat8E5m2, 0x7c, kInf},
    {DType::kFloat8E5m2, 0xfc, -kInf},
    {DType::kFloat8E4m3fn, 0x38, 1.0},
    {DType::kFloat8E4m3fn, 0x7e, 448.0},
    {DType::kFloat8E4m3fn, 0xfe, -448.0},
    {DType::kFloat8E4m3fn, 0x01, 0x1p-9},
    {DType::kFloat8E4m3fnuz, 0x40, 1.0},
    {DType::kFloat8E4m3fnuz, 0x7f, 240.0},
    {DType::kFloat8E4m3fnuz, 0x01, 0x1p-10},
    {DType::kFloat8E4m3b11fnuz, 0x58, 1.0},
    {DType::kFloat8E4m3b11fnuz, 0x7f, 30.0},
    {DType::kFloat8E4m3b11fnuz, 0x01, 0x1p-13},
    {DType::kFloat8E5m2fnuz, 0x40, 1.0},
    {DType::kFloat8E5m2fnuz, 0x7f, 57344.0},
    {DType::kFloat8E5m2fnuz, 0xff, -57344.0},
    {DType::kFloat8E5m2fnuz, 0x01, 0x1p-17},
};

TEST(FloatFormatsTest, KnownCodesHaveTheirValues) {
  for (const Code& code : kCodes) {
    SCOPED_TRACE(testing::Message() << DTypeName(code.dtype) << " 0x" << std::hex << code.bits);
    EXPECT_EQ(Decode(code.dtype, code.bits), code.value);
    const FloatClass expected = code.value == kInf    ? FloatClass::kPosInf
                                : code.value == -kInf ? FloatClass::kNegInf
                                                      : FloatClass::kFinite;
    EXPECT_EQ(Classify(code.dtype, code.bits), expected);
  }
}

TEST(FloatFormatsTest, ZerosKeepTheirSign) {
  for (DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64,
                      DType::kFloat8E5m2, DType::kFloat8E4m3fn}) {
    const uint64_t sign = FloatFormatOf(dtype).sign_mask();
    EXPECT_EQ(Decode(dtype, 0), 0.0);
    EXPECT_EQ(Decode(dtype, sign), 0.0);
    EXPECT_FALSE(std::signbit(Decode(dtype, 0)));
    EXPECT_TRUE(std::signbit(Decode(dtype, sign)));
  }
}

struct SpecialCounts {
  DType dtype;
  int codes;
  int nan;
  int inf;
};

TEST(FloatFormatsTest, EveryFormatHasItsNumberOfSpecialCodes) {
  const SpecialCounts kRows[] = {
      {DType::kFloat16, 65536, 2 * 1023, 2}, {DType::kBfloat16, 65536, 2 * 127, 2},
      {DType::kFloat8E5m2, 256, 6, 2},       {DType::kFloat8E4m3fn, 256, 2, 0},
      {DType::kFloat8E4m3fnuz, 256, 1, 0},   {DType::kFloat8E4m3b11fnuz, 256, 1, 0},
      {DType::kFloat8E5m2fnuz, 256, 1, 0},
  };
  for (const SpecialCounts& row : kRows) {
    SCOPED_TRACE(DTypeName(row.dtype));
    int nan = 0, inf = 0;
    for (int code = 0; code < row.codes; ++code) {
      const FloatClass float_class = Classify(row.dtype, static_cast<uint64_t>(code));
      const double value = Decode(row.dtype, static_cast<uint64_t>(code));
      EXPECT_EQ(float_class == FloatClass::kNan, std::isnan(value));
      EXPECT_EQ(float_class == FloatClass::kFinite, std::isfinite(value));
      nan += float_class == FloatClass::kNan ? 1 : 0;
      inf += std::isinf(value) ? 1 : 0;
    }
    EXPECT_EQ(nan, row.nan);
    EXPECT_EQ(inf, row.inf);
  }
}

// The definition once more, by powers of two from the library.
TEST(FloatFormatsTest, HalfAgreesWithItsDefinitionOnEveryCode) {
  for (uint32_t code = 0; code < 0x7c00; ++code) {
    const int exponent = static_cast<int>(code >> 10);
    const double mantissa = code & 0x3ff;
    const double expected =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    ASSERT_EQ(Decode(DType::kFloat16, code), expected) << code;
    ASSERT_EQ(Decode(DType::kFloat16, code | 0x8000), -expected) << code;
  }
}

TEST(FloatFormatsTest, Bfloat16IsTheUpperHalfOfAFloat) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const float expected = std::bit_cast<float>(code << 16);
    if (std::isnan(expected)) continue;
    ASSERT_EQ(Decode(DType::kBfloat16, code), static_cast<double>(expected)) << code;
  }
}

TEST(FloatFormatsTest, ByteValuesOfFloat8AreTheirDecodedCodes) {
  for (DType dtype : {DType::kFloat8E5m2, DType::kFloat8E4m3fn, DType::kFloat8E4m3fnuz,
                      DType::kFloat8E4m3b11fnuz, DType::kFloat8E5m2fnuz}) {
    for (uint64_t code = 0; code < 256; ++code) {
      const double value = Decode(dtype, code);
      EXPECT_TRUE(ByteValues(dtype)[code] == value ||
                  (std::isnan(value) && std::isnan(ByteValues(dtype)[code])));
    }
  }
}

TEST(FloatFormatsTest, Float4HasEightMagnitudesAndNoSpecials) {
  const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const FloatFormat format = FloatFormatOf(DType::kFloat4E2m1fn);
  for (uint64_t code = 0; code < 256; ++code) {
    const double sign = (code & 8) != 0 ? -1.0 : 1.0;
    EXPECT_EQ(ByteValues(DType::kFloat4E2m1fn)[code], sign * magnitudes[code & 7]);
    EXPECT_EQ(ClassifyFloat(format, code), FloatClass::kFinite);
  }
  EXPECT_TRUE(std::signbit(ByteValues(DType::kFloat4E2m1fn)[8]));
}

TEST(FloatFormatsTest, ByteValuesOfIntegersUseTheirLowBits) {
  EXPECT_EQ(ByteValues(DType::kInt8)[0x80], -128);
  EXPECT_EQ(ByteValues(DType::kQint8)[0xff], -1);
  EXPECT_EQ(ByteValues(DType::kUint8)[0xff], 255);
  EXPECT_EQ(ByteValues(DType::kQuint8)[0x80], 128);
  EXPECT_EQ(ByteValues(DType::kInt4)[0x07], 7);
  EXPECT_EQ(ByteValues(DType::kInt4)[0x08], -8);
  EXPECT_EQ(ByteValues(DType::kInt4)[0xf8], -8);
  EXPECT_EQ(ByteValues(DType::kUint4)[0x0f], 15);
  EXPECT_EQ(ByteValues(DType::kInt2)[0x01], 1);
  EXPECT_EQ(ByteValues(DType::kInt2)[0x02], -2);
  EXPECT_EQ(ByteValues(DType::kUint2)[0x03], 3);
  EXPECT_EQ(ByteValues(DType::kBool)[0], 0);
  EXPECT_EQ(ByteValues(DType::kBool)[1], 1);
  EXPECT_EQ(ByteValues(DType::kBool)[0x80], 1);
  EXPECT_TRUE(std::isnan(ByteValues(DType::kFloat32)[0]));
}

}  // namespace
}  // namespace flowscope
