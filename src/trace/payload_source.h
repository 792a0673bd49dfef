// Where a trace's values come from: live handles while TensorFlow is here, a file afterwards.
#pragma once

#include <optional>
#include <string>

#include "base/payload.h"
#include "base/stats.h"
#include "base/status.h"
#include "trace/ids.h"

namespace flowscope {

// Implementations are safe to call from any thread and keep what they hand out alive through the
// payload's owner.
class PayloadSource {
 public:
  virtual ~PayloadSource() = default;

  // Unavailable where the value was not kept.
  virtual Result<Payload> Read(TensorId tensor) const = 0;

  // Statistics taken while recording, for tensors in state kStats.
  virtual std::optional<Stats> StoredStats(TensorId tensor) const = 0;

  // ContentHash of the value as it was when it was stored, where the source keeps one.
  virtual std::optional<std::string> StoredHash(TensorId /*tensor*/) const { return std::nullopt; }
};

}  // namespace flowscope
