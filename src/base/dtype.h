// The element types of tensors, numbered as TensorFlow's DataType so that a number read from its
// C API or from an attribute is the enum value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace flowscope {

enum class DType : uint8_t {
  kInvalid = 0,
  kFloat32 = 1,
  kFloat64 = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQint8 = 11,
  kQuint8 = 12,
  kQint32 = 13,
  kBfloat16 = 14,
  kQint16 = 15,
  kQuint16 = 16,
  kUint16 = 17,
  kComplex128 = 18,
  kFloat16 = 19,
  kResource = 20,
  kVariant = 21,
  kUint32 = 22,
  kUint64 = 23,
  kFloat8E5m2 = 24,
  kFloat8E4m3fn = 25,
  kFloat8E4m3fnuz = 26,
  kFloat8E4m3b11fnuz = 27,
  kFloat8E5m2fnuz = 28,
  kInt4 = 29,
  kUint4 = 30,
  kInt2 = 31,
  kUint2 = 32,
  kFloat4E2m1fn = 33,
};

inline constexpr DType kLastDType = DType::kFloat4E2m1fn;

// Name as TensorFlow prints it ("float32", "bfloat16", "string"); "invalid" for an unknown number.
std::string_view DTypeName(DType dtype);

// Short form for one-line glances: "f32", "bf16", "i64", "str".
std::string_view DTypeShortName(DType dtype);

// Bytes of one element in memory (4-bit and 2-bit types take one byte in TensorFlow), 0 for string,
// resource, variant and invalid.
size_t DTypeSize(DType dtype);

bool IsFloating(DType dtype);  // all float, half, bfloat16, float8 and float4 types
bool IsInteger(DType dtype);   // signed, unsigned and quantized; not bool
bool IsComplex(DType dtype);

// True where a value is plain bytes that can be copied, compared and hashed.
bool IsPlainBytes(DType dtype);

}  // namespace flowscope
