#include "base/histogram.h"

#include <algorithm>
#include <cmath>

namespace flowscope {

BinRule MakeBinRule(double min, double max) {
  BinRule rule;
  rule.last_bin = kHistogramBins - 1;
  if (min == max) return rule;  // a scale of 0 sends every value to the first bin
  const double range = max - min;
  if (!std::isfinite(range)) {
    rule.prescale = 0x1p-2;
  } else if (range < 0x1p-900) {
    // The values are as small as their range allows (53 bits), so this overflows nothing.
    rule.prescale = std::ldexp(1.0, std::min(1000, -std::ilogb(range)));
  }
  rule.low = min * rule.prescale;
  rule.scale = kHistogramBins / (max * rule.prescale - rule.low);
  return rule;
}

size_t BinOf(double value, const BinRule& rule) {
  const double place = (value * rule.prescale - rule.low) * rule.scale;
  return static_cast<size_t>(std::min(static_cast<int32_t>(place), rule.last_bin));
}

void CountBins(const int32_t* bins, size_t n, Upcoming upcoming, BinCounts& counts) {
  // Four tables, since equal bins in a row would wait for each other's count.
  std::array<std::array<uint32_t, kHistogramBins>, 4> tables{};
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    __builtin_prefetch(upcoming.data + i * upcoming.bytes_per_value);
    ++tables[0][bins[i]];
    ++tables[1][bins[i + 1]];
    ++tables[2][bins[i + 2]];
    ++tables[3][bins[i + 3]];
  }
  for (; i < n; ++i) ++tables[0][bins[i]];
  for (const auto& table : tables) {
    for (size_t bin = 0; bin < counts.size(); ++bin) counts[bin] += table[bin];
  }
}

}  // namespace flowscope
