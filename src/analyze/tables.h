// The tables behind to_pandas() and to_arrow().
#pragma once

#include "analyze/table.h"
#include "trace/trace.h"

namespace flowscope {

Table OpTable(const Trace& trace);
Table LayerTable(const Trace& trace);
Table ModuleTable(const Trace& trace);
Table ModuleCallTable(const Trace& trace);
Table VariableTable(const Trace& trace);

}  // namespace flowscope
