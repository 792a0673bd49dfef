#include "tf/handles.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace flowscope::tf {
namespace {

constexpr int kHighestDType = static_cast<int>(kLastDType);

Dims TensorDims(const TF_Tensor* tensor) {
  Dims dims(static_cast<size_t>(Api().TF_NumDims(tensor)));
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = Api().TF_Dim(tensor, static_cast<int>(i));
  return dims;
}

// What keeps a string payload alive: the views point into the tensor's own strings.
struct StringOwner {
  TensorPtr tensor;
  std::vector<std::string_view> views;
};

void FillStrings(TensorPtr tensor, Payload& payload) {
  auto owner = std::make_shared<StringOwner>();
  const auto count = static_cast<size_t>(payload.num_elements());
  const auto* strings = static_cast<const TF_TString*>(Api().TF_TensorData(tensor.get()));
  owner->views.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const char* data = Api().TF_StringGetDataPointer(&strings[i]);
    owner->views.emplace_back(data, Api().TF_StringGetSize(&strings[i]));
    payload.nbytes += owner->views.back().size();
  }
  owner->tensor = std::move(tensor);
  payload.strings = owner->views;
  payload.owner = std::move(owner);
}

void FillBytes(TensorPtr tensor, Payload& payload) {
  payload.data = Api().TF_TensorData(tensor.get());
  payload.nbytes = Api().TF_TensorByteSize(tensor.get());
  payload.owner = std::shared_ptr<const TF_Tensor>(std::move(tensor));
}

// A resource tensor is C++ objects of TensorFlow's; what leaves here is the proto.
Status FillResource(TensorPtr tensor, Payload& payload) {
  if (Api().ResourceHandleSerialize == nullptr) {
    return Unsupported("this TensorFlow cannot serialize a resource handle");
  }
  if (payload.num_elements() != 1) return Unsupported("a tensor of several resource handles");
  auto bytes = std::make_shared<std::string>(
      Api().ResourceHandleSerialize(Api().TF_TensorData(tensor.get())));
  payload.data = bytes->data();
  payload.nbytes = bytes->size();
  payload.owner = std::move(bytes);
  return Status::Ok();
}

}  // namespace

void StatusDeleter::operator()(TF_Status* status) const { Api().TF_DeleteStatus(status); }
void OpDeleter::operator()(TFE_Op* op) const { Api().TFE_DeleteOp(op); }
void TensorDeleter::operator()(TF_Tensor* tensor) const { Api().TF_DeleteTensor(tensor); }
void BufferDeleter::operator()(TF_Buffer* buffer) const { Api().TF_DeleteBuffer(buffer); }
void HandleDeleter::operator()(TFE_TensorHandle* handle) const {
  Api().TFE_DeleteTensorHandle(handle);
}

StatusPtr NewStatus() { return StatusPtr(Api().TF_NewStatus()); }

Status FromTf(const TF_Status* status, const std::string& what) {
  if (Api().TF_GetCode(status) == 0) return Status::Ok();
  return Unavailable(what + ": " + Api().TF_Message(status));
}

HandlePtr ShareHandle(TFE_TensorHandle* handle) {
  StatusPtr status = NewStatus();
  HandlePtr shared(Api().TFE_TensorHandleCopySharingTensor(handle, status.get()));
  if (Api().TF_GetCode(status.get()) != 0) return nullptr;
  return shared;
}

std::vector<TFE_TensorHandle*> FlatInputs(const TFE_Op* op, TF_Status* scratch) {
  const int count = Api().TFE_OpGetFlatInputCount(op, scratch);
  std::vector<TFE_TensorHandle*> inputs;
  inputs.reserve(static_cast<size_t>(std::max(count, 0)));
  for (int i = 0; i < count; ++i) inputs.push_back(Api().TFE_OpGetFlatInput(op, i, scratch));
  return inputs;
}

// The builder keeps what it works out for a device, as it does when TensorFlow asks: nothing that
// the op is changes. After an execution the answer for the op's device is there.
std::optional<OpFingerprint> FingerprintOf(const TFE_Op* op, TF_Status* scratch) {
  if (Api().AttrBuilderCacheKey == nullptr) return std::nullopt;
  auto* attrs = const_cast<TFE_OpAttrs*>(Api().TFE_OpGetAttrs(op));
  const void* table = nullptr;
  std::memcpy(&table, attrs, sizeof(table));
  if (table != Api().AttrBuilderTable) return std::nullopt;
  const char* device = Api().TFE_OpGetDevice(op, scratch);
  return Api().AttrBuilderCacheKey(attrs, device != nullptr ? device : "");
}

