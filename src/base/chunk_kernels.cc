#include "base/chunk_kernels.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// These loops are worth nothing unless they become vector code, which GCC does in full only at -O3.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "fp-contract=off")
#endif

// The default x86-64 has vectors of 16 bytes; a second version of each kernel uses 32 where the
// processor has them, chosen by the dynamic linker (an ELF feature that glibc has; ThreadSanitizer
// is not ready by then). No fused multiply-add in either: it would round differently.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__)
#define FLOWSCOPE_KERNEL __attribute__((target_clones("avx2", "default")))
#else
#define FLOWSCOPE_KERNEL
#endif
#define FLOWSCOPE_INLINE [[gnu::always_inline]] inline

namespace flowscope {
namespace {

// Accumulators of each kind side by side; more would not fit the registers.
constexpr size_t kLanes = 8;

// Calls add(lane, value) for every value, in an order that does not depend on the vector length.
template <typename T, typename Add>
FLOWSCOPE_INLINE void ForLanes(const T* values, size_t n, Upcoming upcoming, Add add) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    __builtin_prefetch(upcoming.data + i * upcoming.bytes_per_value);
#pragma GCC unroll 1  // unrolled before it becomes vector code, it never becomes any
    for (size_t lane = 0; lane < kLanes; ++lane) add(lane, values[i + lane]);
  }
  for (size_t lane = 0; i + lane < n; ++lane) add(lane, values[i + lane]);
}

FLOWSCOPE_INLINE double SumOfLanes(const double* lanes) {
  double sums[kLanes];
  for (size_t i = 0; i < kLanes; ++i) sums[i] = lanes[i];
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t i = 0; i < width; ++i) sums[i] += sums[i + width];
  }
  return sums[0];
}

// What the loops ask about the bits of a value, each 1 or 0 and without a comparison: adding the
// gap between the infinity's code and the sign bit to a magnitude carries into the sign bit exactly
// for infinities and NaN. Comparisons with 64 bits have no vector form in the default x86-64, and
// conditions that choose keep the compiler from vector code.
template <typename F>
struct BitTests {
  using Bits = typename F::Bits;
  static constexpr int kSignShift = std::numeric_limits<Bits>::digits - 1;
  static constexpr Bits kGap = F::kSign - F::kInf;

  explicit BitTests(typename F::Raw value)
      : bits(std::bit_cast<Bits>(value)), magnitude(bits & static_cast<Bits>(~F::kSign)) {}

  static Bits Top(Bits sum) { return static_cast<Bits>(sum >> kSignShift); }
  Bits Negative() const { return Top(bits); }
  Bits Zero() const { return Top(static_cast<Bits>(magnitude - 1)); }
  Bits NonFinite() const { return Top(static_cast<Bits>(magnitude + kGap)); }
  Bits Nan() const { return Top(static_cast<Bits>(magnitude + kGap - 1)); }
  // All ones for a finite value, else 0.
  Bits FiniteMask() const { return static_cast<Bits>(NonFinite() - 1); }

  Bits bits;
  Bits magnitude;
};

template <typename F>
FLOWSCOPE_INLINE bool AnyNonFiniteOf(const typename F::Raw* values, size_t n) {
  typename F::Bits seen = 0;
  for (size_t i = 0; i < n; ++i) seen |= BitTests<F>(values[i]).NonFinite();
  return seen != 0;
}

// The counters are as wide as the values; a chunk is too small to overflow 16 bits.
template <typename F>
FLOWSCOPE_INLINE NonFiniteCounts CountChunkOf(const typename F::Raw* values, size_t n) {
  using Bits = typename F::Bits;
  static_assert(kChunkElements <= std::numeric_limits<Bits>::max());
  Bits nan = 0, inf = 0, neg_inf = 0;
  for (size_t i = 0; i < n; ++i) {
    const BitTests<F> tests(values[i]);
    const Bits is_inf = tests.NonFinite() ^ tests.Nan();
    nan += tests.Nan();
    inf += is_inf;
    neg_inf += is_inf & tests.Negative();
  }
  return {static_cast<int64_t>(nan), static_cast<int64_t>(inf) - static_cast<int64_t>(neg_inf),
          static_cast<int64_t>(neg_inf)};
}

