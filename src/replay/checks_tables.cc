// What two tables say of one thing: variables and their values, handles and variables, what the
// call returned.
#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "replay/checks.h"

namespace flowscope::replay {
namespace {

void FailAt(CheckResult& result, std::string_view check, OpId op, const Trace& trace,
            std::string message) {
  result.failures.push_back(
      {std::string(check), op, op == kNoId ? "" : trace.OpLabel(op), std::move(message)});
}

std::string_view Address(const Trace& trace, VariableId id) {
  return trace.str(trace.variable(id).address);
}

void CheckVersionValues(const Trace& trace, CheckResult& result) {
  for (const VersionRecord& version : trace.tables().versions) {
    if (version.value == kNoId) continue;
    const VariableRecord& variable = trace.variable(version.variable);
    const TensorRecord& value = trace.tensor(version.value);
    ++result.num_checks;
    if (variable.dtype != DType::kInvalid && value.dtype != variable.dtype) {
      FailAt(result, "version history", version.writer, trace,
             fmt::format("version {} of {} is {}, the variable {}", version.index,
                         Address(trace, version.variable), DTypeName(value.dtype),
                         DTypeName(variable.dtype)));
    }
  }
}

// The handle that an op takes is one variable's, in every op.
void CheckVariableHandles(const Trace& trace, CheckResult& result) {
  std::map<TensorId, VariableId> owners;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const std::vector<AccessRecord> accesses = trace.AccessesOfOp(id);
    size_t next = 0;
    for (const EdgeRecord& edge : trace.inputs(id)) {
      if (edge.edge_class != EdgeClass::kVariable || next >= accesses.size()) continue;
      const VariableId variable = accesses[next++].variable;
      if (edge.tensor == kNoId) continue;
      ++result.num_checks;
      const auto [it, is_new] = owners.emplace(edge.tensor, variable);
      if (is_new || it->second == variable) continue;
      FailAt(result, "version history", id, trace,
             fmt::format("{} takes the handle of {} and is said to use {}", trace.OpLabel(id),
                         Address(trace, it->second), Address(trace, variable)));
    }
  }
}

// A recording that lets values go tells no handles, any other those of all inputs: without them
// nobody could see a parent that was swapped for one of equal value.
void CheckHandlesAreTold(const Trace& trace, CheckResult& result) {
  const auto is_told = [](const EdgeRecord& edge) { return edge.handle != 0; };
  const std::vector<EdgeRecord>& edges = trace.tables().edges;
  if (std::ranges::none_of(edges, is_told)) return;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    if (std::ranges::all_of(trace.inputs(id), is_told)) continue;
    FailAt(result, "handles", id, trace,
           fmt::format("an input of {} has no handle, though others have", trace.OpLabel(id)));
  }
}

// A model's call is a module call too: both list what it gave.
void CheckOutputsOfRoot(const Trace& trace, CheckResult& result) {
  const auto& calls = trace.tables().module_calls;
  if (calls.empty() || calls.front().parent != kNoId || trace.info().root_kind == "block") return;
  const bool is_root = trace.str(trace.module(calls.front().module).address) == "self" &&
                       trace.CallsOfModule(calls.front().module).size() == 1;
  if (!is_root) return;
  std::map<StringId, TensorId> given;
  const Span span = calls.front().outputs;
  for (uint32_t i = 0; i < span.count; ++i) {
    const NamedTensor& named = trace.tables().named_tensors[span.first + i];
    given.emplace(named.path, named.tensor);
  }
  for (const NamedTensor& output : trace.tables().outputs) {
    const auto found = given.find(output.path);
    ++result.num_checks;
    if (found == given.end() || found->second == output.tensor) continue;
    const OpId producer = output.tensor == kNoId ? kNoId : trace.tensor(output.tensor).producer;
    FailAt(result, "module boundaries", producer, trace,
           fmt::format("{} of the recorded call is another tensor than that of {}",
                       trace.str(output.path), trace.CallLabel(0)));
  }
}

}  // namespace

CheckResult CheckTables(const Trace& trace) {
  CheckResult result;
  CheckVersionValues(trace, result);
  CheckVariableHandles(trace, result);
  CheckHandlesAreTold(trace, result);
  CheckOutputsOfRoot(trace, result);
  return result;
}

}  // namespace flowscope::replay
