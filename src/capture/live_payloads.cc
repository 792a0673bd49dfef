#include "capture/live_payloads.h"

namespace flowscope::capture {

void LivePayloads::Keep(TensorId tensor, tf::HandlePtr handle) {
  if (handles_.size() <= tensor) handles_.resize(static_cast<size_t>(tensor) + 1);
  handles_[tensor] = std::move(handle);
}

TFE_TensorHandle* LivePayloads::Handle(TensorId tensor) const {
  return tensor < handles_.size() ? handles_[tensor].get() : nullptr;
}

Result<Payload> LivePayloads::Read(TensorId tensor) const {
  TFE_TensorHandle* handle = Handle(tensor);
  if (handle == nullptr) return Unavailable("the value of this tensor was not kept");
  return tf::ReadHandle(handle);
}

std::optional<Stats> LivePayloads::StoredStats(TensorId tensor) const {
  const auto it = stats_.find(tensor);
  if (it == stats_.end()) return std::nullopt;
  return it->second;
}

}  // namespace flowscope::capture
