// Values of a recording whose TensorFlow process still lives: one more reference to each handle.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tf/handles.h"
#include "trace/payload_source.h"

namespace flowscope::capture {

class LivePayloads : public PayloadSource {
 public:
  // Keeps a reference to `handle` as the value of `tensor`.
  void Keep(TensorId tensor, tf::HandlePtr handle);
  void KeepStats(TensorId tensor, const Stats& stats) { stats_[tensor] = stats; }
  // Keeps a handle alive that is no tensor of its own, so that its address stays taken.
  void Pin(tf::HandlePtr handle) { pinned_.push_back(std::move(handle)); }

  // Null where no handle is kept. Borrowed.
  TFE_TensorHandle* Handle(TensorId tensor) const;
  size_t size() const { return handles_.size(); }

  Result<Payload> Read(TensorId tensor) const override;
  std::optional<Stats> StoredStats(TensorId tensor) const override;

 private:
  std::vector<tf::HandlePtr> handles_;
  std::vector<tf::HandlePtr> pinned_;
  std::unordered_map<TensorId, Stats> stats_;
};

}  // namespace flowscope::capture
