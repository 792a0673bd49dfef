// Numeric kernels over one payload: statistics, non-finite scan, hash, glance. They know nothing of
// traces. Every function takes all dtypes; where a question has no meaning (the mean of strings)
// the answer says so instead of failing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/payload.h"

namespace flowscope {

inline constexpr int kHistogramBins = 32;

// min, max, mean, std and the histogram are over the finite elements, computed in double; complex
// values count by magnitude; bool as 0 and 1; integers of 64 bits lose what double loses.
// `numeric` is false for string, resource and variant: then only `count` is meaningful.
struct Stats {
  bool numeric = false;
  int64_t count = 0;
  int64_t zeros = 0;
  int64_t nan = 0;
  int64_t pos_inf = 0;
  int64_t neg_inf = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  double std = 0;                                   // population standard deviation
  std::array<int64_t, kHistogramBins> histogram{};  // equal bins over [min, max]

  int64_t nonfinite() const { return nan + pos_inf + neg_inf; }
  int64_t finite() const { return count - nonfinite(); }
};

// Splits large payloads over `threads` threads (0: as many as the machine has). The result does not
// depend on the number of threads: blocks of fixed size are combined in order.
Stats ComputeStats(const Payload& payload, int threads = 0, bool histogram = true);

enum class NonFiniteKind : uint8_t { kNan, kPosInf, kNegInf };

struct NonFinite {
  int64_t index = 0;  // flat index of the first non-finite element, row-major
  NonFiniteKind kind = NonFiniteKind::kNan;
};

// First element that is NaN or infinite; a complex element is judged by either part (NaN wins).
std::optional<NonFinite> FirstNonFinite(const Payload& payload);

// The counts alone, faster than ComputeStats: {nan, pos_inf, neg_inf}.
std::array<int64_t, 3> CountNonFinite(const Payload& payload);

// XXH3 128-bit of dtype, dims and bytes (strings: lengths and bytes), as 32 hex digits.
std::string ContentHash(const Payload& payload);

// Element `index` (flat, row-major) as a person would read it: "-inf", "3", "(1+2j)", "b'cat'".
std::string FormatElement(const Payload& payload, int64_t index);

// Element as double; nullopt for non-numeric dtypes. Complex gives the magnitude.
std::optional<double> ElementAsDouble(const Payload& payload, int64_t index);

// Flat index to coordinates: 5 in dims {2,3} is {1,2}.
std::vector<int64_t> Unravel(int64_t index, const Dims& dims);

// One line: "f32[2,4] min=-1.2 max=3 mean=0.1 std=1 zeros=2/8 NaN=1 +Inf=0"; tiny tensors (up to 8
// elements) show their values; strings show the first few.
std::string Glance(const Payload& payload);

}  // namespace flowscope
