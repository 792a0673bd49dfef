#include "analyze/cost.h"

#include <algorithm>

#include "analyze/flop_formulas.h"
#include "analyze/trace_facts.h"

namespace flowscope {
namespace {

void AddTensors(const Trace& trace, OpId id, Cost& cost) {
  for (const EdgeRecord& edge : trace.inputs(id)) {
    if (edge.tensor != kNoId) cost.bytes_read += trace.tensor(edge.tensor).nbytes;
  }
  for (uint32_t i = 0; i < trace.op(id).outputs.count; ++i) {
    cost.bytes_written += trace.tensor(trace.output(id, i)).nbytes;
  }
}

void AddVariables(const Trace& trace, OpId id, Cost& cost) {
  for (const AccessRecord& access : trace.AccessesOfOp(id)) {
    // Every version of a variable has the bytes of its dtype and shape.
    const int64_t nbytes = VariableBytes(trace, access.variable).value_or(0);
    (access.write ? cost.bytes_written : cost.bytes_read) += nbytes;
  }
}

}  // namespace

Cost& operator+=(Cost& total, const Cost& part) {
  total.flops += part.flops;
  total.bytes_read += part.bytes_read;
  total.bytes_written += part.bytes_written;
  total.ops += part.ops;
  total.ops_without_formula += part.ops_without_formula;
  return total;
}

bool IsSource(OpKind kind) {
  return kind == OpKind::kInput || kind == OpKind::kConstant || kind == OpKind::kFromPython;
}

CostIndex::CostIndex(const Trace& trace) : trace_(trace), container_(trace.num_ops(), false) {
  for (const RegionRecord& region : trace.tables().regions) {
    // What runs while a function is traced is not what the function computes.
    const bool inside = region.kind != RegionKind::kRoot && region.kind != RegionKind::kTracing;
    if (!inside || region.op >= container_.size()) continue;
    container_[region.op] = trace.op(region.op).opaque_reason == 0;
  }
}

std::optional<int64_t> CostIndex::Flops(OpId id) const {
  const OpRecord& op = trace_.op(id);
  if (container_[id]) return 0;
  if (op.error != 0) return std::nullopt;
  const FlopRow* row = FindFlopRow(trace_.str(op.type));
  return row == nullptr ? std::nullopt : row->function(FlopOp(trace_, id), row->factor);
}

Cost CostIndex::OfOp(OpId id) const {
  Cost cost;
  const OpRecord& op = trace_.op(id);
  if (IsSource(op.kind) || container_[id]) return cost;
  const std::optional<int64_t> flops = Flops(id);
  cost.ops = 1;
  cost.flops = flops.value_or(0);
  cost.ops_without_formula = !flops && op.error == 0 ? 1 : 0;
  AddTensors(trace_, id, cost);
  AddVariables(trace_, id, cost);
  return cost;
}

Cost CostIndex::OfModule(ModuleId module) const {
  Cost total;
  for (const ModuleCallId call_id : trace_.CallsOfModule(module)) {
    if (!IsOutermostCall(trace_, call_id)) continue;
    const ModuleCallRecord& call = trace_.module_call(call_id);
    for (OpId id = call.first_op; id < call.end_op; ++id) {
      if (trace_.InModuleCall(id, call_id)) total += OfOp(id);
    }
  }
  return total;
}

std::vector<Cost> CostIndex::OfModules() const {
  std::vector<Cost> costs(trace_.tables().modules.size());
  std::vector<OpId> last_op(costs.size(), kNoId);  // a module that calls itself is counted once
  for (OpId id = 0; id < trace_.num_ops(); ++id) {
    ModuleCallId call = trace_.op(id).module_call;
    if (call == kNoId) continue;
    const Cost cost = OfOp(id);
    for (; call != kNoId; call = trace_.module_call(call).parent) {
      const ModuleId module = trace_.module_call(call).module;
      if (last_op[module] != id) costs[module] += cost;
      last_op[module] = id;
    }
  }
  return costs;
}

Cost CostIndex::Total() const {
  Cost total;
  for (OpId id = 0; id < trace_.num_ops(); ++id) total += OfOp(id);
  return total;
}

std::optional<int64_t> OpFlops(const Trace& trace, OpId op) { return CostIndex(trace).Flops(op); }
Cost OpCost(const Trace& trace, OpId op) { return CostIndex(trace).OfOp(op); }
Cost TotalCost(const Trace& trace) { return CostIndex(trace).Total(); }
Cost ModuleCost(const Trace& trace, ModuleId module) { return CostIndex(trace).OfModule(module); }

std::vector<FlopFormula> FlopFormulas() {
  std::vector<FlopFormula> formulas;
  for (const FlopRow& row : AllFlopRows()) {
    for (const std::string_view type : TypesOf(row)) {
      formulas.push_back({std::string(type), std::string(row.text), std::string(row.source)});
    }
  }
  std::sort(formulas.begin(), formulas.end(),
            [](const FlopFormula& a, const FlopFormula& b) { return a.type < b.type; });
  return formulas;
}

}  // namespace flowscope
