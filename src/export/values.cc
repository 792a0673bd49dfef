#include "export/values.h"

namespace flowscope::exports {

Result<std::vector<NamedValue>> ValuesOf(const Trace& trace, std::span<const OpId> ops,
                                         Exported& exported) {
  std::vector<NamedValue> values;
  for (const OpId id : ops) {
    for (uint32_t i = 0; i < trace.op(id).outputs.count; ++i) {
      const TensorId tensor = trace.output(id, i);
      const PayloadState state = trace.tensor(tensor).state;
      if (state == PayloadState::kKept) {
        values.push_back({trace.OpLabel(id) + (i == 0 ? "" : "." + std::to_string(i)), tensor});
      } else if (state != PayloadState::kNoValue) {
        ++exported.not_kept;
      }
    }
  }
  exported.num_values = values.size();
  if (values.empty()) {
    return Unavailable(
        "none of the selected ops has a value in this trace; record with save= that "
        "keeps them");
  }
  return values;
}

}  // namespace flowscope::exports
