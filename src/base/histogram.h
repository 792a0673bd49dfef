// Counts of the finite values of a payload in equal bins between their extremes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/chunk_source.h"
#include "base/parallel.h"
#include "base/payload.h"
#include "base/stats.h"

namespace flowscope {

// The rule for kHistogramBins bins over [min, max], both finite. Where they
// are equal all values fall in the first.
BinRule MakeBinRule(double min, double max);

// The bin of one finite value.
size_t BinOf(double value, const BinRule& rule);

using BinCounts = std::array<int64_t, kHistogramBins>;

// Adds one to the counts of each of `n` bins, meanwhile asking for `upcoming` memory.
void CountBins(const int32_t* bins, size_t n, Upcoming upcoming, BinCounts& counts);

// Fills the histogram of `stats`, all of whose other fields are there already.
template <typename Source>
void FillHistogram(const Payload& payload, int threads, Stats& stats) {
  if (stats.min == stats.max) {
    stats.histogram[0] = stats.finite();
    return;
  }
  const BinRule rule = MakeBinRule(stats.min, stats.max);
  std::mutex mutex;
  RunBlocks(NumBlocks(stats.count), threads, [&](int64_t block) {
    Source source;
    int32_t bins[kChunkElements];
    BinCounts counts{};
    ForChunks(block, stats.count, [&](int64_t begin, size_t n) {
      FindBins(source.Read(payload.data, begin, n), n, rule, bins);
      CountBins(bins, n, UpcomingAfter(payload, begin, n), counts);
    });
    const std::lock_guard lock(mutex);
    for (size_t bin = 0; bin < counts.size(); ++bin) stats.histogram[bin] += counts[bin];
  });
  stats.histogram.back() -= stats.nan + stats.pos_inf;
  stats.histogram.front() -= stats.neg_inf;
}

}  // namespace flowscope
