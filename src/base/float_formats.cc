#include "base/float_formats.h"

#include <bit>
#include <limits>

namespace flowscope {
namespace {

using ByteTable = std::array<double, 256>;

constexpr FloatFormat kFloat16 = {5, 10, 15, FloatSpecials::kIeee};
constexpr FloatFormat kBfloat16 = {8, 7, 127, FloatSpecials::kIeee};
constexpr FloatFormat kFloat32 = {8, 23, 127, FloatSpecials::kIeee};
constexpr FloatFormat kFloat64 = {11, 52, 1023, FloatSpecials::kIeee};
constexpr FloatFormat kFloat8E5m2 = {5, 2, 15, FloatSpecials::kIeee};
constexpr FloatFormat kFloat8E4m3fn = {4, 3, 7, FloatSpecials::kFn};
constexpr FloatFormat kFloat8E4m3fnuz = {4, 3, 8, FloatSpecials::kFnuz};
constexpr FloatFormat kFloat8E4m3b11fnuz = {4, 3, 11, FloatSpecials::kFnuz};
constexpr FloatFormat kFloat8E5m2fnuz = {5, 2, 16, FloatSpecials::kFnuz};
constexpr FloatFormat kFloat4E2m1fn = {2, 1, 1, FloatSpecials::kFinite};

// 2 to a power that is a normal double.
constexpr double PowerOfTwo(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

constexpr double WithSign(double magnitude, bool negative) {
  return negative ? -magnitude : magnitude;
}

constexpr bool IsNanCode(const FloatFormat& format, uint64_t bits) {
  const uint64_t magnitude = bits & format.magnitude_mask();
  const uint64_t top = format.magnitude_mask() >> format.mantissa_bits << format.mantissa_bits;
  switch (format.specials) {
    case FloatSpecials::kIeee:
      return magnitude > top;
    case FloatSpecials::kFn:
      return magnitude == format.magnitude_mask();
    case FloatSpecials::kFnuz:
      return magnitude == 0 && (bits & format.sign_mask()) != 0;
    case FloatSpecials::kFinite:
      return false;
  }
  return false;
}

constexpr bool IsInfCode(const FloatFormat& format, uint64_t bits) {
  const uint64_t top = format.magnitude_mask() >> format.mantissa_bits << format.mantissa_bits;
  return format.specials == FloatSpecials::kIeee && (bits & format.magnitude_mask()) == top;
}

// Every intermediate is a normal double, so a thread that flushes denormals gets the same value.
constexpr double DecodeFinite(const FloatFormat& format, uint64_t bits) {
  const uint64_t mantissa = bits & ((uint64_t{1} << format.mantissa_bits) - 1);
  const int exponent = static_cast<int>((bits & format.magnitude_mask()) >> format.mantissa_bits);
  const bool negative = (bits & format.sign_mask()) != 0;
  if (exponent == 0) {
    const double unit = PowerOfTwo(1 - format.bias - format.mantissa_bits);
    return WithSign(static_cast<double>(mantissa) * unit, negative);
  }
  const double significand = static_cast<double>(mantissa | (uint64_t{1} << format.mantissa_bits));
  const double unit = PowerOfTwo(exponent - format.bias - format.mantissa_bits);
  return WithSign(significand * unit, negative);
}

constexpr double Decode(const FloatFormat& format, uint64_t bits) {
  const bool negative = (bits & format.sign_mask()) != 0;
  if (IsNanCode(format, bits)) {
    return WithSign(std::numeric_limits<double>::quiet_NaN(), negative);
  }
  if (IsInfCode(format, bits)) return WithSign(std::numeric_limits<double>::infinity(), negative);
  return DecodeFinite(format, bits);
}

template <typename ValueOf>
constexpr ByteTable MakeTable(ValueOf value_of) {
  ByteTable table{};
  for (int code = 0; code < 256; ++code) table[code] = value_of(code);
  return table;
}

constexpr ByteTable MakeFloatTable(const FloatFormat& format) {
  return MakeTable([&](int code) { return Decode(format, static_cast<uint64_t>(code)); });
}

constexpr ByteTable MakeSignedTable(int bits) {
  return MakeTable([bits](int code) {
    const int low = code & ((1 << bits) - 1);
    return static_cast<double>(low >= (1 << (bits - 1)) ? low - (1 << bits) : low);
  });
}

constexpr ByteTable MakeUnsignedTable(int bits) {
  return MakeTable([bits](int code) { return static_cast<double>(code & ((1 << bits) - 1)); });
}

constexpr ByteTable kFloat8E5m2Values = MakeFloatTable(kFloat8E5m2);
constexpr ByteTable kFloat8E4m3fnValues = MakeFloatTable(kFloat8E4m3fn);
constexpr ByteTable kFloat8E4m3fnuzValues = MakeFloatTable(kFloat8E4m3fnuz);
constexpr ByteTable kFloat8E4m3b11fnuzValues = MakeFloatTable(kFloat8E4m3b11fnuz);
constexpr ByteTable kFloat8E5m2fnuzValues = MakeFloatTable(kFloat8E5m2fnuz);
constexpr ByteTable kFloat4E2m1fnValues = MakeFloatTable(kFloat4E2m1fn);
constexpr ByteTable kInt8Values = MakeSignedTable(8);
constexpr ByteTable kUint8Values = MakeUnsignedTable(8);
constexpr ByteTable kInt4Values = MakeSignedTable(4);
constexpr ByteTable kUint4Values = MakeUnsignedTable(4);
constexpr ByteTable kInt2Values = MakeSignedTable(2);
constexpr ByteTable kUint2Values = MakeUnsignedTable(2);
constexpr ByteTable kBoolValues = MakeTable([](int code) { return code != 0 ? 1.0 : 0.0; });
constexpr ByteTable kNoValues =
    MakeTable([](int) { return std::numeric_limits<double>::quiet_NaN(); });

}  // namespace

FloatFormat FloatFormatOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return kFloat16;
    case DType::kBfloat16:
      return kBfloat16;
    case DType::kFloat32:
      return kFloat32;
    case DType::kFloat8E5m2:
      return kFloat8E5m2;
    case DType::kFloat8E4m3fn:
      return kFloat8E4m3fn;
    case DType::kFloat8E4m3fnuz:
      return kFloat8E4m3fnuz;
    case DType::kFloat8E4m3b11fnuz:
      return kFloat8E4m3b11fnuz;
    case DType::kFloat8E5m2fnuz:
      return kFloat8E5m2fnuz;
    case DType::kFloat4E2m1fn:
      return kFloat4E2m1fn;
    default:
      return kFloat64;
  }
}

