// Row numbers into the tables of one trace. A row number never changes and never dies.
#pragma once

#include <cstdint>

namespace flowscope {

using OpId = uint32_t;
using TensorId = uint32_t;
using SiteId = uint32_t;
using ModuleId = uint32_t;
using ModuleCallId = uint32_t;
using RegionId = uint32_t;
using LocationId = uint32_t;
using VariableId = uint32_t;
using StringId = uint32_t;  // into the trace's string pool; 0 is the empty string

inline constexpr uint32_t kNoId = 0xffffffff;

// A run of consecutive rows of another table.
struct Span {
  uint32_t first = 0;
  uint32_t count = 0;
};

}  // namespace flowscope
