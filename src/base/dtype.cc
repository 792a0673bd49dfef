#include "base/dtype.h"

#include <array>

namespace flowscope {
namespace {

enum class Family : uint8_t { kNone, kFloating, kInteger, kBool, kComplex };

struct DTypeInfo {
  std::string_view name;
  std::string_view short_name;
  size_t size;
  Family family;
};

constexpr size_t kNumDTypes = static_cast<size_t>(kLastDType) + 1;

// Indexed by the enum value.
constexpr std::array<DTypeInfo, kNumDTypes> kInfos = {{
    {"invalid", "invalid", 0, Family::kNone},
    {"float32", "f32", 4, Family::kFloating},
    {"float64", "f64", 8, Family::kFloating},
    {"int32", "i32", 4, Family::kInteger},
    {"uint8", "u8", 1, Family::kInteger},
    {"int16", "i16", 2, Family::kInteger},
    {"int8", "i8", 1, Family::kInteger},
    {"string", "str", 0, Family::kNone},
    {"complex64", "c64", 8, Family::kComplex},
    {"int64", "i64", 8, Family::kInteger},
    {"bool", "bool", 1, Family::kBool},
    {"qint8", "qi8", 1, Family::kInteger},
    {"quint8", "qu8", 1, Family::kInteger},
    {"qint32", "qi32", 4, Family::kInteger},
    {"bfloat16", "bf16", 2, Family::kFloating},
    {"qint16", "qi16", 2, Family::kInteger},
    {"quint16", "qu16", 2, Family::kInteger},
    {"uint16", "u16", 2, Family::kInteger},
    {"complex128", "c128", 16, Family::kComplex},
    {"float16", "f16", 2, Family::kFloating},
    {"resource", "resource", 0, Family::kNone},
    {"variant", "variant", 0, Family::kNone},
    {"uint32", "u32", 4, Family::kInteger},
    {"uint64", "u64", 8, Family::kInteger},
    {"float8_e5m2", "f8e5m2", 1, Family::kFloating},
    {"float8_e4m3fn", "f8e4m3fn", 1, Family::kFloating},
    {"float8_e4m3fnuz", "f8e4m3fnuz", 1, Family::kFloating},
    {"float8_e4m3b11fnuz", "f8e4m3b11fnuz", 1, Family::kFloating},
    {"float8_e5m2fnuz", "f8e5m2fnuz", 1, Family::kFloating},
    {"int4", "i4", 1, Family::kInteger},
    {"uint4", "u4", 1, Family::kInteger},
    {"int2", "i2", 1, Family::kInteger},
    {"uint2", "u2", 1, Family::kInteger},
    {"float4_e2m1fn", "f4e2m1fn", 1, Family::kFloating},
}};

// A number read from a file or from a newer TensorFlow may lie outside the enum.
const DTypeInfo& InfoOf(DType dtype) {
  const size_t index = static_cast<size_t>(dtype);
  return kInfos[index < kNumDTypes ? index : 0];
}

}  // namespace

std::string_view DTypeName(DType dtype) { return InfoOf(dtype).name; }

std::string_view DTypeShortName(DType dtype) { return InfoOf(dtype).short_name; }

size_t DTypeSize(DType dtype) { return InfoOf(dtype).size; }

bool IsFloating(DType dtype) { return InfoOf(dtype).family == Family::kFloating; }

bool IsInteger(DType dtype) { return InfoOf(dtype).family == Family::kInteger; }

bool IsComplex(DType dtype) { return InfoOf(dtype).family == Family::kComplex; }

bool IsPlainBytes(DType dtype) { return InfoOf(dtype).size != 0; }

}  // namespace flowscope
