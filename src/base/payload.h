// The value of one tensor as the core sees it: plain memory, with whatever keeps it alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace flowscope {

using Dims = std::vector<int64_t>;

// Product of the dimensions: 1 for a scalar, 0 for an empty tensor.
inline int64_t NumElements(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

// For every dtype but string, `data` holds `nbytes` bytes in row-major order. For string, `strings`
// holds one view per element and `data` is null. Both live as long as `owner`.
struct Payload {
  DType dtype = DType::kInvalid;
  Dims dims;
  const void* data = nullptr;
  size_t nbytes = 0;
  std::span<const std::string_view> strings;
  std::shared_ptr<const void> owner;

  int64_t num_elements() const { return NumElements(dims); }
};

}  // namespace flowscope
