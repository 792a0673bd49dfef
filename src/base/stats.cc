#include "base/stats.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/chunk_source.h"
#include "base/element.h"
#include "base/float_formats.h"
#include "base/fp_environment.h"
#include "base/histogram.h"
#include "base/moments.h"
#include "base/parallel.h"

namespace flowscope {
namespace {

Float32Raw RawFormat(const float*) { return {}; }
Float64Raw RawFormat(const double*) { return {}; }

template <typename T>
T MedianOfThree(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// One of the finite values, where possible one from the middle, since deviations from it are
// summed; 0 if there is none.
template <typename T>
T Pivot(const T* values, size_t n) {
  const T middle = MedianOfThree(values[n / 4], values[n / 2], values[n - 1 - n / 4]);
  if (std::isfinite(middle)) return middle;
  const T* found = std::find_if(values, values + n, [](T value) { return std::isfinite(value); });
  return found == values + n ? T{0} : *found;
}

// Moments of one chunk after the next, of values multiplied by a power of two.
template <typename Source>
class ChunkReader {
 public:
  using Value = typename Source::Value;

  ChunkReader(const Payload& payload, double scale) : payload_(payload), scale_(scale) {}

  // Chunks are mostly finite, and next to one that is not comes another: so the quick sum is tried
  // first after a finite chunk. Both ways give the same answer.
  Moments MomentsOf(int64_t begin, size_t n) {
    const Value* values = Scaled(source_.Read(payload_.data, begin, n), n);
    const Upcoming upcoming = UpcomingAfter(payload_, begin, n);
    Moments moments;
    moments.finite = static_cast<int64_t>(n);
    if (expect_finite_) {
      const Value pivot = Pivot(values, n);
      const ChunkSums sums = SumChunk(values, n, pivot, upcoming);
      if (std::isfinite(sums.sum)) {
        Fill(sums, pivot, moments);
        return moments;
      }
    }
    moments.nonfinite = CountChunk(RawFormat(values), values, n);
    for (int64_t count : moments.nonfinite) moments.finite -= count;
    expect_finite_ = moments.finite == static_cast<int64_t>(n);
    if (moments.finite == 0) return moments;
    const Value pivot = Pivot(values, n);
    Fill(SumFinite(values, n, pivot, upcoming), pivot, moments);
    return moments;
  }

 private:
  const Value* Scaled(const Value* values, size_t n) {
    if (scale_ == 1) return values;
    for (size_t i = 0; i < n; ++i) scaled_[i] = static_cast<Value>(values[i] * scale_);
    return scaled_;
  }

  static void Fill(const ChunkSums& sums, double pivot, Moments& moments) {
    const double n = static_cast<double>(moments.finite);
    moments.zeros = sums.zeros;
    moments.min = sums.min;
    moments.max = sums.max;
    moments.mean = std::clamp(pivot + sums.sum / n, sums.min, sums.max);
    moments.m2 = std::max(0.0, sums.squares - sums.sum * sums.sum / n);
  }

  const Payload& payload_;
  double scale_;
  bool expect_finite_ = true;
  Source source_;
  Value scaled_[kChunkElements];
};

template <typename Source>
Moments MomentsOf(const Payload& payload, int64_t count, int threads, double scale) {
  std::vector<Moments> parts(static_cast<size_t>(NumBlocks(count)));
  RunBlocks(NumBlocks(count), threads, [&](int64_t block) {
    ChunkReader<Source> reader(payload, scale);
    Moments& part = parts[static_cast<size_t>(block)];
    ForChunks(block, count, [&](int64_t at, size_t n) { part.Add(reader.MomentsOf(at, n)); });
  });
  Moments total;
  for (const Moments& part : parts) total.Add(part);
  return total;
}

// Beyond these magnitudes the squares of doubles overflow or vanish.
bool SquaresFit(const Moments& moments) {
  const double largest = std::max(std::abs(moments.min), std::abs(moments.max));
  return moments.finite == 0 || largest == 0 || (largest > 0x1p-480 && largest < 0x1p480);
}

// The mean and the deviations once more, from values scaled to about 1.
template <typename Source>
void Rescale(const Payload& payload, int64_t count, int threads, const Moments& moments,
             Stats& stats) {
  const double largest = std::max(std::abs(moments.min), std::abs(moments.max));
  const int exponent = std::clamp(-std::ilogb(largest), -1000, 1000);
  const Moments scaled = MomentsOf<Source>(payload, count, threads, std::ldexp(1.0, exponent));
  stats.mean = std::ldexp(scaled.mean, -exponent);
  stats.std = std::ldexp(std::sqrt(scaled.m2 / static_cast<double>(scaled.finite)), -exponent);
}

void FillFrom(const Moments& moments, Stats& stats) {
  stats.zeros = moments.zeros;
  stats.nan = moments.nonfinite[0];
  stats.pos_inf = moments.nonfinite[1];
  stats.neg_inf = moments.nonfinite[2];
  if (moments.finite == 0) return;
  stats.min = moments.min;
  stats.max = moments.max;
  stats.mean = std::clamp(moments.mean, moments.min, moments.max);
  stats.std = std::sqrt(moments.m2 / static_cast<double>(moments.finite));
}

template <typename Source>
void ComputeWide(const Payload& payload, int threads, bool histogram, Stats& stats) {
  const Moments moments = MomentsOf<Source>(payload, stats.count, threads, 1);
  FillFrom(moments, stats);
  if (!SquaresFit(moments)) Rescale<Source>(payload, stats.count, threads, moments, stats);
  if (histogram && moments.finite > 0) FillHistogram<Source>(payload, threads, stats);
}

using ByteCounts = std::array<int64_t, 256>;

// Four tables, since equal bytes in a row would wait for each other's count.
void CountBlock(const uint8_t* bytes, int64_t n, ByteCounts& total) {
  std::array<std::array<uint32_t, 256>, 4> tables{};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    uint32_t four = 0;
    std::memcpy(&four, bytes + i, sizeof(four));
    ++tables[0][four & 0xff];
    ++tables[1][four >> 8 & 0xff];
    ++tables[2][four >> 16 & 0xff];
    ++tables[3][four >> 24];
  }
  for (; i < n; ++i) ++tables[0][bytes[i]];
  for (size_t code = 0; code < total.size(); ++code) {
    for (const auto& table : tables) total[code] += table[code];
  }
}

ByteCounts CountBytes(const Payload& payload, int64_t count, int threads) {
  constexpr int64_t kBlockBytes = int64_t{1} << 20;
  const uint8_t* bytes = static_cast<const uint8_t*>(payload.data);
  ByteCounts total{};
  std::mutex mutex;
  RunBlocks((count + kBlockBytes - 1) / kBlockBytes, threads, [&](int64_t block) {
    const int64_t begin = block * kBlockBytes;
    ByteCounts part{};
    CountBlock(bytes + begin, std::min(kBlockBytes, count - begin), part);
    const std::lock_guard lock(mutex);
    for (size_t code = 0; code < total.size(); ++code) total[code] += part[code];
  });
  return total;
}

// The moments of `count` times one value.
Moments MomentsOfRepeated(double value, int64_t count) {
  Moments moments;
  if (std::isnan(value)) {
    moments.nonfinite[0] = count;
  } else if (std::isinf(value)) {
    moments.nonfinite[value > 0 ? 1 : 2] = count;
  } else {
    moments.finite = count;
    moments.zeros = value == 0 ? count : 0;
    moments.min = moments.max = moments.mean = value;
  }
  return moments;
}

// One byte has only 256 values: counting them answers every question.
void ComputeBytes(const Payload& payload, int threads, bool histogram, Stats& stats) {
  const ByteCounts counts = CountBytes(payload, stats.count, threads);
  const std::array<double, 256>& values = ByteValues(payload.dtype);
  Moments moments;
  for (size_t code = 0; code < counts.size(); ++code) {
    if (counts[code] > 0) moments.Add(MomentsOfRepeated(values[code], counts[code]));
  }
  FillFrom(moments, stats);
  if (!histogram || moments.finite == 0) return;
  const BinRule rule = MakeBinRule(stats.min, stats.max);
  for (size_t code = 0; code < counts.size(); ++code) {
    if (counts[code] > 0 && std::isfinite(values[code])) {
      stats.histogram[BinOf(values[code], rule)] += counts[code];
    }
  }
}

}  // namespace

Stats ComputeStats(const Payload& payload, int threads, bool histogram) {
  Stats stats;
  if (!IsPlainBytes(payload.dtype)) {
    const bool is_string = payload.dtype == DType::kString;
    stats.count = is_string ? ReadableElements(payload) : payload.num_elements();
    return stats;
  }
  const ScopedDefaultFpEnvironment environment;
  stats.numeric = true;
  stats.count = ReadableElements(payload);
  const int workers = ThreadsFor(payload.nbytes, threads);
  const bool wide = VisitSource(payload.dtype, [&](auto tag) {
    ComputeWide<typename decltype(tag)::Type>(payload, workers, histogram, stats);
  });
  if (!wide) ComputeBytes(payload, workers, histogram, stats);
  return stats;
}

}  // namespace flowscope
