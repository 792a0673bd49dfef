// The values of ops as exports name them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace flowscope::exports {

// What a file holds of a selection.
struct Exported {
  size_t num_values = 0;
  size_t not_kept = 0;  // outputs of the selected ops whose value the trace does not have
};

struct NamedValue {
  std::string name;  // the op's label; of its second output "LABEL.1", and so on
  TensorId tensor = kNoId;
};

// Outputs of the ops that have a value. Unavailable where none has.
Result<std::vector<NamedValue>> ValuesOf(const Trace& trace, std::span<const OpId> ops,
                                         Exported& exported);

}  // namespace flowscope::exports
