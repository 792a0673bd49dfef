// The small float formats (half, bfloat16, the five float8 kinds, float4) and the IEEE ones,
// described by their bits. Everything here works on integers, so that it is exact and does not
// depend on the floating-point environment of the calling thread (flush-to-zero, rounding).
#pragma once

#include <array>
#include <cstdint>

#include "base/dtype.h"

namespace flowscope {

enum class FloatClass : uint8_t { kFinite, kNan, kPosInf, kNegInf };

// What a format does with the codes that IEEE 754 gives to infinities, NaN and minus zero.
enum class FloatSpecials : uint8_t {
  kIeee,    // top exponent: infinity and NaN
  kFn,      // no infinity; only all ones is NaN, the rest of the top exponent is finite
  kFnuz,    // no infinity, no minus zero; the code of minus zero is the one NaN
  kFinite,  // neither infinity nor NaN
};

struct FloatFormat {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  int bias = 0;
  FloatSpecials specials = FloatSpecials::kIeee;

  constexpr uint64_t sign_mask() const { return uint64_t{1} << (exponent_bits + mantissa_bits); }
  constexpr uint64_t magnitude_mask() const { return sign_mask() - 1; }
};

// Only for a dtype with IsFloating(); any other gives the format of float64.
FloatFormat FloatFormatOf(DType dtype);

// The class of a bit pattern. Bits above the format's width are ignored.
FloatClass ClassifyFloat(const FloatFormat& format, uint64_t bits);

// The exact value of a bit pattern; NaN keeps its sign but not its payload.
double DecodeFloat(const FloatFormat& format, uint64_t bits);

// The value of every code of a float8 dtype; of any other one-byte dtype too: bool as 0 and 1, the
// 4-bit and 2-bit types by their low bits, whatever the rest of the byte holds. All NaN for a
// dtype that is not one byte wide.
const std::array<double, 256>& ByteValues(DType dtype);

}  // namespace flowscope
