// The tables behind to_pandas(), to_arrow(), the command line's --json and CSV files.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "analyze/table.h"
#include "base/status.h"
#include "trace/trace.h"

namespace flowscope {

// Rows of a table about ops, in this order.
using OpIds = std::span<const OpId>;
std::vector<OpId> AllOps(const Trace& trace);

Table OpTable(const Trace& trace);
Table OpTable(const Trace& trace, OpIds ids);
Table LayerTable(const Trace& trace);
Table ModuleTable(const Trace& trace);
Table ModuleCallTable(const Trace& trace);
Table VariableTable(const Trace& trace);
Table RegionTable(const Trace& trace);

// One row per tensor that an op made, with its statistics; computed where they were not kept. Rows
// whose value was not kept are there, without numbers.
Table StatsTable(const Trace& trace);
Table StatsTable(const Trace& trace, OpIds ids);

// Executed ops by start, with durations in seconds.
Table TimelineTable(const Trace& trace);

// One of these by name: "ops", "layers", "modules", "module_calls", "variables", "regions",
// "stats" or "timeline". InvalidArgument, naming them, for another word.
Result<Table> TableOfKind(const Trace& trace, std::string_view kind);

}  // namespace flowscope
