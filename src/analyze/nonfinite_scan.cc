#include "analyze/nonfinite_scan.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/element.h"
#include "base/parallel.h"

namespace flowscope {
namespace {

// Values that are held at the same time, so that equal addresses mean the same value. Bounds the
// memory of a trace whose values come from a compressed file.
constexpr size_t kWindowBytes = size_t{256} << 20;

// A unit of work for one thread: below what makes the kernels start threads of their own.
constexpr size_t kBlockBytes = kMinParallelBytes / 2;

// Elements [begin, begin + count) of a plain payload. The owner stays with the whole.
Payload Slice(const Payload& whole, int64_t begin, int64_t count) {
  const size_t size = DTypeSize(whole.dtype);
  Payload part;
  part.dtype = whole.dtype;
  part.dims = {count};
  part.data = static_cast<const std::byte*>(whole.data) + static_cast<size_t>(begin) * size;
  part.nbytes = static_cast<size_t>(count) * size;
  return part;
}

class Window {
 public:
  size_t nbytes() const { return nbytes_; }

  void Add(TensorId tensor, Payload payload) {
    const Memory memory{payload.data, payload.nbytes, payload.dtype};
    const auto [it, inserted] = by_memory_.try_emplace(memory, values_.size());
    tensors_.emplace_back(tensor, it->second);
    if (!inserted) return;
    nbytes_ += payload.nbytes;
    AddBlocks(values_.size(), payload);
    values_.push_back(std::move(payload));
  }

  // Scans what was added, tells `scan`, and forgets it.
  void Flush(int threads, NonFiniteScan& scan) {
    std::vector<BadTensor> found(values_.size());
    std::mutex mutex;
    RunBlocks(static_cast<int64_t>(blocks_.size()), ThreadsFor(nbytes_, threads), [&](int64_t i) {
      const Block& block = blocks_[static_cast<size_t>(i)];
      const auto counts = CountNonFinite(Slice(values_[block.value], block.begin, block.count));
      if (counts[0] + counts[1] + counts[2] == 0) return;
      const std::lock_guard lock(mutex);
      Add(counts, block.begin, found[block.value]);
    });
    for (const auto& [tensor, value] : tensors_) {
      if (found[value].search_from) scan.bad.emplace(tensor, found[value]);
    }
    *this = Window();
  }

 private:
  struct Memory {
    const void* data = nullptr;
    size_t nbytes = 0;
    DType dtype = DType::kInvalid;
    bool operator==(const Memory&) const = default;
  };
  struct MemoryHash {
    size_t operator()(const Memory& memory) const {
      return std::hash<const void*>()(memory.data) ^ memory.nbytes;
    }
  };
  struct Block {
    size_t value = 0;
    int64_t begin = 0, count = 0;
  };

  void AddBlocks(size_t value, const Payload& payload) {
    const int64_t total = ReadableElements(payload);
    if (total == 0) return;
    const auto step = static_cast<int64_t>(kBlockBytes / DTypeSize(payload.dtype));
    for (int64_t begin = 0; begin < total; begin += step) {
      blocks_.push_back({value, begin, std::min(step, total - begin)});
    }
  }

  static void Add(const std::array<int64_t, 3>& counts, int64_t begin, BadTensor& bad) {
    bad.nan += counts[0];
    bad.pos_inf += counts[1];
    bad.neg_inf += counts[2];
    bad.search_from = std::min(bad.search_from.value_or(begin), begin);
  }

  std::vector<Payload> values_;
  std::vector<Block> blocks_;
  std::vector<std::pair<TensorId, size_t>> tensors_;          // beside an index into values_
  std::unordered_map<Memory, size_t, MemoryHash> by_memory_;  // to an index into values_
  size_t nbytes_ = 0;
};

// What was counted while recording; false where there is nothing.
bool AddStored(const Trace& trace, TensorId tensor, NonFiniteScan& scan) {
  const std::optional<Stats> stats = trace.StoredStats(tensor);
  if (!stats) return false;
  if (stats->nonfinite() > 0) {
    scan.bad.emplace(tensor, BadTensor{stats->nan, stats->pos_inf, stats->neg_inf, std::nullopt});
  }
  return true;
}

bool AddKept(const Trace& trace, TensorId tensor, Window& window) {
  Result<Payload> payload = trace.ReadTensor(tensor);
  if (!payload.ok()) return false;
  window.Add(tensor, std::move(*payload));
  return true;
}

}  // namespace

NonFiniteScan ScanForNonFinite(const Trace& trace, int threads) {
  NonFiniteScan scan;
  Window window;
  for (TensorId id = 0; id < trace.tables().tensors.size(); ++id) {
    const TensorRecord& tensor = trace.tensor(id);
    if (!IsFloating(tensor.dtype) && !IsComplex(tensor.dtype)) continue;
    const bool seen = tensor.state == PayloadState::kKept    ? AddKept(trace, id, window)
                      : tensor.state == PayloadState::kStats ? AddStored(trace, id, scan)
                                                             : false;
    ++(seen ? scan.scanned : scan.skipped);
    if (window.nbytes() >= kWindowBytes) window.Flush(threads, scan);
  }
  window.Flush(threads, scan);
  return scan;
}

std::optional<NonFinite> LocateNonFinite(const Payload& payload, const BadTensor& bad, bool nan) {
  const int64_t total = ReadableElements(payload);
  if (!bad.search_from || *bad.search_from >= total) return std::nullopt;
  const int64_t from = *bad.search_from;
  std::optional<NonFinite> found = FirstNonFinite(Slice(payload, from, total - from));
  if (!found) return std::nullopt;
  found->index += from;
  if (!nan || found->kind == NonFiniteKind::kNan) return found;
  for (int64_t i = found->index + 1; i < total; ++i) {
    if (ClassifyElement(payload, i) == FloatClass::kNan) return NonFinite{i, NonFiniteKind::kNan};
  }
  return std::nullopt;
}

}  // namespace flowscope
