#include "savedmodel/tensors.h"

#include <cstring>
#include <string>

#include <protozero/pbf_writer.hpp>

namespace flowscope::savedmodel {
namespace {

Result<tf::HandlePtr> ToHandle(const TF_Tensor* tensor) {
  const tf::StatusPtr status = tf::NewStatus();
  tf::HandlePtr handle(tf::Api().TFE_NewTensorHandle(tensor, status.get()));
  FLOWSCOPE_RETURN_IF_ERROR(tf::FromTf(status.get(), "making a tensor"));
  return handle;
}

std::string StringProto(std::span<const int64_t> dims, std::span<const std::string_view> strings) {
  std::string shape;
  protozero::pbf_writer shape_writer(shape);
  for (const int64_t dim : dims) {
    protozero::pbf_writer entry(shape_writer, 2);
    entry.add_int64(1, dim);
  }
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_enum(1, static_cast<int32_t>(DType::kString));
  writer.add_message(2, shape);
  for (const std::string_view text : strings) writer.add_bytes(8, text.data(), text.size());
  return bytes;
}

}  // namespace

Result<tf::HandlePtr> TensorFromProto(std::string_view proto) {
  const TF_Buffer buffer{proto.data(), proto.size(), nullptr};
  const tf::TensorPtr tensor(
      tf::Api().TF_AllocateTensor(static_cast<int>(DType::kFloat32), nullptr, 0, sizeof(float)));
  const tf::StatusPtr status = tf::NewStatus();
  tf::Api().TF_TensorFromProto(&buffer, tensor.get(), status.get());
  FLOWSCOPE_RETURN_IF_ERROR(tf::FromTf(status.get(), "reading a constant"));
  return ToHandle(tensor.get());
}

Result<tf::HandlePtr> TensorFromPayload(const Payload& value) {
  if (value.dtype == DType::kString) return TensorFromProto(StringProto(value.dims, value.strings));
  if (!IsPlainBytes(value.dtype)) {
    return Unsupported("a tensor of " + std::string(DTypeName(value.dtype)) +
                       " cannot be made from bytes");
  }
  const tf::TensorPtr tensor(
      tf::Api().TF_AllocateTensor(static_cast<int>(value.dtype), value.dims.data(),
                                  static_cast<int>(value.dims.size()), value.nbytes));
  if (tensor == nullptr) {
    return Unavailable("no memory for a tensor of " + std::to_string(value.nbytes) + " bytes");
  }
  if (value.nbytes > 0) {
    std::memcpy(tf::Api().TF_TensorData(tensor.get()), value.data, value.nbytes);
  }
  return ToHandle(tensor.get());
}

Result<tf::HandlePtr> TextTensor(std::string_view text) {
  return TensorFromProto(StringProto({}, {&text, 1}));
}

}  // namespace flowscope::savedmodel
