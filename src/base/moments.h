// Mean, deviations, extremes and non-finite counts of a set of values, and how the answers for two
// sets make the answer for both.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace flowscope {

struct Moments {
  int64_t finite = 0;
  int64_t zeros = 0;
  std::array<int64_t, 3> nonfinite{};  // nan, pos_inf, neg_inf
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double mean = 0;  // of the finite values, as m2
  double m2 = 0;    // sum of (value - mean) squared

  // Adds the values that `other` stands for. Not associative in floating point: whoever needs one
  // result from many parts adds them in one fixed order.
  void Add(const Moments& other) {
    zeros += other.zeros;
    for (size_t i = 0; i < nonfinite.size(); ++i) nonfinite[i] += other.nonfinite[i];
    if (other.finite == 0) return;
    const double total = static_cast<double>(finite + other.finite);
    const double weight = static_cast<double>(other.finite) / total;
    const double delta = other.mean - mean;
    m2 += other.m2 + (finite == 0 ? 0 : delta * delta * static_cast<double>(finite) * weight);
    mean = finite == 0 ? other.mean : mean + delta * weight;
    finite += other.finite;
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
};

}  // namespace flowscope
