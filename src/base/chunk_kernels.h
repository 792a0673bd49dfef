// The inner loops of the statistics, over one chunk of values small enough to stay in the
// first-level cache between passes. All are plain loops over a fixed number of independent
// accumulators, which the compiler turns into vector code; on x86-64 an AVX2 version is chosen when
// the program starts. Both versions do the same operations in the same order, so results do not
// depend on the processor.
//
// Callers hold a ScopedDefaultFpEnvironment.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace flowscope {

// At most this many values in one call.
inline constexpr size_t kChunkElements = 2048;

// How the raw values of a floating dtype look, for overloads on the formats that have kernels.
struct Float32Raw {
  using Raw = float;
  using Bits = uint32_t;
  static constexpr Bits kSign = 0x80000000u;
  static constexpr Bits kInf = 0x7f800000u;
};
struct Float64Raw {
  using Raw = double;
  using Bits = uint64_t;
  static constexpr Bits kSign = 0x8000000000000000u;
  static constexpr Bits kInf = 0x7ff0000000000000u;
};
struct Float16Raw {
  using Raw = uint16_t;
  using Bits = uint16_t;
  static constexpr Bits kSign = 0x8000u;
  static constexpr Bits kInf = 0x7c00u;
};
struct Bfloat16Raw {
  using Raw = uint16_t;
  using Bits = uint16_t;
  static constexpr Bits kSign = 0x8000u;
  static constexpr Bits kInf = 0x7f80u;
};

// {nan, pos_inf, neg_inf}.
using NonFiniteCounts = std::array<int64_t, 3>;

bool AnyNonFinite(Float32Raw format, const float* values, size_t n);
bool AnyNonFinite(Float64Raw format, const double* values, size_t n);
bool AnyNonFinite(Float16Raw format, const uint16_t* values, size_t n);
bool AnyNonFinite(Bfloat16Raw format, const uint16_t* values, size_t n);

NonFiniteCounts CountChunk(Float32Raw format, const float* values, size_t n);
NonFiniteCounts CountChunk(Float64Raw format, const double* values, size_t n);
NonFiniteCounts CountChunk(Float16Raw format, const uint16_t* values, size_t n);
NonFiniteCounts CountChunk(Bfloat16Raw format, const uint16_t* values, size_t n);

// Infinities and NaN stay what they are.
void Widen(Float16Raw format, const uint16_t* values, size_t n, float* out);
void Widen(Bfloat16Raw format, const uint16_t* values, size_t n, float* out);

// Exact for 16 and 32 bits, to the nearest double for 64.
void Widen(const int16_t* values, size_t n, float* out);
void Widen(const uint16_t* values, size_t n, float* out);
void Widen(const int32_t* values, size_t n, double* out);
void Widen(const uint32_t* values, size_t n, double* out);
void Widen(const int64_t* values, size_t n, double* out);
void Widen(const uint64_t* values, size_t n, double* out);

// Sums of the deviations from a pivot: near the values they lose nothing to cancellation, so one
// pass is enough for mean and variance.
struct ChunkSums {
  double sum = 0;      // of (value - pivot)
  double squares = 0;  // of (value - pivot) squared
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  int64_t zeros = 0;
};

// Memory that is needed soon, to be asked for while the processor computes: without it a loop over
// chunks computes and waits for memory in turns. Nothing is read, so it may lie beyond the end.
struct Upcoming {
  const std::byte* data = nullptr;
  size_t bytes_per_value = 0;
};

// For floats the sum is finite exactly when all values and the pivot are: it cannot overflow in
// double. For doubles it is not finite when one is not, or when it overflows. The rest of the
// answer has a meaning only where all values are finite.
ChunkSums SumChunk(const float* values, size_t n, double pivot, Upcoming upcoming);
ChunkSums SumChunk(const double* values, size_t n, double pivot, Upcoming upcoming);

// The same over the finite values alone, one of which the pivot has to be.
ChunkSums SumFinite(const float* values, size_t n, double pivot, Upcoming upcoming);
ChunkSums SumFinite(const double* values, size_t n, double pivot, Upcoming upcoming);

// Where a value falls in equal bins: floor((value * prescale - low) * scale), at most last_bin. NaN
// and infinity fall in last_bin, minus infinity in bin 0; whoever counts takes them off again.
struct BinRule {
  double prescale =
      1;             // a power of two that keeps the rest within the range of double; 1 for floats
  double low = 0;    // the smallest value, prescaled
  double scale = 0;  // bins per prescaled unit
  int32_t last_bin = 0;
};

void FindBins(const float* values, size_t n, const BinRule& rule, int32_t* bins);
void FindBins(const double* values, size_t n, const BinRule& rule, int32_t* bins);

}  // namespace flowscope