FloatClass ClassifyFloat(const FloatFormat& format, uint64_t bits) {
  if (IsNanCode(format, bits)) return FloatClass::kNan;
  if (!IsInfCode(format, bits)) return FloatClass::kFinite;
  return (bits & format.sign_mask()) != 0 ? FloatClass::kNegInf : FloatClass::kPosInf;
}

double DecodeFloat(const FloatFormat& format, uint64_t bits) {
  // A denormal double has no normal double to be computed from; its bits are the value already.
  if (format.mantissa_bits == kFloat64.mantissa_bits) return std::bit_cast<double>(bits);
  return Decode(format, bits);
}

const std::array<double, 256>& ByteValues(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return kBoolValues;
    case DType::kInt8:
    case DType::kQint8:
      return kInt8Values;
    case DType::kUint8:
    case DType::kQuint8:
      return kUint8Values;
    case DType::kInt4:
      return kInt4Values;
    case DType::kUint4:
      return kUint4Values;
    case DType::kInt2:
      return kInt2Values;
    case DType::kUint2:
      return kUint2Values;
    case DType::kFloat8E5m2:
      return kFloat8E5m2Values;
    case DType::kFloat8E4m3fn:
      return kFloat8E4m3fnValues;
    case DType::kFloat8E4m3fnuz:
      return kFloat8E4m3fnuzValues;
    case DType::kFloat8E4m3b11fnuz:
      return kFloat8E4m3b11fnuzValues;
    case DType::kFloat8E5m2fnuz:
      return kFloat8E5m2fnuzValues;
    case DType::kFloat4E2m1fn:
      return kFloat4E2m1fnValues;
    default:
      return kNoValues;
  }
}

}  // namespace flowscope
