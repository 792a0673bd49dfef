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

// As analyze/tables.h names them; InvalidArgumentError for another word. Built without the GIL.
Table NamedTable(const Trace& trace, std::string_view kind);

TableObject MakeTable(Table table);

}  // namespace flowscope::python
