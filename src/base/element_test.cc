#include "base/element.h"

#include <sys/mman.h>

#include <cmath>
#include <complex>
#include <vector>

#include <gtest/gtest.h>

#include "base/payload_testing.h"
#include "base/stats.h"

namespace flowscope {
namespace {

// All elements as text, one space between.
std::string AllText(const Payload& payload) {
  std::string text;
  for (int64_t i = 0; i < ReadableElements(payload); ++i) {
    text += (i > 0 ? " " : "") + FormatElement(payload, i);
  }
  return text;
}

template <typename T>
std::string Text(DType dtype, const std::vector<T>& values) {
  return AllText(MakePayload(dtype, values));
}

TEST(FormatElementTest, Floats) {
  EXPECT_EQ(Text<float>(DType::kFloat32, {3, -0.0f, 0.1f, 1e30f, 16777216, 0x1p-149f}),
            "3 -0 0.1 1e+30 16777216 1e-45");
  EXPECT_EQ(Text<double>(DType::kFloat64, {kNan, kInf, -kInf, 0.1, 1.0 / 3, 5e-324}),
            "nan inf -inf 0.1 0.3333333333333333 5e-324");
}

TEST(FormatElementTest, NarrowFloatsHaveTheFewestDigitsThatNameThem) {
  // 0x2e66 is the half nearest to 0.1; 65504 is the largest; the smallest is 2^-24.
  EXPECT_EQ(Text<uint16_t>(DType::kFloat16, {0x2e66, 0x7bff, 0x0001, 0x3c01, 0x8000, 0xfc00}),
            "0.1 65504 6e-08 1.001 -0 -inf");
  EXPECT_EQ(Text<uint16_t>(DType::kBfloat16, {0x3dcd, 0x3f80, 0x7f7f, 0xc049, 0x7fc0}),
            "0.1 1 3.39e+38 -3.14 nan");
  EXPECT_EQ(Text<uint8_t>(DType::kFloat8E5m2, {0x2e, 0x7b, 0x7c, 0x01}), "0.09 57344 inf 2e-05");
  EXPECT_EQ(Text<uint8_t>(DType::kFloat8E4m3fn, {0x1d, 0x7e, 0x7f}), "0.1 448 nan");
  EXPECT_EQ(Text<uint8_t>(DType::kFloat8E4m3fnuz, {0x80, 0x00, 0x40}), "nan 0 1");
  EXPECT_EQ(Text<uint8_t>(DType::kFloat8E4m3b11fnuz, {0x7f, 0xd8}), "30 -1");
  EXPECT_EQ(Text<uint8_t>(DType::kFloat8E5m2fnuz, {0xff, 0x80}), "-57344 nan");
}

// Whatever is printed for a finite half names that half: parsed, it is nearest to it.
TEST(FormatElementTest, EveryHalfReadsBack) {
  std::vector<uint16_t> codes;
  for (uint32_t code = 0; code < 0x7c00; ++code) codes.push_back(static_cast<uint16_t>(code));
  const Payload payload = MakePayload(DType::kFloat16, codes);
  for (int64_t i = 1; i + 1 < static_cast<int64_t>(codes.size()); ++i) {
    const double read = std::stod(FormatElement(payload, i));
    const double error = std::abs(read - *ElementAsDouble(payload, i));
    ASSERT_LT(error, std::abs(read - *ElementAsDouble(payload, i - 1))) << i;
    ASSERT_LT(error, std::abs(read - *ElementAsDouble(payload, i + 1))) << i;
  }
}

TEST(FormatElementTest, IntegersAtTheirExtremes) {
  EXPECT_EQ(Text<int64_t>(DType::kInt64, {INT64_MIN, INT64_MAX}),
            "-9223372036854775808 9223372036854775807");
  EXPECT_EQ(Text<uint64_t>(DType::kUint64, {0, UINT64_MAX}), "0 18446744073709551615");
  EXPECT_EQ(Text<int32_t>(DType::kInt32, {INT32_MIN, 7}), "-2147483648 7");
  EXPECT_EQ(Text<uint32_t>(DType::kUint32, {UINT32_MAX}), "4294967295");
  EXPECT_EQ(Text<int16_t>(DType::kInt16, {-32768}), "-32768");
  EXPECT_EQ(Text<uint16_t>(DType::kUint16, {65535}), "65535");
  EXPECT_EQ(Text<int8_t>(DType::kInt8, {-128, 127}), "-128 127");
  EXPECT_EQ(Text<uint8_t>(DType::kUint8, {0, 255}), "0 255");
}

TEST(FormatElementTest, QuantizedAndNarrowIntegers) {
  EXPECT_EQ(Text<int8_t>(DType::kQint8, {-1}), "-1");
  EXPECT_EQ(Text<uint8_t>(DType::kQuint8, {255}), "255");
  EXPECT_EQ(Text<int16_t>(DType::kQint16, {-2}), "-2");
  EXPECT_EQ(Text<uint16_t>(DType::kQuint16, {65534}), "65534");
  EXPECT_EQ(Text<int32_t>(DType::kQint32, {-3}), "-3");
  EXPECT_EQ(Text<uint8_t>(DType::kInt4, {0x08, 0xf8, 0x07}), "-8 -8 7");
  EXPECT_EQ(Text<uint8_t>(DType::kUint4, {15}), "15");
  EXPECT_EQ(Text<uint8_t>(DType::kInt2, {2, 1}), "-2 1");
  EXPECT_EQ(Text<uint8_t>(DType::kUint2, {3}), "3");
}

TEST(FormatElementTest, BoolAndComplex) {
  EXPECT_EQ(Text<uint8_t>(DType::kBool, {0, 1}), "False True");
  EXPECT_EQ(Text<std::complex<float>>(DType::kComplex64, {{1, 2}, {0.5f, -0.0f}}),
            "(1+2j) (0.5-0j)");
  EXPECT_EQ(Text<std::complex<double>>(DType::kComplex128, {{kNan, -kInf}, {-1, kInf}}),
            "(nan-infj) (-1+infj)");
}

TEST(FormatElementTest, StringsAsPythonWritesBytes) {
  EXPECT_EQ(AllText(MakeStrings({3}, {"cat", "", "it's"})), "b'cat' b'' b\"it's\"");
  EXPECT_EQ(FormatBytesLiteral("'\"", 10), "b'\\'\"'");
  EXPECT_EQ(FormatBytesLiteral(std::string("a\n\r\t\\\0\x7f\xc3", 8), 10),
            "b'a\\n\\r\\t\\\\\\x00\\x7f\\xc3'");
  EXPECT_EQ(FormatBytesLiteral("abcdef", 6), "b'abcdef'");
  EXPECT_EQ(FormatBytesLiteral("abcdefg", 3), "b'abc'... (7 bytes)");
}

TEST(FormatElementTest, WhatCannotBeReadSaysSo) {
  Payload resource;
  resource.dtype = DType::kResource;
  EXPECT_EQ(FormatElement(resource, 0), "<resource>");
  const Payload three = MakePayload<float>(DType::kFloat32, {1, 2, 3});
  EXPECT_EQ(FormatElement(three, 3), "?");
  EXPECT_EQ(FormatElement(three, -1), "?");
  EXPECT_EQ(FormatElement(MakeStrings({1}, {"a"}), 1), "?");
}

TEST(ElementAsDoubleTest, EveryKind) {
  EXPECT_EQ(ElementAsDouble(MakePayload<float>(DType::kFloat32, {0x1p-149f}), 0), 0x1p-149);
  EXPECT_EQ(ElementAsDouble(MakePayload<double>(DType::kFloat64, {1, -kInf}), 1), -kInf);
  EXPECT_EQ(ElementAsDouble(MakePayload<uint16_t>(DType::kFloat16, {0x3c00}), 0), 1.0);
  EXPECT_EQ(ElementAsDouble(MakePayload<uint16_t>(DType::kBfloat16, {0xc000}), 0), -2.0);
  EXPECT_EQ(ElementAsDouble(MakePayload<uint8_t>(DType::kFloat8E4m3fn, {0x7e}), 0), 448.0);
  EXPECT_EQ(ElementAsDouble(MakePayload<int64_t>(DType::kInt64, {INT64_MIN}), 0), -0x1p63);
  EXPECT_EQ(ElementAsDouble(MakePayload<uint64_t>(DType::kUint64, {UINT64_MAX}), 0), 0x1p64);
  EXPECT_EQ(ElementAsDouble(MakePayload<int16_t>(DType::kQint16, {-5}), 0), -5.0);
  EXPECT_EQ(ElementAsDouble(MakePayload<uint8_t>(DType::kBool, {1}), 0), 1.0);
  EXPECT_EQ(ElementAsDouble(MakePayload<std::complex<float>>(DType::kComplex64, {{3, 4}}), 0), 5.0);
  EXPECT_TRUE(std::isnan(
      *ElementAsDouble(MakePayload<std::complex<double>>(DType::kComplex128, {{kInf, kNan}}), 0)));
}

TEST(ElementAsDoubleTest, NothingWhereThereIsNoNumber) {
  EXPECT_EQ(ElementAsDouble(MakeStrings({1}, {"1"}), 0), std::nullopt);
  Payload variant;
  variant.dtype = DType::kVariant;
  EXPECT_EQ(ElementAsDouble(variant, 0), std::nullopt);
  const Payload one = MakePayload<float>(DType::kFloat32, {1});
  EXPECT_EQ(ElementAsDouble(one, 1), std::nullopt);
  EXPECT_EQ(ElementAsDouble(one, -1), std::nullopt);
}

TEST(ReadableElementsTest, NeverMoreThanTheBytesHold) {
  Payload payload = MakePayload<float>(DType::kFloat32, {1, 2, 3});
  EXPECT_EQ(ReadableElements(payload), 3);
  payload.dims = {2};
  EXPECT_EQ(ReadableElements(payload), 2);
  payload.dims = {int64_t{1} << 40};
  EXPECT_EQ(ReadableElements(payload), 3);
  payload.dims = {-1};
  EXPECT_EQ(ReadableElements(payload), 0);
}

// Five billion halves of which the system holds two pages: the rest is never touched.
TEST(ElementTest, IndicesBeyond32Bits) {
  const int64_t count = 5000000000;
  const size_t nbytes = static_cast<size_t>(count) * 2;
  void* memory = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "the system reserves no 10 GB of addresses";
  const Payload payload = {DType::kFloat16, {5, 1000000000}, memory, nbytes, {}, nullptr};
  const int64_t index = 4999999998;
  static_cast<uint16_t*>(memory)[index] = 0xfc00;
  EXPECT_EQ(ReadableElements(payload), count);
  EXPECT_EQ(ClassifyElement(payload, index), FloatClass::kNegInf);
  EXPECT_EQ(ClassifyElement(payload, index & 0xffffffff), FloatClass::kFinite);
  EXPECT_EQ(FormatElement(payload, index), "-inf");
  EXPECT_EQ(ElementAsDouble(payload, index), -kInf);
  munmap(memory, nbytes);
}

TEST(UnravelTest, RowMajor) {
  EXPECT_EQ(Unravel(5, {2, 3}), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(Unravel(0, {2, 3}), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(Unravel(23, {2, 3, 4}), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(Unravel(7, {9}), (std::vector<int64_t>{7}));
  EXPECT_EQ(Unravel(0, {}), std::vector<int64_t>{});
}

TEST(UnravelTest, LargeAndEmptyShapes) {
  EXPECT_EQ(Unravel(int64_t{1} << 40, {int64_t{1} << 21, int64_t{1} << 20}),
            (std::vector<int64_t>{int64_t{1} << 20, 0}));
  EXPECT_EQ(Unravel(3, {2, 0}), (std::vector<int64_t>{0, 0}));
}

}  // namespace
}  // namespace flowscope