// Moving exponent and mantissa to a float's place gives the value times 2^-112, denormals included;
// the sign comes along.
FLOWSCOPE_INLINE float HalfToFloat(uint16_t half) {
  const uint32_t moved = static_cast<uint32_t>(static_cast<int16_t>(half)) << 13 & 0x8fffe000u;
  const uint32_t scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(moved) * 0x1p112f);
  const uint32_t is_special = ((half & 0x7fffu) + 0x400u) >> 15;
  return std::bit_cast<float>(scaled | ((0u - is_special) & 0x7f800000u));
}

FLOWSCOPE_INLINE void WidenHalves(const uint16_t* values, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) out[i] = HalfToFloat(values[i]);
}

#if defined(__x86_64__)
// The processor's own conversion, which is exact too; as many of the values as make whole vectors.
__attribute__((target("avx,f16c"))) size_t WidenByF16c(const uint16_t* values, size_t n,
                                                       float* out) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values + i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(halves));
  }
  return i;
}
#endif

// One accumulator of each kind per lane.
template <typename T>
struct SumLanes {
  using Count = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

  SumLanes() {
    std::fill(min, min + kLanes, std::numeric_limits<T>::infinity());
    std::fill(max, max + kLanes, -std::numeric_limits<T>::infinity());
  }

  FLOWSCOPE_INLINE void Add(size_t lane, T value, double pivot, Count zero) {
    const double deviation = static_cast<double>(value) - pivot;
    sum[lane] += deviation;
    squares[lane] += deviation * deviation;
    min[lane] = value < min[lane] ? value : min[lane];
    max[lane] = value > max[lane] ? value : max[lane];
    zeros[lane] += zero;
  }

  FLOWSCOPE_INLINE ChunkSums Total() const {
    ChunkSums sums;
    sums.sum = SumOfLanes(sum);
    sums.squares = SumOfLanes(squares);
    sums.min = static_cast<double>(*std::min_element(min, min + kLanes));
    sums.max = static_cast<double>(*std::max_element(max, max + kLanes));
    for (Count count : zeros) sums.zeros += static_cast<int64_t>(count);
    return sums;
  }

  double sum[kLanes] = {};
  double squares[kLanes] = {};
  T min[kLanes];
  T max[kLanes];
  Count zeros[kLanes] = {};
};

template <typename F>
FLOWSCOPE_INLINE ChunkSums SumChunkOf(const typename F::Raw* values, size_t n, double pivot,
                                      Upcoming upcoming) {
  using T = typename F::Raw;
  SumLanes<T> lanes;
  ForLanes(values, n, upcoming,
           [&](size_t lane, T value) { lanes.Add(lane, value, pivot, value == T{0} ? 1 : 0); });
  return lanes.Total();
}

// The pivot in place of what is not finite: its deviation is 0, and as one of the values it changes
// no extreme.
template <typename F>
FLOWSCOPE_INLINE ChunkSums SumFiniteOf(const typename F::Raw* values, size_t n, double pivot,
                                       Upcoming upcoming) {
  using T = typename F::Raw;
  using Bits = typename F::Bits;
  const Bits pivot_bits = std::bit_cast<Bits>(static_cast<T>(pivot));
  SumLanes<T> lanes;
  ForLanes(values, n, upcoming, [&](size_t lane, T value) {
    const BitTests<F> tests(value);
    const Bits mask = tests.FiniteMask();
    const Bits bits = (tests.bits & mask) | (pivot_bits & ~mask);
    lanes.Add(lane, std::bit_cast<T>(bits), pivot, tests.Zero());
  });
  return lanes.Total();
}

// The two choices are those of the processor's minimum and maximum: NaN fails every comparison.
template <typename T>
FLOWSCOPE_INLINE void FindBinsOf(const T* values, size_t n, const BinRule& rule, int32_t* bins) {
  const double prescale = rule.prescale, low = rule.low, scale = rule.scale;
  const double last_bin = rule.last_bin;
  for (size_t i = 0; i < n; ++i) {
    const double value = static_cast<double>(values[i]);
    // No float is so large or small that double needs the prescale.
    const double scaled = sizeof(T) == sizeof(double) ? value * prescale : value;
    const double place = (scaled - low) * scale;
    const double below = place < last_bin ? place : last_bin;
    bins[i] = static_cast<int32_t>(below > 0.0 ? below : 0.0);
  }
}

