#include "base/dtype.h"

#include <gtest/gtest.h>

namespace flowscope {
namespace {

enum class Family { kNone, kFloating, kInteger, kBool, kComplex };

struct Row {
  int number;  // TensorFlow's
  std::string_view name;
  std::string_view short_name;
  size_t size;
  Family family;
};

const Row kRows[] = {
    {0, "invalid", "invalid", 0, Family::kNone},
    {1, "float32", "f32", 4, Family::kFloating},
    {2, "float64", "f64", 8, Family::kFloating},
    {3, "int32", "i32", 4, Family::kInteger},
    {4, "uint8", "u8", 1, Family::kInteger},
    {5, "int16", "i16", 2, Family::kInteger},
    {6, "int8", "i8", 1, Family::kInteger},
    {7, "string", "str", 0, Family::kNone},
    {8, "complex64", "c64", 8, Family::kComplex},
    {9, "int64", "i64", 8, Family::kInteger},
    {10, "bool", "bool", 1, Family::kBool},
    {11, "qint8", "qi8", 1, Family::kInteger},
    {12, "quint8", "qu8", 1, Family::kInteger},
    {13, "qint32", "qi32", 4, Family::kInteger},
    {14, "bfloat16", "bf16", 2, Family::kFloating},
    {15, "qint16", "qi16", 2, Family::kInteger},
    {16, "quint16", "qu16", 2, Family::kInteger},
    {17, "uint16", "u16", 2, Family::kInteger},
    {18, "complex128", "c128", 16, Family::kComplex},
    {19, "float16", "f16", 2, Family::kFloating},
    {20, "resource", "resource", 0, Family::kNone},
    {21, "variant", "variant", 0, Family::kNone},
    {22, "uint32", "u32", 4, Family::kInteger},
    {23, "uint64", "u64", 8, Family::kInteger},
    {24, "float8_e5m2", "f8e5m2", 1, Family::kFloating},
    {25, "float8_e4m3fn", "f8e4m3fn", 1, Family::kFloating},
    {26, "float8_e4m3fnuz", "f8e4m3fnuz", 1, Family::kFloating},
    {27, "float8_e4m3b11fnuz", "f8e4m3b11fnuz", 1, Family::kFloating},
    {28, "float8_e5m2fnuz", "f8e5m2fnuz", 1, Family::kFloating},
    {29, "int4", "i4", 1, Family::kInteger},
    {30, "uint4", "u4", 1, Family::kInteger},
    {31, "int2", "i2", 1, Family::kInteger},
    {32, "uint2", "u2", 1, Family::kInteger},
    {33, "float4_e2m1fn", "f4e2m1fn", 1, Family::kFloating},
};

TEST(DTypeTest, EveryNumberHasItsNameSizeAndFamily) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    const DType dtype = static_cast<DType>(row.number);
    EXPECT_EQ(DTypeName(dtype), row.name);
    EXPECT_EQ(DTypeShortName(dtype), row.short_name);
    EXPECT_EQ(DTypeSize(dtype), row.size);
    EXPECT_EQ(IsFloating(dtype), row.family == Family::kFloating);
    EXPECT_EQ(IsInteger(dtype), row.family == Family::kInteger);
    EXPECT_EQ(IsComplex(dtype), row.family == Family::kComplex);
    EXPECT_EQ(IsPlainBytes(dtype), row.family != Family::kNone);
  }
}

TEST(DTypeTest, EnumeratorsMeanTheirNumbers) {
  EXPECT_EQ(DTypeName(DType::kString), "string");
  EXPECT_EQ(DTypeName(DType::kBfloat16), "bfloat16");
  EXPECT_EQ(DTypeName(DType::kFloat8E4m3b11fnuz), "float8_e4m3b11fnuz");
  EXPECT_EQ(DTypeName(DType::kUint2), "uint2");
  EXPECT_EQ(DTypeName(DType::kFloat4E2m1fn), "float4_e2m1fn");
}

TEST(DTypeTest, UnknownNumbersAreInvalid) {
  for (int number : {34, 64, 101, 255}) {
    const DType dtype = static_cast<DType>(number);
    EXPECT_EQ(DTypeName(dtype), "invalid");
    EXPECT_EQ(DTypeSize(dtype), 0u);
    EXPECT_FALSE(IsPlainBytes(dtype));
    EXPECT_FALSE(IsFloating(dtype) || IsInteger(dtype) || IsComplex(dtype));
  }
}

}  // namespace
}  // namespace flowscope
