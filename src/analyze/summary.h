// print(trace) and trace.summary().
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "trace/trace.h"

namespace flowscope {

struct SummaryOptions {
  std::string level = "auto";     // auto, module, op
  std::string view = "overview";  // overview, compute
  int64_t max_rows = 60;          // 0: all
  int64_t depth = 0;              // module depth shown; 0: all
  bool fold_repeats = true;
  bool color = false;
};

// InvalidArgument, naming the valid choices, for an unknown level or view.
Result<std::string> Summarize(const Trace& trace, const SummaryOptions& options);

// One line: "keras trace 'sequential': 14 ops, 3 modules, ...".
std::string OneLine(const Trace& trace);

// Op, layer, module, call, variable as print() shows them: a first line with the value's glance,
// then indented lines.
std::string DescribeOp(const Trace& trace, OpId op);
std::string DescribeLayer(const Trace& trace, SiteId site);
std::string DescribeModule(const Trace& trace, ModuleId module);
std::string DescribeModuleCall(const Trace& trace, ModuleCallId call);
std::string DescribeVariable(const Trace& trace, VariableId variable);

}  // namespace flowscope
