// Tables of modules, module calls and variables.
#include <string>

#include "analyze/cost.h"
#include "analyze/table_columns.h"
#include "analyze/tables.h"
#include "analyze/text.h"
#include "analyze/trace_facts.h"

namespace flowscope {
namespace {

using OptionalString = std::optional<std::string>;
using OptionalInt = std::optional<int64_t>;
using OptionalDouble = std::optional<double>;
using OptionalBool = std::optional<uint8_t>;

double Microseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

// Every address but the chosen one.
OptionalString AliasesCell(const Trace& trace, Span addresses) {
  std::vector<std::string> aliases;
  for (uint32_t i = 1; i < addresses.count; ++i) {
    aliases.emplace_back(trace.str(trace.tables().string_lists[addresses.first + i]));
  }
  return JoinParts(aliases, ", ");
}

OptionalString AddressOf(const Trace& trace, ModuleId id) {
  return id == kNoId ? std::nullopt : OptionalString(trace.str(trace.module(id).address));
}

OptionalString ModuleOutput(const Trace& trace, ModuleId id) {
  std::vector<Span> outputs;
  for (const ModuleCallId call : trace.CallsOfModule(id)) {
    outputs.push_back(trace.module_call(call).outputs);
  }
  const std::string text = CallsOutputText(trace, outputs);
  return text == "?" ? std::nullopt : OptionalString(text);
}

void AddModuleNames(const Trace& trace, Table& table) {
  const size_t rows = trace.tables().modules.size();
  table.columns.push_back(
      StringColumn("address", rows, [&](ModuleId id) { return AddressOf(trace, id); }));
  table.columns.push_back(StringColumn("aliases", rows, [&](ModuleId id) {
    return AliasesCell(trace, trace.module(id).addresses);
  }));
  table.columns.push_back(StringColumn("class_name", rows, [&](ModuleId id) {
    return OptionalString(trace.str(trace.module(id).class_name));
  }));
  table.columns.push_back(StringColumn(
      "name", rows, [&](ModuleId id) { return OptionalString(trace.str(trace.module(id).name)); }));
  table.columns.push_back(StringColumn(
      "parent", rows, [&](ModuleId id) { return AddressOf(trace, trace.module(id).parent); }));
}

void AddModuleFacts(const Trace& trace, Table& table) {
  const size_t rows = trace.tables().modules.size();
  const std::vector<Cost> costs = CostIndex(trace).OfModules();
  table.columns.push_back(IntColumn("num_calls", rows, [&](ModuleId id) {
    return OptionalInt(static_cast<int64_t>(trace.CallsOfModule(id).size()));
  }));
  table.columns.push_back(IntColumn(
      "num_params", rows, [&](ModuleId id) { return OptionalInt(trace.module(id).num_params); }));
  table.columns.push_back(IntColumn("num_trainable_params", rows, [&](ModuleId id) {
    return OptionalInt(trace.module(id).num_trainable_params);
  }));
  table.columns.push_back(
      StringColumn("output", rows, [&](ModuleId id) { return ModuleOutput(trace, id); }));
  table.columns.push_back(
      IntColumn("flops", rows, [&](ModuleId id) { return OptionalInt(costs[id].flops); }));
  table.columns.push_back(
      IntColumn("num_ops", rows, [&](ModuleId id) { return OptionalInt(costs[id].ops); }));
  table.columns.push_back(IntColumn("num_ops_without_formula", rows, [&](ModuleId id) {
    return OptionalInt(costs[id].ops_without_formula);
  }));
  table.columns.push_back(DoubleColumn("duration_us", rows, [&](ModuleId id) {
    return OptionalDouble(Microseconds(ModuleDuration(trace, id)));
  }));
}

OptionalString NamedTensorsCell(const Trace& trace, Span span) {
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < span.count; ++i) {
    const NamedTensor& named = trace.tables().named_tensors[span.first + i];
    texts.push_back(std::string(trace.str(named.path)) + ": " + TensorText(trace, named.tensor));
  }
  return JoinParts(texts, "; ");
}

void AddCallNames(const Trace& trace, Table& table) {
  const size_t rows = trace.tables().module_calls.size();
  table.columns.push_back(StringColumn(
      "call_label", rows, [&](ModuleCallId id) { return OptionalString(trace.CallLabel(id)); }));
  table.columns.push_back(StringColumn("address", rows, [&](ModuleCallId id) {
    return AddressOf(trace, trace.module_call(id).module);
  }));
  table.columns.push_back(StringColumn("class_name", rows, [&](ModuleCallId id) {
    return OptionalString(trace.str(trace.module(trace.module_call(id).module).class_name));
  }));
  table.columns.push_back(IntColumn("call_index", rows, [&](ModuleCallId id) {
    return OptionalInt(trace.module_call(id).call_index);
  }));
  table.columns.push_back(StringColumn("parent", rows, [&](ModuleCallId id) {
    const ModuleCallId parent = trace.module_call(id).parent;
    return parent == kNoId ? std::nullopt : OptionalString(trace.CallLabel(parent));
  }));
  table.columns.push_back(StringColumn("region", rows, [&](ModuleCallId id) {
    return OptionalString(trace.RegionPath(trace.module_call(id).region));
  }));
  table.columns.push_back(StringColumn("method", rows, [&](ModuleCallId id) {
    return OrNull(trace.str(trace.module_call(id).method));
  }));
}

// Ops of every call with those of the calls inside, in one pass over the ops.
std::vector<int64_t> OpsOfCalls(const Trace& trace) {
  std::vector<int64_t> counts(trace.tables().module_calls.size());
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    for (ModuleCallId call = trace.op(id).module_call; call != kNoId;
         call = trace.module_call(call).parent) {
      ++counts[call];
    }
  }
  return counts;
}

