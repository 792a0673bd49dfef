#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "base/chunk_source.h"
#include "base/element.h"
#include "base/fp_environment.h"
#include "base/parallel.h"
#include "base/stats.h"

namespace flowscope {
namespace {

bool CanBeNonFinite(DType dtype) { return IsFloating(dtype) || IsComplex(dtype); }

NonFiniteKind KindOf(FloatClass float_class) {
  switch (float_class) {
    case FloatClass::kPosInf:
      return NonFiniteKind::kPosInf;
    case FloatClass::kNegInf:
      return NonFiniteKind::kNegInf;
    default:
      return NonFiniteKind::kNan;
  }
}

// A scanner answers for one chunk of its dtype: is anything there (quickly), and how many of each.
template <typename Format>
class FloatScanner {
 public:
  using Raw = typename Format::Raw;
  bool Any(const Payload& payload, int64_t begin, size_t n) {
    return AnyNonFinite(Format{}, ReadRaw<Raw>(payload.data, begin, n, room_), n);
  }
  NonFiniteCounts Count(const Payload& payload, int64_t begin, size_t n) {
    const Raw* values = ReadRaw<Raw>(payload.data, begin, n, room_);
    return AnyNonFinite(Format{}, values, n) ? CountChunk(Format{}, values, n) : NonFiniteCounts{};
  }

 private:
  Raw room_[kChunkElements];
};

// Both parts of a complex number are floats in a row.
template <typename Format>
class ComplexScanner {
 public:
  using Raw = typename Format::Raw;
  bool Any(const Payload& payload, int64_t begin, size_t n) {
    return AnyNonFinite(Format{}, ReadRaw<Raw>(payload.data, 2 * begin, 2 * n, room_), 2 * n);
  }
  NonFiniteCounts Count(const Payload& payload, int64_t begin, size_t n) {
    if (!Any(payload, begin, n)) return {};
    const double* magnitudes = magnitudes_.Read(payload.data, begin, n);
    return CountChunk(Float64Raw{}, magnitudes, n);
  }

 private:
  Raw room_[2 * kChunkElements];
  ComplexSource<Raw> magnitudes_;
};

class Float8Scanner {
 public:
  bool Any(const Payload& payload, int64_t begin, size_t n) {
    return Count(payload, begin, n) != NonFiniteCounts{};
  }
  NonFiniteCounts Count(const Payload& payload, int64_t begin, size_t n) {
    const uint8_t* codes = static_cast<const uint8_t*>(payload.data) + begin;
    const std::array<double, 256>& values = ByteValues(payload.dtype);
    NonFiniteCounts counts{};
    for (size_t i = 0; i < n; ++i) {
      const double value = values[codes[i]];
      counts[0] += std::isnan(value) ? 1 : 0;
      counts[1] += value == std::numeric_limits<double>::infinity() ? 1 : 0;
      counts[2] += value == -std::numeric_limits<double>::infinity() ? 1 : 0;
    }
    return counts;
  }
};

// Calls visit(scanner tag) for a dtype with CanBeNonFinite().
template <typename Visit>
void VisitScanner(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kFloat32:
      return visit(SourceTag<FloatScanner<Float32Raw>>{});
    case DType::kFloat64:
      return visit(SourceTag<FloatScanner<Float64Raw>>{});
    case DType::kFloat16:
      return visit(SourceTag<FloatScanner<Float16Raw>>{});
    case DType::kBfloat16:
      return visit(SourceTag<FloatScanner<Bfloat16Raw>>{});
    case DType::kComplex64:
      return visit(SourceTag<ComplexScanner<Float32Raw>>{});
    case DType::kComplex128:
      return visit(SourceTag<ComplexScanner<Float64Raw>>{});
    default:
      return visit(SourceTag<Float8Scanner>{});
  }
}

template <typename Scanner>
NonFiniteCounts CountAll(const Payload& payload, int64_t count) {
  NonFiniteCounts total{};
  std::mutex mutex;
  RunBlocks(NumBlocks(count), ThreadsFor(payload.nbytes, 0), [&](int64_t block) {
    Scanner scanner;
    NonFiniteCounts part{};
    ForChunks(block, count, [&](int64_t begin, size_t n) {
      const NonFiniteCounts counts = scanner.Count(payload, begin, n);
      for (size_t kind = 0; kind < part.size(); ++kind) part[kind] += counts[kind];
    });
    const std::lock_guard lock(mutex);
    for (size_t kind = 0; kind < part.size(); ++kind) total[kind] += part[kind];
  });
  return total;
}

// The first chunk of a block that holds a non-finite element, by its first element's index; -1 for
// none.
template <typename Scanner>
int64_t FirstChunkIn(const Payload& payload, int64_t count, int64_t block) {
  Scanner scanner;
  int64_t found = -1;
  ForChunks(block, count, [&](int64_t begin, size_t n) {
    if (found < 0 && scanner.Any(payload, begin, n)) found = begin;
  });
  return found;
}

// As FirstChunkIn, over all blocks. Blocks start in ascending order, so once one has a hit only
// those before it matter, and they are all running or done.
template <typename Scanner>
int64_t FirstChunk(const Payload& payload, int64_t count) {
  std::atomic<int64_t> best{std::numeric_limits<int64_t>::max()};
  RunBlocks(NumBlocks(count), ThreadsFor(payload.nbytes, 0), [&](int64_t block) {
    if (block * kBlockElements > best) return;
    const int64_t found = FirstChunkIn<Scanner>(payload, count, block);
    int64_t known = best;
    while (found >= 0 && found < known && !best.compare_exchange_weak(known, found)) {
    }
  });
  return best < count ? best.load() : -1;
}

}  // namespace

std::array<int64_t, 3> CountNonFinite(const Payload& payload) {
  if (!CanBeNonFinite(payload.dtype)) return {};
  const ScopedDefaultFpEnvironment environment;
  const int64_t count = ReadableElements(payload);
  NonFiniteCounts counts{};
  VisitScanner(payload.dtype,
               [&](auto tag) { counts = CountAll<typename decltype(tag)::Type>(payload, count); });
  return counts;
}

std::optional<NonFinite> FirstNonFinite(const Payload& payload) {
  if (!CanBeNonFinite(payload.dtype)) return std::nullopt;
  const ScopedDefaultFpEnvironment environment;
  const int64_t count = ReadableElements(payload);
  int64_t index = -1;
  VisitScanner(payload.dtype,
               [&](auto tag) { index = FirstChunk<typename decltype(tag)::Type>(payload, count); });
  if (index < 0) return std::nullopt;
  for (; index < count; ++index) {
    const FloatClass float_class = ClassifyElement(payload, index);
    if (float_class != FloatClass::kFinite) return NonFinite{index, KindOf(float_class)};
  }
  return std::nullopt;  // only where someone changes the values meanwhile
}

}  // namespace flowscope
