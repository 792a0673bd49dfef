// Statistics and non-finite scan against the memory bandwidth of the machine: every iteration times
// a plain threaded read of the same bytes and then the kernel, and the counter `of_read` is the
// ratio of the medians (1 is as fast as memory can be read). `of_read_cpu` is the same in processor
// time, which other programs on the machine disturb less. `of_memcpy` compares with the bytes that
// memcpy moves, reads and writes together.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/parallel.h"
#include "base/stats.h"

namespace flowscope {
namespace {

// Much larger than a last-level cache.
constexpr size_t kBytes = size_t{256} << 20;
constexpr int64_t kBlockBytes = int64_t{1} << 19;

enum class Fill : int { kFinite, kFewNan, kAllNan };

struct Buffer {
  std::vector<uint64_t> words;
  Payload payload;
};

uint64_t NextRandom(uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

// About normally distributed, which is how activations look.
double NextNormal(uint64_t& state) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(NextRandom(state)) / 0x1p31;
  return sum;
}

// The bits of a value in a dtype, rounding towards zero where it is narrow.
uint64_t BitsOf(DType dtype, double value) {
  const float narrow = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof(bits));
  const bool finite = std::isfinite(value);
  switch (dtype) {
    case DType::kFloat64: {
      uint64_t wide = 0;
      std::memcpy(&wide, &value, sizeof(wide));
      return wide;
    }
    case DType::kFloat32:
      return bits;
    case DType::kBfloat16:
      return bits >> 16;
    case DType::kFloat16:
      if (!finite) return 0x7e00;
      return (bits >> 16 & 0x8000) |
             (std::abs(value) < 0x1p-14 ? 0 : ((bits & 0x7fffffff) >> 13) - 0x1c000);
    default:
      return static_cast<uint64_t>(static_cast<int64_t>(value * 100));
  }
}

const Buffer& BufferOf(DType dtype, Fill fill) {
  static std::unique_ptr<Buffer> buffer;
  static DType held_dtype = DType::kInvalid;
  static Fill held_fill = Fill::kFinite;
  if (buffer && held_dtype == dtype && held_fill == fill) return *buffer;
  buffer = std::make_unique<Buffer>();
  buffer->words.resize(kBytes / sizeof(uint64_t));
  const size_t size = DTypeSize(dtype);
  char* bytes = reinterpret_cast<char*>(buffer->words.data());
  uint64_t state = 1;
  constexpr size_t kPattern = 1 << 20;  // repeated: making random numbers takes longer than to use
  for (size_t i = 0; i < kPattern; ++i) {
    const bool nan = fill == Fill::kAllNan || (fill == Fill::kFewNan && i % 1000 == 999);
    const double value = nan ? std::numeric_limits<double>::quiet_NaN() : NextNormal(state);
    const uint64_t bits = BitsOf(dtype, value);
    std::memcpy(bytes + i * size, &bits, size);
  }
  for (size_t at = kPattern * size; at < kBytes; at += kPattern * size) {
    std::memcpy(bytes + at, bytes, kPattern * size);
  }
  buffer->payload = {dtype, {static_cast<int64_t>(kBytes / size)}, bytes, kBytes, {}, nullptr};
  held_dtype = dtype;
  held_fill = fill;
  return *buffer;
}

void ReadAll(const Buffer& buffer, int threads) {
  RunBlocks(kBytes / kBlockBytes, threads, [&](int64_t block) {
    const uint64_t* words = buffer.words.data() + block * (kBlockBytes / 8);
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (int64_t i = 0; i < kBlockBytes / 8; i += 4) {
      a ^= words[i];
      b ^= words[i + 1];
      c ^= words[i + 2];
      d ^= words[i + 3];
    }
    uint64_t sums = a ^ b ^ c ^ d;
    benchmark::DoNotOptimize(sums);
  });
}

void CopyAll(const Buffer& buffer, std::vector<uint64_t>& to, int threads) {
  RunBlocks(kBytes / kBlockBytes, threads, [&](int64_t block) {
    const int64_t at = block * (kBlockBytes / 8);
    std::memcpy(to.data() + at, buffer.words.data() + at, kBlockBytes);
  });
}

struct Times {
  std::vector<double> wall;
  std::vector<double> cpu;  // of all threads
};

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void Measure(const std::function<void()>& work, Times& times) {
  const double cpu = CpuSeconds();
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  times.wall.push_back(wall.count());
  times.cpu.push_back(CpuSeconds() - cpu);
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void Compare(benchmark::State& state, DType dtype, Fill fill, int threads,
             const std::function<void(const Payload&, int)>& kernel) {
  const Buffer& buffer = BufferOf(dtype, fill);
  static std::vector<uint64_t> copy(kBytes / sizeof(uint64_t));
  Times reads, copies, kernels;
  for (auto _ : state) {
    Measure([&] { ReadAll(buffer, threads); }, reads);
    Measure([&] { CopyAll(buffer, copy, threads); }, copies);
    Measure([&] { kernel(buffer.payload, threads); }, kernels);
    state.SetIterationTime(kernels.wall.back());
  }
  state.SetBytesProcessed(static_cast<int64_t>(kBytes) * state.iterations());
  state.counters["of_read"] = Median(reads.wall) / Median(kernels.wall);
  state.counters["of_read_cpu"] = Median(reads.cpu) / Median(kernels.cpu);
  state.counters["of_memcpy"] = Median(copies.wall) / 2 / Median(kernels.wall);
}

void StatsKernel(const Payload& payload, int threads) {
  benchmark::DoNotOptimize(ComputeStats(payload, threads, false));
}
void HistogramKernel(const Payload& payload, int threads) {
  benchmark::DoNotOptimize(ComputeStats(payload, threads, true));
}
void CountKernel(const Payload& payload, int) { benchmark::DoNotOptimize(CountNonFinite(payload)); }
void FirstKernel(const Payload& payload, int) { benchmark::DoNotOptimize(FirstNonFinite(payload)); }
void HashKernel(const Payload& payload, int) { benchmark::DoNotOptimize(ContentHash(payload)); }

void Register(const std::string& name, DType dtype, Fill fill, int threads,
              void (*kernel)(const Payload&, int)) {
  const std::string full =
      name + "/" + std::string(DTypeName(dtype)) + (threads == 1 ? "/1 thread" : "/all threads");
  benchmark::RegisterBenchmark(
      full.c_str(), [=](benchmark::State& state) { Compare(state, dtype, fill, threads, kernel); })
      ->UseManualTime()
      ->Iterations(7)
      ->Unit(benchmark::kMillisecond);
}

void RegisterAll() {
  const int all = ThreadsFor(kBytes, 0);
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16, DType::kFloat16,
                      DType::kInt32, DType::kInt64, DType::kUint8}) {
    Register("stats", dtype, Fill::kFinite, 1, StatsKernel);
    Register("stats", dtype, Fill::kFinite, all, StatsKernel);
    Register("stats+histogram", dtype, Fill::kFinite, all, HistogramKernel);
    if (!IsFloating(dtype)) continue;
    Register("stats, 0.1% NaN", dtype, Fill::kFewNan, all, StatsKernel);
    Register("stats, all NaN", dtype, Fill::kAllNan, all, StatsKernel);
    Register("count_nonfinite", dtype, Fill::kFinite, all, CountKernel);
    Register("count_nonfinite, 0.1% NaN", dtype, Fill::kFewNan, all, CountKernel);
    Register("first_nonfinite", dtype, Fill::kFinite, all, FirstKernel);
  }
  Register("content_hash", DType::kFloat32, Fill::kFinite, 1, HashKernel);
}

}  // namespace
}  // namespace flowscope

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  flowscope::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
