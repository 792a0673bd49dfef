// What stands above and below the table of a summary.
#pragma once

#include <cstddef>
#include <string>

#include "analyze/cost.h"
#include "trace/trace.h"

namespace flowscope {

inline constexpr size_t kSummaryWidth = 100;

// Model, kind of root, inputs; then a "!!" line for each thing that makes the trace less than
// whole.
std::string SummaryHeader(const Trace& trace, bool color);

// The lines Params, Compute, Memory, Graph, Capture.
std::string SummaryFooter(const Trace& trace, const CostIndex& costs, bool color);

}  // namespace flowscope
