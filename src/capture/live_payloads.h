// Values of a recording whose TensorFlow process still lives: one more reference to each handle.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tf/handles.h"
#include "trace/event_sink.h"
#include "trace/payload_source.h"

namespace flowscope::capture {

class LivePayloads : public PayloadSource {
 public:
  // Values go to `sink` as they come; null: they stay here.
  void StreamTo(std::shared_ptr<EventSink> sink, bool retain);
  // True where a value that Store was given is not held here.
  bool lets_go() const { return sink_ != nullptr && !retain_; }

  // Keeps a reference to `handle` as the value of `tensor`, for the value and for the identity.
  void Keep(TensorId tensor, tf::HandlePtr handle);
  // For the value alone: one that is streamed is let go as soon as it is written.
  void Store(TensorId tensor, tf::HandlePtr handle);
  void KeepStats(TensorId tensor, const Stats& stats);
  // Where values that are not held are read from, once they are written. Before the trace is
  // shared.
  void ReadFrom(std::shared_ptr<const PayloadSource> streamed) { streamed_ = std::move(streamed); }
  // Keeps a handle alive that is no tensor of its own, so that its address stays taken.
  void Pin(tf::HandlePtr handle) { pinned_.push_back(std::move(handle)); }

  // Gives up the value of `tensor`; null where there is none.
  tf::HandlePtr Take(TensorId tensor) {
    return tensor < handles_.size() ? std::move(handles_[tensor]) : nullptr;
  }

  // Null where no handle is kept. Borrowed.
  TFE_TensorHandle* Handle(TensorId tensor) const;
  size_t size() const { return handles_.size(); }
  // Calls visit(tensor, handle) for each handle that is kept, in the order of tensors.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (size_t i = 0; i < handles_.size(); ++i) {
      if (handles_[i] != nullptr) visit(static_cast<TensorId>(i), handles_[i].get());
    }
  }

  Result<Payload> Read(TensorId tensor) const override;
  std::optional<Stats> StoredStats(TensorId tensor) const override;
  std::optional<std::string> StoredHash(TensorId tensor) const override;

 private:
  std::vector<tf::HandlePtr> handles_;
  std::vector<tf::HandlePtr> pinned_;
  std::unordered_map<TensorId, Stats> stats_;
  std::shared_ptr<EventSink> sink_;
  bool retain_ = false;
  std::shared_ptr<const PayloadSource> streamed_;
};

}  // namespace flowscope::capture
