#include "replay/moves.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "replay/values.h"

namespace flowscope::replay {
namespace {

uint64_t PowerOfTwo(const FloatFormat& format, int exponent) {
  const int biased = std::max(1, format.bias + exponent);
  return static_cast<uint64_t>(biased) << format.mantissa_bits;
}

}  // namespace

DType PartOf(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  if (dtype == DType::kComplex128) return DType::kFloat64;
  return dtype;
}

bool IsMovable(DType dtype) { return IsFloating(PartOf(dtype)); }

size_t NumParts(const Payload& value) { return value.nbytes / DTypeSize(PartOf(value.dtype)); }

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

uint64_t MoveLittle(const FloatFormat& format, uint64_t bits, size_t /*index*/) {
  if ((bits & format.magnitude_mask()) == 0) return PowerOfTwo(format, -6);
  const int bit = std::max(0, format.mantissa_bits - 4);
  return bits ^ (uint64_t{1} << bit);
}

uint64_t FlipSign(const FloatFormat& format, uint64_t bits, size_t index) {
  if ((bits & format.magnitude_mask()) == 0) return PowerOfTwo(format, static_cast<int>(index % 3));
  return bits ^ format.sign_mask();
}

Move Scatter(uint64_t salt) {
  return [salt](const FloatFormat& format, uint64_t, size_t index) {
    const uint64_t random = Mix(index * 2 + salt * 0x9e3779b97f4a7c15ULL + 1);
    const uint64_t mantissa = random & ((uint64_t{1} << format.mantissa_bits) - 1);
    const uint64_t sign = (random >> 63) != 0 ? format.sign_mask() : 0;
    return sign | PowerOfTwo(format, static_cast<int>((random >> 58) % 4) - 2) | mantissa;
  };
}

Move MoveFar(bool down) {
  return [down](const FloatFormat& format, uint64_t, size_t) {
    return (down ? format.sign_mask() : 0) | PowerOfTwo(format, format.bias / 2);
  };
}

Result<tf::HandlePtr> Moved(const Payload& value, const Move& move,
                            const std::function<bool(size_t index)>& chosen) {
  const size_t size = DTypeSize(PartOf(value.dtype));
  const FloatFormat format = FloatFormatOf(PartOf(value.dtype));
  auto bytes = std::make_shared<std::string>(static_cast<const char*>(value.data), value.nbytes);
  const size_t count = bytes->size() / size;
  for (size_t i = 0; i < count; ++i) {
    if (!chosen(i)) continue;
    if (value.dtype == DType::kBool) {
      (*bytes)[i] = static_cast<char>((*bytes)[i] == 0 ? 1 : 0);
      continue;
    }
    uint64_t bits = 0;
    std::memcpy(&bits, bytes->data() + i * size, size);
    if (ClassifyFloat(format, bits) != FloatClass::kFinite) continue;
    bits = move(format, bits, i);
    std::memcpy(bytes->data() + i * size, &bits, size);
  }
  Payload moved = value;
  moved.data = bytes->data();
  moved.owner = std::move(bytes);
  return ToHandle(moved);
}

}  // namespace flowscope::replay
