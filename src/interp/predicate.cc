#include "interp/predicate.h"

#include <cstring>
#include <string>

#include "tf/handles.h"

namespace flowscope::interp {
namespace {

template <typename T>
T First(const Payload& payload) {
  T value;
  std::memcpy(&value, payload.data, sizeof(T));
  return value;
}

Result<bool> ScalarIsTrue(const Payload& scalar) {
  switch (scalar.dtype) {
    case DType::kBool:
      return First<uint8_t>(scalar) != 0;
    case DType::kFloat32:
      return First<float>(scalar) != 0;
    case DType::kFloat64:
      return First<double>(scalar) != 0;
    case DType::kInt32:
      return First<int32_t>(scalar) != 0;
    case DType::kUint8:
      return First<uint8_t>(scalar) != 0;
    case DType::kInt16:
      return First<int16_t>(scalar) != 0;
    case DType::kInt8:
      return First<int8_t>(scalar) != 0;
    case DType::kInt64:
      return First<int64_t>(scalar) != 0;
    case DType::kString:
      return !scalar.strings.front().empty();
    default:
      return InvalidArgument(std::string(DTypeName(scalar.dtype)) +
                             " cannot be converted to a boolean");
  }
}

}  // namespace

Result<bool> ReadCondition(TFE_TensorHandle* handle) {
  // Asked for its size, a tensor of any dtype answers.
  Result<Dims> dims = tf::HandleDims(handle);
  if (!dims.ok()) return dims.status();
  if (!dims->empty()) return NumElements(*dims) > 0;
  const Result<Payload> scalar = tf::ReadHandle(handle);
  if (!scalar.ok()) {
    if (scalar.status().code() != StatusCode::kUnsupported) return scalar.status();
    return InvalidArgument("this tensor cannot be converted to a boolean: " +
                           scalar.status().message());
  }
  return ScalarIsTrue(*scalar);
}

Result<uint32_t> ReadBranch(TFE_TensorHandle* handle, uint32_t count) {
  const Result<Payload> index = tf::ReadHandle(handle);
  if (!index.ok()) return index.status();
  if (index->dtype != DType::kInt32 || index->num_elements() != 1) {
    return InvalidArgument("a branch index must be one int32");
  }
  const auto branch = First<int32_t>(*index);
  const bool in_range = branch >= 0 && static_cast<uint32_t>(branch) < count;
  return in_range ? static_cast<uint32_t>(branch) : count - 1;
}

}  // namespace flowscope::interp
