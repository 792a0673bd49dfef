// Calls of functions that were opened, against what ran inside of them.
#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "interp/op_facts.h"
#include "replay/checks.h"
#include "replay/compare.h"
#include "tf/op_registry.h"

namespace flowscope::replay {
namespace {

bool IsKept(const Trace& trace, TensorId id) {
  return trace.tensor(id).state == PayloadState::kKept;
}

// Same place in memory, or same content.
Result<bool> SameValue(const Trace& trace, const Payload& value, TensorId other) {
  const TensorRecord& record = trace.tensor(other);
  if (!IsKept(trace, other) || record.dtype != value.dtype) return false;
  if (record.shape_known && trace.dims(record.dims) != value.dims) return false;
  const Result<Payload> candidate = trace.ReadTensor(other);
  FLOWSCOPE_RETURN_IF_ERROR(candidate.status());
  return SameBits(*candidate, value);
}

// Rows of tensors made while the call ran: after the outputs of the last op that ended before it,
// before its own, which are added at its end.
Span TensorsInside(const Trace& trace, OpId call) {
  const uint32_t end = trace.op(call).outputs.first;
  OpId before = call;
  while (before > 0) {
    const Span outputs = trace.op(--before).outputs;
    if (outputs.count > 0 && outputs.first < end) {
      return {outputs.first + outputs.count, end - outputs.first - outputs.count};
    }
  }
  return {0, end};
}

Result<bool> WasMadeInside(const Trace& trace, OpId call, const Payload& value) {
  const Span inside = TensorsInside(trace, call);
  for (TensorId id = inside.first + inside.count; id-- > inside.first;) {
    Result<bool> same = SameValue(trace, value, id);
    if (!same.ok() || *same) return same;
  }
  for (const EdgeRecord& edge : trace.inputs(call)) {
    if (edge.tensor == kNoId) continue;
    Result<bool> same = SameValue(trace, value, edge.tensor);
    if (!same.ok() || *same) return same;
  }
  return false;
}

// By region: the innermost call that opened it, or one around it.
std::vector<OpId> CallsOfRegions(const Trace& trace) {
  std::vector<OpId> calls;
  for (const RegionRecord& region : trace.tables().regions) {
    const OpId around = region.parent == kNoId ? kNoId : calls[region.parent];
    calls.push_back(region.op == kNoId ? around : region.op);
  }
  return calls;
}

// True for ops whose kernels call Python, where a program can use whatever it likes.
bool CallsPython(const Trace& trace, OpId id) {
  const tf::OpDef* def = tf::FindOpDef(trace.str(trace.op(id).type));
  return def != nullptr && interp::HasAttr(*def, "token");
}

// The ops of Python code run while the op that calls it does.
class PythonCode {
 public:
  explicit PythonCode(const Trace& trace) : trace_(trace) {}

  // Ops go by in their order.
  bool Runs(OpId id) {
    const OpRecord& op = trace_.op(id);
    const bool inside = op.start_ns <= until_;
    if (CallsPython(trace_, id)) until_ = std::max(until_, op.start_ns + op.duration_ns);
    return inside;
  }

 private:
  const Trace& trace_;
  int64_t until_ = -1;
};

bool WasGiven(const Trace& trace, OpId call, TensorId tensor) {
  return std::ranges::any_of(trace.inputs(call),
                             [tensor](const EdgeRecord& edge) { return edge.tensor == tensor; });
}

// A function has what it is given and what it makes.
void CheckTaken(const Trace& trace, OpId id, OpId call, CheckResult& result) {
  for (const EdgeRecord& edge : trace.inputs(id)) {
    const OpId producer = edge.tensor == kNoId ? kNoId : trace.tensor(edge.tensor).producer;
    if (producer == kNoId || producer >= call || WasGiven(trace, call, edge.tensor)) continue;
    result.failures.push_back(
        {"opened call", id, trace.OpLabel(id),
         fmt::format("{} takes an output of {}, which {} around it was not "
                     "given",
                     trace.OpLabel(id), trace.OpLabel(producer), trace.OpLabel(call))});
  }
}

void CheckWhatIsTaken(const Trace& trace, CheckResult& result) {
  const std::vector<OpId> calls = CallsOfRegions(trace);
  PythonCode python(trace);
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const OpRecord& op = trace.op(id);
    if (op.run_counter == 0) continue;
    const bool in_python = python.Runs(id);
    const OpId call = calls[op.region];
    if (in_python || call == kNoId || call >= id) continue;
    if (trace.op(call).kind != OpKind::kCall) continue;
    CheckTaken(trace, id, call, result);
    ++result.num_checks;
  }
}

}  // namespace

Result<CheckResult> CheckOpenedCalls(const Trace& trace) {
  CheckResult result;
  CheckWhatIsTaken(trace, result);
  std::vector<bool> opened(trace.num_ops(), false);
  for (const RegionRecord& region : trace.tables().regions) {
    if (region.op != kNoId) opened[region.op] = true;
  }
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const OpRecord& op = trace.op(id);
    if (op.kind != OpKind::kCall || op.opaque_reason != 0 || !opened[id]) continue;
    for (uint32_t i = 0; i < op.outputs.count; ++i) {
      if (!IsKept(trace, op.outputs.first + i)) continue;
      const Result<Payload> value = trace.ReadTensor(op.outputs.first + i);
      FLOWSCOPE_RETURN_IF_ERROR(value.status());
      const Result<bool> found = WasMadeInside(trace, id, *value);
      FLOWSCOPE_RETURN_IF_ERROR(found.status());
      ++result.num_checks;
      if (*found) continue;
      result.failures.push_back(
          {"opened call", id, trace.OpLabel(id),
           fmt::format("output {} of {} is no value that was made inside of it or given to it", i,
                       trace.OpLabel(id))});
    }
  }
  return result;
}

}  // namespace flowscope::replay
