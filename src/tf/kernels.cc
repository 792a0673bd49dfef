#include "tf/kernels.h"

#include <functional>
#include <mutex>
#include <unordered_set>
#include <utility>

#include <protozero/pbf_reader.hpp>

#include "tf/handles.h"
#include "trace/proto.h"

namespace flowscope::tf {
namespace {

using protozero::pbf_reader;

using IsWanted = std::function<bool(std::string_view device_type)>;

bool IsOn(pbf_reader kernel, const IsWanted& is_wanted) {
  while (kernel.next(2, proto::kBytes)) {
    if (is_wanted(proto::View(kernel))) return true;
  }
  return false;
}

Result<bool> ListsAny(std::string_view kernel_list, const IsWanted& is_wanted) {
  try {
    pbf_reader list(kernel_list.data(), kernel_list.size());
    while (list.next(1, proto::kBytes)) {
      if (IsOn(list.get_message(), is_wanted)) return true;
    }
  } catch (const protozero::exception& error) {
    return Corruption(std::string("a list of kernels cannot be read: ") + error.what());
  }
  return false;
}

BufferPtr KernelsOf(const std::string& op_type) {
  if (Api().TF_GetRegisteredKernelsForOp == nullptr) return nullptr;
  const StatusPtr status = NewStatus();
  BufferPtr list(Api().TF_GetRegisteredKernelsForOp(op_type.c_str(), status.get()));
  return Api().TF_GetCode(status.get()) == 0 ? std::move(list) : nullptr;
}

std::string_view View(const BufferPtr& buffer) {
  return {static_cast<const char*>(buffer->data), buffer->length};
}

}  // namespace

Result<bool> ListsKernelOn(std::string_view kernel_list, std::string_view device_type) {
  return ListsAny(kernel_list,
                  [device_type](std::string_view type) { return type == device_type; });
}

// XLA registers what it compiles as kernels on devices of its own: XLA_CPU_JIT and the like.
Result<bool> ListsKernel(std::string_view kernel_list) {
  return ListsAny(kernel_list, [](std::string_view type) { return !type.ends_with("_JIT"); });
}

bool HasKernelOn(const std::string& op_type, std::string_view device_type) {
  const BufferPtr list = KernelsOf(op_type);
  if (list == nullptr) return false;
  const Result<bool> found = ListsKernelOn(View(list), device_type);
  return found.ok() && *found;
}

bool HasKernel(const std::string& op_type) {
  static std::mutex mutex;
  // Those with one: what is not there yet can come with a library that is loaded later.
  static std::unordered_set<std::string> known;
  {
    const std::lock_guard lock(mutex);
    if (known.contains(op_type)) return true;
  }
  const BufferPtr list = KernelsOf(op_type);
  const Result<bool> has = list == nullptr ? Result<bool>(true) : ListsKernel(View(list));
  if (has.ok() && !*has) return false;
  const std::lock_guard lock(mutex);
  known.insert(op_type);
  return true;
}

}  // namespace flowscope::tf
