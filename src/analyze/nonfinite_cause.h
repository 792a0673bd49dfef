// Why an op's output is NaN or infinite, told from its type and its inputs' values.
#pragma once

#include <string>

#include "analyze/nonfinite.h"
#include "analyze/nonfinite_scan.h"
#include "trace/trace.h"

namespace flowscope {

// The inputs of an op as they were read; `step.element` says at which coordinates.
std::vector<ParentValue> ParentsOf(const Trace& trace, const NonFiniteStep& step);

// One sentence. Says so where the trace does not tell.
std::string ExplainNonFinite(const Trace& trace, const NonFiniteScan& scan,
                             const NonFiniteStep& step);

}  // namespace flowscope
