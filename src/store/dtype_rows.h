// How each dtype stands in a safetensors file: one row per dtype, as in docs/trace_format.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/payload.h"

namespace flowscope::store {

// Where safetensors has a dtype of the same meaning, an entry is that, with the tensor's shape
// (`same`). Else the bytes stand as whole numbers: of the same width with the same shape, or, where
// there is no such width, as U8 with one more dimension of an element's bytes (`bytes`).
struct SafetensorsRow {
  std::string_view dtype;
  bool natural = false;  // a safetensors reader gives the true values
  bool extra_dim = false;
};

// The row of a dtype that has bytes.
SafetensorsRow RowOf(DType dtype);

}  // namespace flowscope::store
