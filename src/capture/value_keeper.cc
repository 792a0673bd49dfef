#include "capture/value_keeper.h"

#include <algorithm>

#include "base/stats.h"

namespace flowscope::capture {
namespace {

bool HasValue(const TensorRecord& record) {
  return record.dtype != DType::kResource && record.dtype != DType::kVariant;
}

}  // namespace

TensorRecord DescribeTensor(TraceBuilder& builder, TFE_TensorHandle* handle, bool ask_shape,
                            TF_Status* scratch) {
  TensorRecord record;
  record.dtype = static_cast<DType>(tf::Api().TFE_TensorHandleDataType(handle));
  if (!ask_shape) return record;
  const Result<Dims> dims = tf::HandleDims(handle, scratch);
  if (!dims.ok()) return record;
  record.dims = builder.InternDims(*dims);
  record.shape_known = true;
  record.nbytes = NumElements(*dims) * static_cast<int64_t>(DTypeSize(record.dtype));
  return record;
}

PayloadState ValueKeeper::Keep(TensorId tensor, const TensorRecord& record,
                               TFE_TensorHandle* handle, bool wanted) {
  if (!HasValue(record)) {
    // Resource and variant handles are held for their identity.
    payloads_.Keep(tensor, tf::ShareHandle(handle));
    return PayloadState::kNoValue;
  }
  if (!wanted) return PayloadState::kNotKept;
  if (rules_.keep_values && Admit(handle, record.nbytes)) {
    payloads_.Store(tensor, tf::ShareHandle(handle));
    return PayloadState::kKept;
  }
  if (const Result<Payload> value = tf::ReadHandle(handle); value.ok()) {
    payloads_.KeepStats(tensor, ComputeStats(*value));
  }
  return PayloadState::kStats;
}

PayloadState ValueKeeper::KeepSource(TensorId tensor, const TensorRecord& record,
                                     TFE_TensorHandle* handle) {
  payloads_.Keep(tensor, tf::ShareHandle(handle));
  if (rules_.budget >= 0) sources_.insert(tensor);
  if (exact_) buffers_.insert(tf::BufferAddress(handle));
  return HasValue(record) ? PayloadState::kKept : PayloadState::kNoValue;
}

void ValueKeeper::Forget(TFE_TensorHandle* handle, int64_t nbytes) {
  used_ = std::max<int64_t>(used_ - nbytes, 0);
  if (exact_) buffers_.erase(tf::BufferAddress(handle));
}

// A reshape or a read of a variable shares the memory of what it was made from.
bool ValueKeeper::Admit(TFE_TensorHandle* handle, int64_t nbytes) {
  if (rules_.budget < 0) return true;
  if (!exact_ && used_ + nbytes > rules_.budget) Recount();
  const void* buffer = exact_ ? tf::BufferAddress(handle) : nullptr;
  if (buffer != nullptr && buffers_.contains(buffer)) return true;
  if (used_ + nbytes > rules_.budget) {
    SayOver();
    return false;
  }
  used_ += nbytes;
  if (buffer != nullptr) buffers_.insert(buffer);
  return true;
}

void ValueKeeper::SayOver() {
  if (over_) return;
  over_ = true;
  if (!rules_.on_over_budget) return;
  rules_.on_over_budget("values kept reached save_budget (" + std::to_string(rules_.budget) +
                        " bytes); later values are statistics only");
}

// A source stands before what shares its memory.
void ValueKeeper::Recount() {
  exact_ = true;
  used_ = 0;
  payloads_.ForEach([this](TensorId tensor, TFE_TensorHandle* handle) {
    const void* buffer = tf::BufferAddress(handle);
    if (buffer == nullptr || !buffers_.insert(buffer).second || sources_.contains(tensor)) return;
    used_ += tf::HandleBytes(handle);
  });
}

}  // namespace flowscope::capture
