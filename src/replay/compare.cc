#include "replay/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/element.h"
#include "base/float_formats.h"
#include "replay/moves.h"

namespace flowscope::replay {
namespace {

constexpr int kShownDigits = 9;
constexpr size_t kShownBytes = 40;

// The dtype of the floats that an element is made of.
uint64_t BitsAt(const Payload& payload, int64_t index, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(payload.data) + static_cast<size_t>(index) * size,
              size);
  return bits;
}

// Bit patterns in the order of the numbers they stand for, so that a difference counts floats.
int64_t Ordered(const FloatFormat& format, uint64_t bits) {
  const auto magnitude = static_cast<int64_t>(bits & format.magnitude_mask());
  return (bits & format.sign_mask()) != 0 ? -magnitude : magnitude;
}

bool SameNumber(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Two floats with different bits.
void AddFloats(const FloatFormat& format, uint64_t a_bits, uint64_t b_bits,
               const std::optional<Tolerance>& tolerance, Difference& difference) {
  const double a = DecodeFloat(format, a_bits);
  const double b = DecodeFloat(format, b_bits);
  const double distance = std::abs(a - b);
  const bool comparable = std::isfinite(distance);
  if (comparable) {
    difference.max_absolute = std::max(difference.max_absolute, distance);
    if (a != 0) difference.max_relative = std::max(difference.max_relative, distance / std::abs(a));
    const auto ulp =
        static_cast<uint64_t>(std::abs(Ordered(format, a_bits) - Ordered(format, b_bits)));
    difference.max_ulp = std::max(difference.max_ulp, ulp);
  }
  const bool inside =
      tolerance &&
      (SameNumber(a, b) ||
       (comparable && distance <= tolerance->absolute + tolerance->relative * std::abs(a)));
  if (!inside) ++difference.num_outside;
}

void CompareBytes(const Payload& a, const Payload& b, const std::optional<Tolerance>& tolerance,
                  Difference& difference) {
  const bool floats = IsFloating(PartOf(a.dtype));
  const size_t size = DTypeSize(PartOf(a.dtype));
  const auto parts = static_cast<int64_t>(DTypeSize(a.dtype) / size);
  const FloatFormat format = FloatFormatOf(PartOf(a.dtype));
  for (int64_t i = 0; i < a.num_elements() * parts; ++i) {
    const uint64_t x = BitsAt(a, i, size);
    const uint64_t y = BitsAt(b, i, size);
    if (x == y) continue;
    if (difference.num_different++ == 0) difference.first = i / parts;
    if (floats) {
      AddFloats(format, x, y, tolerance, difference);
    } else {
      ++difference.num_outside;
    }
  }
}

void CompareStrings(const Payload& a, const Payload& b, Difference& difference) {
  for (size_t i = 0; i < a.strings.size(); ++i) {
    if (a.strings[i] == b.strings[i]) continue;
    if (difference.num_different++ == 0) difference.first = static_cast<int64_t>(i);
    ++difference.num_outside;
  }
}

// Position of a flat index.
std::string IndexText(int64_t flat, const Dims& dims) {
  Dims index(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    index[i] = flat % dims[i];
    flat /= dims[i];
  }
  return ShapeText(index);
}

std::string ElementText(const Payload& payload, int64_t index) {
  if (payload.dtype == DType::kString) {
    return FormatBytesLiteral(payload.strings[static_cast<size_t>(index)], kShownBytes);
  }
  return FormatElementShort(payload, index, kShownDigits);
}

}  // namespace

Tolerance DefaultTolerance(DType dtype) {
  switch (PartOf(dtype)) {
    case DType::kFloat64:
      return {1e-10, 1e-12};
    case DType::kFloat32:
      return {1e-4, 1e-5};
    case DType::kFloat16:
      return {1e-2, 1e-3};
    case DType::kBfloat16:
      return {5e-2, 1e-2};
    default:
      return IsFloating(dtype) ? Tolerance{2.5e-1, 1e-1} : Tolerance{};
  }
}

bool SameBits(const Payload& a, const Payload& b) {
  if (a.dtype != b.dtype || a.dims != b.dims) return false;
  if (a.dtype == DType::kString) return std::ranges::equal(a.strings, b.strings);
  if (a.nbytes != b.nbytes) return false;
  return a.data == b.data || a.nbytes == 0 || std::memcmp(a.data, b.data, a.nbytes) == 0;
}

std::string ShapeText(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

Difference Compare(const Payload& recorded, const Payload& replayed,
                   const std::optional<Tolerance>& tolerance) {
  Difference difference;
  if (recorded.dtype != replayed.dtype) {
    difference.kind = "dtype";
  } else if (recorded.dims != replayed.dims || recorded.nbytes != replayed.nbytes) {
    const bool strings = recorded.dtype == DType::kString && recorded.dims == replayed.dims;
    difference.kind = strings ? "value" : "shape";
  } else if (!SameBits(recorded, replayed)) {
    difference.kind = "value";
  }
  if (difference.kind != "value") return difference;
  if (recorded.dtype == DType::kString) {
    CompareStrings(recorded, replayed, difference);
  } else {
    CompareBytes(recorded, replayed, tolerance, difference);
  }
  return difference;
}

std::string Describe(const Difference& difference, const Payload& recorded,
                     const Payload& replayed) {
  if (difference.equal()) return "equal to the bit";
  if (difference.kind == "dtype") {
    return fmt::format("recorded {}, replayed {}", DTypeName(recorded.dtype),
                       DTypeName(replayed.dtype));
  }
  if (difference.kind == "shape") {
    return fmt::format("recorded shape {}, replayed {}", ShapeText(recorded.dims),
                       ShapeText(replayed.dims));
  }
  std::string text = fmt::format(
      "{} of {} elements differ, the first at {}: recorded {}, replayed {}",
      difference.num_different, recorded.num_elements(), IndexText(difference.first, recorded.dims),
      ElementText(recorded, difference.first), ElementText(replayed, difference.first));
  if (IsFloating(PartOf(recorded.dtype))) {
    text += fmt::format(" (at most {:.3g} absolute, {:.3g} relative, {} ULP)",
                        difference.max_absolute, difference.max_relative, difference.max_ulp);
  }
  return text;
}

}  // namespace flowscope::replay
