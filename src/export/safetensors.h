// Values as one safetensors file.
#pragma once

#include <span>
#include <string>

#include "export/values.h"
#include "store/files.h"

namespace flowscope::exports {

// Entries are named as the values are. What safetensors has no dtype for stands as in a trace's own
// files (docs/trace_format.md), with the true dtype and shape in the metadata under the entry's
// name. Nothing else is in the file: no filler, no structure.
Status WriteSafetensors(const Trace& trace, std::span<const NamedValue> values, store::File file);

}  // namespace flowscope::exports