void AddCallFacts(const Trace& trace, Table& table) {
  const size_t rows = trace.tables().module_calls.size();
  const std::vector<int64_t> num_ops = OpsOfCalls(trace);
  table.columns.push_back(StringColumn("training", rows, [&](ModuleCallId id) {
    return OrNull(trace.str(trace.module_call(id).training));
  }));
  table.columns.push_back(StringColumn("kwargs", rows, [&](ModuleCallId id) {
    return OrNull(trace.str(trace.module_call(id).kwargs));
  }));
  table.columns.push_back(StringColumn("inputs", rows, [&](ModuleCallId id) {
    return NamedTensorsCell(trace, trace.module_call(id).inputs);
  }));
  table.columns.push_back(StringColumn("outputs", rows, [&](ModuleCallId id) {
    return NamedTensorsCell(trace, trace.module_call(id).outputs);
  }));
  table.columns.push_back(
      IntColumn("num_ops", rows, [&](ModuleCallId id) { return OptionalInt(num_ops[id]); }));
  table.columns.push_back(DoubleColumn("duration_us", rows, [&](ModuleCallId id) {
    return OptionalDouble(Microseconds(trace.module_call(id).duration_ns));
  }));
  table.columns.push_back(BoolColumn("failed", rows, [&](ModuleCallId id) {
    return OptionalBool(trace.module_call(id).failed ? 1 : 0);
  }));
}

struct VariableCounts {
  std::vector<int64_t> reads, writes, versions;
};

VariableCounts CountAccesses(const Trace& trace) {
  const size_t count = trace.tables().variables.size();
  VariableCounts counts{std::vector<int64_t>(count), std::vector<int64_t>(count),
                        std::vector<int64_t>(count)};
  for (const AccessRecord& access : trace.tables().accesses) {
    ++(access.write ? counts.writes : counts.reads)[access.variable];
  }
  for (const VersionRecord& version : trace.tables().versions) ++counts.versions[version.variable];
  return counts;
}

void AddVariables(const Trace& trace, Table& table) {
  const size_t rows = trace.tables().variables.size();
  table.columns.push_back(StringColumn("address", rows, [&](VariableId id) {
    return OptionalString(trace.str(trace.variable(id).address));
  }));
  table.columns.push_back(StringColumn("aliases", rows, [&](VariableId id) {
    return AliasesCell(trace, trace.variable(id).addresses);
  }));
  table.columns.push_back(StringColumn("name", rows, [&](VariableId id) {
    return OptionalString(trace.str(trace.variable(id).name));
  }));
  table.columns.push_back(StringColumn(
      "module", rows, [&](VariableId id) { return AddressOf(trace, trace.variable(id).module); }));
  table.columns.push_back(StringColumn("shape", rows, [&](VariableId id) -> OptionalString {
    if (!trace.variable(id).shape_known) return std::nullopt;
    return TupleText(trace.dims(trace.variable(id).dims));
  }));
  table.columns.push_back(StringColumn("dtype", rows, [&](VariableId id) {
    return OptionalString(DTypeName(trace.variable(id).dtype));
  }));
  table.columns.push_back(BoolColumn("trainable", rows, [&](VariableId id) {
    return OptionalBool(trace.variable(id).trainable ? 1 : 0);
  }));
}

}  // namespace

Table ModuleTable(const Trace& trace) {
  Table table;
  AddModuleNames(trace, table);
  AddModuleFacts(trace, table);
  return table;
}

Table ModuleCallTable(const Trace& trace) {
  Table table;
  AddCallNames(trace, table);
  AddCallFacts(trace, table);
  return table;
}

Table VariableTable(const Trace& trace) {
  Table table;
  AddVariables(trace, table);
  const size_t rows = trace.tables().variables.size();
  const VariableCounts counts = CountAccesses(trace);
  table.columns.push_back(
      IntColumn("reads", rows, [&](VariableId id) { return OptionalInt(counts.reads[id]); }));
  table.columns.push_back(
      IntColumn("writes", rows, [&](VariableId id) { return OptionalInt(counts.writes[id]); }));
  table.columns.push_back(
      IntColumn("versions", rows, [&](VariableId id) { return OptionalInt(counts.versions[id]); }));
  table.columns.push_back(
      IntColumn("nbytes", rows, [&](VariableId id) { return VariableBytes(trace, id); }));
  return table;
}

}  // namespace flowscope
