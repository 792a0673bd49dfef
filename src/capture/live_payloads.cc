#include "capture/live_payloads.h"

namespace flowscope::capture {

namespace {

// The handle as a value that another thread reads: null where there is none.
void Stream(EventSink& sink, TensorId tensor, tf::HandlePtr handle) {
  const auto dtype = static_cast<DType>(tf::Api().TFE_TensorHandleDataType(handle.get()));
  if (dtype == DType::kResource || dtype == DType::kVariant) return;
  // An op that has not ended yet, under asynchronous execution, is not waited for here.
  const Result<Dims> dims = tf::HandleDims(handle.get());
  const int64_t nbytes =
      dims.ok() ? NumElements(*dims) * static_cast<int64_t>(DTypeSize(dtype)) : 0;
  std::shared_ptr<TFE_TensorHandle> shared = std::move(handle);
  sink.OnValue(tensor, nbytes, [shared] { return tf::ReadHandle(shared.get()); });
}

}  // namespace

void LivePayloads::StreamTo(std::shared_ptr<EventSink> sink, bool retain) {
  sink_ = std::move(sink);
  retain_ = retain;
}

void LivePayloads::Store(TensorId tensor, tf::HandlePtr handle) {
  if (lets_go()) {
    Stream(*sink_, tensor, std::move(handle));
  } else {
    Keep(tensor, std::move(handle));
  }
}

void LivePayloads::KeepStats(TensorId tensor, const Stats& stats) {
  if (sink_ != nullptr) sink_->OnStats(tensor, stats);
  stats_[tensor] = stats;
}

void LivePayloads::Keep(TensorId tensor, tf::HandlePtr handle) {
  if (sink_ != nullptr) Stream(*sink_, tensor, tf::ShareHandle(handle.get()));
  if (handles_.size() <= tensor) handles_.resize(static_cast<size_t>(tensor) + 1);
  handles_[tensor] = std::move(handle);
}

TFE_TensorHandle* LivePayloads::Handle(TensorId tensor) const {
  return tensor < handles_.size() ? handles_[tensor].get() : nullptr;
}

Result<Payload> LivePayloads::Read(TensorId tensor) const {
  TFE_TensorHandle* handle = Handle(tensor);
  if (handle == nullptr && streamed_ != nullptr) return streamed_->Read(tensor);
  if (handle == nullptr) return Unavailable("the value of this tensor was not kept");
  return tf::ReadHandle(handle);
}

std::optional<std::string> LivePayloads::StoredHash(TensorId tensor) const {
  return streamed_ == nullptr ? std::nullopt : streamed_->StoredHash(tensor);
}

std::optional<Stats> LivePayloads::StoredStats(TensorId tensor) const {
  const auto it = stats_.find(tensor);
  if (it == stats_.end()) return std::nullopt;
  return it->second;
}

}  // namespace flowscope::capture
