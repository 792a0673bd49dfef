// A payload's elements as chunks of float or double values, whatever their dtype.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/chunk_kernels.h"
#include "base/payload.h"

namespace flowscope {

// Element `begin` and the next n-1 as T: in place, or copied into `room` where the memory is not
// aligned for T (a value mapped from a file can start anywhere).
template <typename T>
const T* ReadRaw(const void* data, int64_t begin, size_t n, T* room) {
  const std::byte* at =
      static_cast<const std::byte*>(data) + static_cast<size_t>(begin) * sizeof(T);
  if (reinterpret_cast<uintptr_t>(at) % alignof(T) == 0) return reinterpret_cast<const T*>(at);
  std::memcpy(room, at, n * sizeof(T));
  return room;
}

// Elements in the unit of work of a thread; fixed, so that sums come out the same on any machine.
inline constexpr int64_t kBlockElements = int64_t{64} * static_cast<int64_t>(kChunkElements);

// Calls chunk(begin, n) for the chunks of block `block` of `count` elements, in order.
template <typename Chunk>
void ForChunks(int64_t block, int64_t count, Chunk chunk) {
  const int64_t end = std::min(count, (block + 1) * kBlockElements);
  for (int64_t begin = block * kBlockElements; begin < end; begin += kChunkElements) {
    chunk(begin, static_cast<size_t>(std::min<int64_t>(kChunkElements, end - begin)));
  }
}

// The memory of the chunk after that of `n` elements from `begin`.
inline Upcoming UpcomingAfter(const Payload& payload, int64_t begin, size_t n) {
  const size_t size = DTypeSize(payload.dtype);
  return {static_cast<const std::byte*>(payload.data) + (static_cast<size_t>(begin) + n) * size,
          size};
}

inline int64_t NumBlocks(int64_t count) { return (count + kBlockElements - 1) / kBlockElements; }

// Every source has `Value`, float where it holds all of the dtype's values exactly, else double,
// and `Read`, whose answer lives as long as the payload and the source. n is at most
// kChunkElements.
template <typename T>
class InPlaceSource {
 public:
  using Value = T;
  const Value* Read(const void* data, int64_t begin, size_t n) {
    return ReadRaw<T>(data, begin, n, room_);
  }

 private:
  T room_[kChunkElements];
};

template <typename Format>
class HalfSource {
 public:
  using Value = float;
  const Value* Read(const void* data, int64_t begin, size_t n) {
    Widen(Format{}, ReadRaw<uint16_t>(data, begin, n, room_), n, values_);
    return values_;
  }

 private:
  uint16_t room_[kChunkElements];
  float values_[kChunkElements];
};

template <typename T>
class IntegerSource {
 public:
  using Value = std::conditional_t<sizeof(T) <= 2, float, double>;
  const Value* Read(const void* data, int64_t begin, size_t n) {
    Widen(ReadRaw<T>(data, begin, n, room_), n, values_);
    return values_;
  }

 private:
  T room_[kChunkElements];
  Value values_[kChunkElements];
};

// Magnitude of a complex number, or what makes it non-finite: NaN if either part is, else an
// infinity with the sign of the first infinite part. A finite number whose magnitude does not fit
// double gives the largest double.
template <typename T>
double ComplexMagnitude(T real, T imaginary) {
  if (std::isnan(real) || std::isnan(imaginary)) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(real)) return static_cast<double>(real);
  if (std::isinf(imaginary)) return static_cast<double>(imaginary);
  if constexpr (std::is_same_v<T, float>) {
    const double a = real, b = imaginary;
    return std::sqrt(a * a + b * b);
  } else {
    return std::min(std::hypot(real, imaginary), std::numeric_limits<double>::max());
  }
}

template <typename T>
class ComplexSource {
 public:
  using Value = double;
  const Value* Read(const void* data, int64_t begin, size_t n) {
    const T* raw = ReadRaw<T>(data, begin * 2, n * 2, room_);
    for (size_t i = 0; i < n; ++i) values_[i] = ComplexMagnitude(raw[2 * i], raw[2 * i + 1]);
    return values_;
  }

 private:
  T room_[2 * kChunkElements];
  double values_[kChunkElements];
};

template <typename Source>
struct SourceTag {
  using Type = Source;
};

// Calls visit(SourceTag<...>) for a dtype whose elements are wider than a byte. False, without a
// call, for any other.
template <typename Visit>
bool VisitSource(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kFloat32:
      visit(SourceTag<InPlaceSource<float>>{});
      return true;
    case DType::kFloat64:
      visit(SourceTag<InPlaceSource<double>>{});
      return true;
    case DType::kFloat16:
      visit(SourceTag<HalfSource<Float16Raw>>{});
      return true;
    case DType::kBfloat16:
      visit(SourceTag<HalfSource<Bfloat16Raw>>{});
      return true;
    case DType::kInt16:
    case DType::kQint16:
      visit(SourceTag<IntegerSource<int16_t>>{});
      return true;
    case DType::kUint16:
    case DType::kQuint16:
      visit(SourceTag<IntegerSource<uint16_t>>{});
      return true;
    case DType::kInt32:
    case DType::kQint32:
      visit(SourceTag<IntegerSource<int32_t>>{});
      return true;
    case DType::kUint32:
      visit(SourceTag<IntegerSource<uint32_t>>{});
      return true;
    case DType::kInt64:
      visit(SourceTag<IntegerSource<int64_t>>{});
      return true;
    case DType::kUint64:
      visit(SourceTag<IntegerSource<uint64_t>>{});
      return true;
    case DType::kComplex64:
      visit(SourceTag<ComplexSource<float>>{});
      return true;
    case DType::kComplex128:
      visit(SourceTag<ComplexSource<double>>{});
      return true;
    default:
      return false;
  }
}

}  // namespace flowscope
