#include "tf/kernels.h"

#include <protozero/pbf_reader.hpp>

#include "tf/handles.h"

namespace flowscope::tf {
namespace {

using protozero::pbf_reader;

bool IsOn(pbf_reader kernel, std::string_view device_type) {
  while (kernel.next(2, protozero::pbf_wire_type::length_delimited)) {
    const protozero::data_view view = kernel.get_view();
    if (std::string_view(view.data(), view.size()) == device_type) return true;
  }
  return false;
}

}  // namespace

Result<bool> ListsKernelOn(std::string_view kernel_list, std::string_view device_type) {
  try {
    pbf_reader list(kernel_list.data(), kernel_list.size());
    while (list.next(1, protozero::pbf_wire_type::length_delimited)) {
      if (IsOn(list.get_message(), device_type)) return true;
    }
  } catch (const protozero::exception& error) {
    return Corruption(std::string("a list of kernels cannot be read: ") + error.what());
  }
  return false;
}

bool HasKernelOn(const std::string& op_type, std::string_view device_type) {
  if (Api().TF_GetRegisteredKernelsForOp == nullptr) return false;
  const StatusPtr status = NewStatus();
  const BufferPtr list(Api().TF_GetRegisteredKernelsForOp(op_type.c_str(), status.get()));
  if (list == nullptr || Api().TF_GetCode(status.get()) != 0) return false;
  const Result<bool> found =
      ListsKernelOn({static_cast<const char*>(list->data), list->length}, device_type);
  return found.ok() && *found;
}

}  // namespace flowscope::tf
