// Tables of the engine as data frames and as Arrow streams.
#pragma once

#include <memory>
#include <string_view>

#include <nanobind/nanobind.h>

#include "analyze/table.h"
#include "trace/trace.h"

namespace flowscope::python {

// What Python holds as a Table.
struct TableObject {
  std::shared_ptr<const Table> table;
};

// UnavailableError where pandas is not installed.
nanobind::object ToPandas(const Table& table);

// "ops", "layers", "modules", "module_calls", "variables" or "regions"; InvalidArgumentError,
// naming these, for another word. Built without the GIL.
Table TableOfKind(const Trace& trace, std::string_view kind);

// One row per tensor that an op made, with its statistics; computed where they were not kept. Rows
// whose value was not kept are there, without numbers.
Table StatsTable(const Trace& trace);

// Executed ops by start, with durations in seconds.
Table TimelineTable(const Trace& trace);

Table RegionTable(const Trace& trace);

TableObject MakeTable(Table table);

}  // namespace flowscope::python
