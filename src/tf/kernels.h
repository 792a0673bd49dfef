// Which kernels TensorFlow has for an op type.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace flowscope::tf {

// Whether a kernel is registered for the device type ("CPU"). False too where this TensorFlow does
// not tell. Thread-safe.
bool HasKernelOn(const std::string& op_type, std::string_view device_type);

// Whether a kernel is registered that eager execution can run on some device: those of XLA's
// compiler are none. True where this TensorFlow does not tell. Thread-safe; asked once for each
// type.
bool HasKernel(const std::string& op_type);

// The same of a serialized KernelList; exposed for tests.
Result<bool> ListsKernelOn(std::string_view kernel_list, std::string_view device_type);
Result<bool> ListsKernel(std::string_view kernel_list);

}  // namespace flowscope::tf