Result<Dims> HandleDims(TFE_TensorHandle* handle) {
  const StatusPtr status = NewStatus();
  return HandleDims(handle, status.get());
}

Result<Dims> HandleDims(TFE_TensorHandle* handle, TF_Status* scratch) {
  const auto failure = [scratch]() -> std::optional<Status> {
    if (Api().TF_GetCode(scratch) == 0) return std::nullopt;
    Status status = FromTf(scratch, "shape of a tensor");
    Api().TF_SetStatus(scratch, 0, "");
    return status;
  };
  const int rank = Api().TFE_TensorHandleNumDims(handle, scratch);
  if (auto failed = failure()) return *failed;
  if (rank < 0) return Unavailable("shape of a tensor: its rank is not known");
  Dims dims(static_cast<size_t>(rank));
  for (size_t i = 0; i < dims.size(); ++i) {
    dims[i] = Api().TFE_TensorHandleDim(handle, static_cast<int>(i), scratch);
    if (auto failed = failure()) return *failed;
  }
  return dims;
}

int64_t HandleBytes(TFE_TensorHandle* handle) {
  const Result<Dims> dims = HandleDims(handle);
  const auto dtype = static_cast<DType>(Api().TFE_TensorHandleDataType(handle));
  return dims.ok() ? NumElements(*dims) * static_cast<int64_t>(DTypeSize(dtype)) : 0;
}

const void* BufferAddress(TFE_TensorHandle* handle) {
  const auto dtype = static_cast<DType>(Api().TFE_TensorHandleDataType(handle));
  if (dtype == DType::kVariant || dtype == DType::kResource) return nullptr;
  const StatusPtr status = NewStatus();
  // TensorFlow ends the process where this is asked of a dtype that it does not copy as bytes: what
  // those are among the later ones differs by version.
  const bool old_and_plain = IsPlainBytes(dtype) && dtype <= DType::kUint64;
  if (Api().TFE_TensorHandleDevicePointer != nullptr && old_and_plain) {
    const void* address = Api().TFE_TensorHandleDevicePointer(handle, status.get());
    return Api().TF_GetCode(status.get()) == 0 ? address : nullptr;
  }
  const TensorPtr tensor(Api().TFE_TensorHandleResolve(handle, status.get()));
  return tensor == nullptr ? nullptr : Api().TF_TensorData(tensor.get());
}

Result<Payload> ReadHandle(TFE_TensorHandle* handle) {
  const int number = Api().TFE_TensorHandleDataType(handle);
  if (number <= 0 || number > kHighestDType) {
    return Unsupported("a tensor of TensorFlow's dtype number " + std::to_string(number));
  }
  Payload payload;
  payload.dtype = static_cast<DType>(number);
  if (payload.dtype == DType::kVariant) return Unsupported("a variant tensor has no bytes to read");

  StatusPtr status = NewStatus();
  TensorPtr tensor(Api().TFE_TensorHandleResolve(handle, status.get()));
  FLOWSCOPE_RETURN_IF_ERROR(FromTf(status.get(), "value of a tensor"));
  if (tensor == nullptr) return Unavailable("TensorFlow gave no value for a tensor");
  payload.dims = TensorDims(tensor.get());
  if (payload.dtype == DType::kResource) {
    FLOWSCOPE_RETURN_IF_ERROR(FillResource(std::move(tensor), payload));
  } else if (payload.dtype == DType::kString) {
    FillStrings(std::move(tensor), payload);
  } else {
    FillBytes(std::move(tensor), payload);
  }
  return payload;
}

bool ContextIsAsync(TFE_Context* context) {
  const CApi& api = Api();
  if (!api.TFE_ContextGetExecutorForThread || !api.TFE_ExecutorIsAsync || !api.TFE_DeleteExecutor) {
    return false;
  }
  TFE_Executor* executor = api.TFE_ContextGetExecutorForThread(context);
  const bool is_async = api.TFE_ExecutorIsAsync(executor);
  api.TFE_DeleteExecutor(executor);
  return is_async;
}

}  // namespace flowscope::tf
