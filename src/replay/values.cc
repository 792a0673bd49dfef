#include "replay/values.h"

#include <cstring>
#include <memory>
#include <string>

#include <protozero/pbf_writer.hpp>

namespace flowscope::replay {
namespace {

using Owner = std::shared_ptr<const void>;

void ReleaseOwner(void* /*data*/, size_t /*length*/, void* owner) {
  const std::unique_ptr<Owner> last(static_cast<Owner*>(owner));
}

Result<tf::HandlePtr> HandleOfTensor(const TF_Tensor* tensor) {
  if (tensor == nullptr) return Internal("TensorFlow made no tensor for a recorded value");
  const tf::StatusPtr status = tf::NewStatus();
  tf::HandlePtr handle(tf::Api().TFE_NewTensorHandle(tensor, status.get()));
  FLOWSCOPE_RETURN_IF_ERROR(tf::FromTf(status.get(), "a handle for a recorded value"));
  return handle;
}

// TensorProto: dtype = 1, tensor_shape = 2 { dim = 2 { size = 1 } }, string_val = 8.
std::string StringsProto(const Payload& payload) {
  std::string bytes;
  protozero::pbf_writer tensor(bytes);
  tensor.add_enum(1, static_cast<int32_t>(DType::kString));
  {
    protozero::pbf_writer shape(tensor, 2);
    for (const int64_t size : payload.dims) {
      protozero::pbf_writer dim(shape, 2);
      dim.add_int64(1, size);
    }
  }
  for (const std::string_view text : payload.strings) tensor.add_bytes(8, text.data(), text.size());
  return bytes;
}

}  // namespace

Result<tf::HandlePtr> HandleFromProto(std::string_view proto) {
  const tf::CApi& api = tf::Api();
  const TF_Buffer buffer{proto.data(), proto.size(), nullptr};
  const tf::StatusPtr status = tf::NewStatus();
  const tf::TensorPtr tensor(
      api.TF_AllocateTensor(static_cast<int>(DType::kFloat32), nullptr, 0, sizeof(float)));
  api.TF_TensorFromProto(&buffer, tensor.get(), status.get());
  FLOWSCOPE_RETURN_IF_ERROR(tf::FromTf(status.get(), "a tensor from its proto"));
  return HandleOfTensor(tensor.get());
}

Result<tf::HandlePtr> ToHandle(const Payload& payload) {
  if (payload.dtype == DType::kString) return HandleFromProto(StringsProto(payload));
  if (!IsPlainBytes(payload.dtype)) {
    return Unsupported("a recorded value of dtype " + std::string(DTypeName(payload.dtype)));
  }
  const tf::CApi& api = tf::Api();
  const auto rank = static_cast<int>(payload.dims.size());
  if (payload.nbytes == 0) {
    const tf::TensorPtr empty(
        api.TF_AllocateTensor(static_cast<int>(payload.dtype), payload.dims.data(), rank, 0));
    return HandleOfTensor(empty.get());
  }
  auto owner = std::make_unique<Owner>(payload.owner);
  const tf::TensorPtr tensor(api.TF_NewTensor(static_cast<int>(payload.dtype), payload.dims.data(),
                                              rank, const_cast<void*>(payload.data), payload.nbytes,
                                              ReleaseOwner, owner.get()));
  if (tensor != nullptr) (void)owner.release();  // TensorFlow calls ReleaseOwner
  return HandleOfTensor(tensor.get());
}

}  // namespace flowscope::replay