template <typename T, typename Wide>
FLOWSCOPE_INLINE void WidenIntegers(const T* values, size_t n, Wide* out) {
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<Wide>(values[i]);
}

}  // namespace

FLOWSCOPE_KERNEL bool AnyNonFinite(Float32Raw, const float* values, size_t n) {
  return AnyNonFiniteOf<Float32Raw>(values, n);
}
FLOWSCOPE_KERNEL bool AnyNonFinite(Float64Raw, const double* values, size_t n) {
  return AnyNonFiniteOf<Float64Raw>(values, n);
}
FLOWSCOPE_KERNEL bool AnyNonFinite(Float16Raw, const uint16_t* values, size_t n) {
  return AnyNonFiniteOf<Float16Raw>(values, n);
}
FLOWSCOPE_KERNEL bool AnyNonFinite(Bfloat16Raw, const uint16_t* values, size_t n) {
  return AnyNonFiniteOf<Bfloat16Raw>(values, n);
}

FLOWSCOPE_KERNEL NonFiniteCounts CountChunk(Float32Raw, const float* values, size_t n) {
  return CountChunkOf<Float32Raw>(values, n);
}
FLOWSCOPE_KERNEL NonFiniteCounts CountChunk(Float64Raw, const double* values, size_t n) {
  return CountChunkOf<Float64Raw>(values, n);
}
FLOWSCOPE_KERNEL NonFiniteCounts CountChunk(Float16Raw, const uint16_t* values, size_t n) {
  return CountChunkOf<Float16Raw>(values, n);
}
FLOWSCOPE_KERNEL NonFiniteCounts CountChunk(Bfloat16Raw, const uint16_t* values, size_t n) {
  return CountChunkOf<Bfloat16Raw>(values, n);
}

void Widen(Float16Raw, const uint16_t* values, size_t n, float* out) {
  size_t done = 0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("f16c")) done = WidenByF16c(values, n, out);
#endif
  WidenHalves(values + done, n - done, out + done);
}
FLOWSCOPE_KERNEL void Widen(Bfloat16Raw, const uint16_t* values, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) {
    out[i] = std::bit_cast<float>(static_cast<uint32_t>(values[i]) << 16);
  }
}

FLOWSCOPE_KERNEL void Widen(const int16_t* values, size_t n, float* out) {
  WidenIntegers(values, n, out);
}
FLOWSCOPE_KERNEL void Widen(const uint16_t* values, size_t n, float* out) {
  WidenIntegers(values, n, out);
}
FLOWSCOPE_KERNEL void Widen(const int32_t* values, size_t n, double* out) {
  WidenIntegers(values, n, out);
}
FLOWSCOPE_KERNEL void Widen(const uint32_t* values, size_t n, double* out) {
  WidenIntegers(values, n, out);
}
FLOWSCOPE_KERNEL void Widen(const int64_t* values, size_t n, double* out) {
  WidenIntegers(values, n, out);
}
FLOWSCOPE_KERNEL void Widen(const uint64_t* values, size_t n, double* out) {
  WidenIntegers(values, n, out);
}

FLOWSCOPE_KERNEL ChunkSums SumChunk(const float* values, size_t n, double pivot,
                                    Upcoming upcoming) {
  return SumChunkOf<Float32Raw>(values, n, pivot, upcoming);
}
FLOWSCOPE_KERNEL ChunkSums SumChunk(const double* values, size_t n, double pivot,
                                    Upcoming upcoming) {
  return SumChunkOf<Float64Raw>(values, n, pivot, upcoming);
}
FLOWSCOPE_KERNEL ChunkSums SumFinite(const float* values, size_t n, double pivot,
                                     Upcoming upcoming) {
  return SumFiniteOf<Float32Raw>(values, n, pivot, upcoming);
}
FLOWSCOPE_KERNEL ChunkSums SumFinite(const double* values, size_t n, double pivot,
                                     Upcoming upcoming) {
  return SumFiniteOf<Float64Raw>(values, n, pivot, upcoming);
}

FLOWSCOPE_KERNEL void FindBins(const float* values, size_t n, const BinRule& rule, int32_t* bins) {
  FindBinsOf(values, n, rule, bins);
}
FLOWSCOPE_KERNEL void FindBins(const double* values, size_t n, const BinRule& rule, int32_t* bins) {
  FindBinsOf(values, n, rule, bins);
}

}  // namespace flowscope
