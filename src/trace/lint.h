// The invariants of a trace, stated once. Every test recording ends with it.
#pragma once

#include <string>
#include <vector>

#include "trace/trace.h"

namespace flowscope {

// One sentence per broken invariant, naming labels and rows; empty for a sound trace. Of many
// findings of one kind the first few are told and the rest counted.
std::vector<std::string> Lint(const Trace& trace);

// The part that has to hold before a Trace may be made of tables that come from elsewhere, such as
// a file: every id, span and string is in range, and no chain of parents runs in a circle.
std::vector<std::string> LintTables(const TraceTables& tables);

}  // namespace flowscope
