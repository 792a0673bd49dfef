// RAII owners of C API objects, and the few questions asked of them. All need Api() to be loaded.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/payload.h"
#include "base/status.h"
#include "tf/c_api.h"

namespace flowscope::tf {

struct StatusDeleter {
  void operator()(TF_Status* status) const;
};
struct OpDeleter {
  void operator()(TFE_Op* op) const;
};
struct TensorDeleter {
  void operator()(TF_Tensor* tensor) const;
};
struct BufferDeleter {
  void operator()(TF_Buffer* buffer) const;
};
struct HandleDeleter {
  void operator()(TFE_TensorHandle* handle) const;
};
using StatusPtr = std::unique_ptr<TF_Status, StatusDeleter>;
using OpPtr = std::unique_ptr<TFE_Op, OpDeleter>;
using TensorPtr = std::unique_ptr<TF_Tensor, TensorDeleter>;
using BufferPtr = std::unique_ptr<TF_Buffer, BufferDeleter>;
using HandlePtr = std::unique_ptr<TFE_TensorHandle, HandleDeleter>;

StatusPtr NewStatus();

// Ok, or our Status with TensorFlow's message prefixed by `what`.
Status FromTf(const TF_Status* status, const std::string& what);

// One more reference to the same handle (the same pointer comes back); null on failure.
HandlePtr ShareHandle(TFE_TensorHandle* handle);

// The inputs that the op has now, one by one. Borrowed from the op. `scratch` is a status without
// an error, so that none need be made for each of many ops; it is without one afterwards.
std::vector<TFE_TensorHandle*> FlatInputs(const TFE_Op* op, TF_Status* scratch);

// Nothing where this TensorFlow does not tell. Costs nothing when the op has run. `scratch` as
// above.
std::optional<OpFingerprint> FingerprintOf(const TFE_Op* op, TF_Status* scratch);

// Shape of a handle; Unavailable where TensorFlow does not know it (an async op that failed).
// `scratch` as above.
Result<Dims> HandleDims(TFE_TensorHandle* handle);
Result<Dims> HandleDims(TFE_TensorHandle* handle, TF_Status* scratch);

// Bytes of the value; 0 where the shape is not known, and for what has no bytes of its own.
int64_t HandleBytes(TFE_TensorHandle* handle);

// Where the value lies now, without moving it; null for an empty value and where TensorFlow does
// not say. Waits for the op that makes the value where TensorFlow runs it asynchronously.
const void* BufferAddress(TFE_TensorHandle* handle);

// The value, without a copy where the tensor is in host memory. A scalar resource handle gives its
// serialized ResourceHandleProto bytes; variant, and resource handles of another rank, are
// Unsupported. Waits for the op that makes the value where TensorFlow runs it asynchronously.
Result<Payload> ReadHandle(TFE_TensorHandle* handle);

// True where the calling thread's eager ops run asynchronously in that context. False where
// TensorFlow cannot say.
bool ContextIsAsync(TFE_Context* context);

}  // namespace flowscope::tf
