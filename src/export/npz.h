// Values as NumPy's .npz.
#pragma once

#include <span>
#include <string>

#include "export/values.h"
#include "store/files.h"

namespace flowscope::exports {

// A stored zip of one LABEL.npy for each value, as numpy.savez writes it.
Status WriteNpz(const Trace& trace, std::span<const NamedValue> values, store::File file);

}  // namespace flowscope::exports
