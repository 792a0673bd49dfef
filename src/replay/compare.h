// How far two values of one tensor are apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/payload.h"

namespace flowscope::replay {

// What still counts as the same number: |a - b| <= absolute + relative * |a|, where `a` is the
// recorded one. Only for floating and complex dtypes; everything else is the same or not.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// For a trace of another machine or TensorFlow version: about the rounding of a sum of a thousand
// products, in units of the dtype's last place. docs/validation.md has the table.
Tolerance DefaultTolerance(DType dtype);

struct Difference {
  std::string kind;           // "" where equal to the bit, else "dtype", "shape" or "value"
  int64_t num_different = 0;  // elements
  int64_t num_outside = 0;    // elements outside of the tolerance
  int64_t first = 0;          // the first element that differs, in row-major order
  double max_absolute = 0;
  double max_relative = 0;
  uint64_t max_ulp = 0;  // floats between the two; 0 where the dtype is no float

  bool equal() const { return kind.empty(); }
  bool within() const { return kind.empty() || (kind == "value" && num_outside == 0); }
};

// Without `tolerance` every element that differs is outside.
Difference Compare(const Payload& recorded, const Payload& replayed,
                   const std::optional<Tolerance>& tolerance);

// True where both have the same dtype, shape and bytes.
bool SameBits(const Payload& a, const Payload& b);

// "[2, 3]".
std::string ShapeText(const Dims& dims);

// "3 of 12 elements differ, the first at [1]: recorded 2.5, replayed 2.625 (...)".
std::string Describe(const Difference& difference, const Payload& recorded,
                     const Payload& replayed);

}  // namespace flowscope::replay
