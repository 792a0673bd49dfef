// One parallel pass over the values of a trace that finds the tensors with NaN or Inf.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/stats.h"
#include "trace/trace.h"

namespace flowscope {

struct BadTensor {
  int64_t nan = 0, pos_inf = 0, neg_inf = 0;
  // No element before this one is bad; nullopt where only statistics were kept.
  std::optional<int64_t> search_from;
};

struct NonFiniteScan {
  std::unordered_map<TensorId, BadTensor> bad;
  int64_t scanned = 0, skipped = 0;
};

// Values that several tensors share (a reshape, a variable read again) are read once.
NonFiniteScan ScanForNonFinite(const Trace& trace, int threads);

// The first bad element of a tensor that the scan found to be bad; with `nan`, its first NaN.
std::optional<NonFinite> LocateNonFinite(const Payload& payload, const BadTensor& bad, bool nan);

}  // namespace flowscope
