#include "replay/checks.h"

#include <algorithm>

#include <fmt/format.h>

#include "replay/compare.h"
#include "trace/lint.h"

namespace flowscope::replay {
namespace {

template <typename... Args>
void Fail(CheckResult& result, std::string_view check, OpId op, const Trace& trace,
          fmt::format_string<Args...> format, Args&&... args) {
  Finding finding;
  finding.check = check;
  finding.op = op;
  if (op != kNoId) finding.label = trace.OpLabel(op);
  finding.message = fmt::format(format, std::forward<Args>(args)...);
  result.failures.push_back(std::move(finding));
}

std::string ShapeText(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

// How a message names a tensor.
std::string NameOf(const Trace& trace, TensorId id) {
  const TensorRecord& tensor = trace.tensor(id);
  if (tensor.producer == kNoId) return fmt::format("tensor {}", id);
  return fmt::format("output {} of {}", tensor.output_index, trace.OpLabel(tensor.producer));
}

Status CheckValue(const Trace& trace, TensorId id, CheckResult& result) {
  const TensorRecord& tensor = trace.tensor(id);
  const Result<Payload> value = trace.ReadTensor(id);
  if (!value.ok()) {
    if (value.status().code() != StatusCode::kUnavailable) return value.status();
    Fail(result, "values", tensor.producer, trace, "{} is said to be kept: {}", NameOf(trace, id),
         value.status().message());
    return Status::Ok();
  }
  if (value->dtype != tensor.dtype) {
    Fail(result, "values", tensor.producer, trace, "{} is recorded as {} and kept as {}",
         NameOf(trace, id), DTypeName(tensor.dtype), DTypeName(value->dtype));
  } else if (tensor.shape_known && value->dims != trace.dims(tensor.dims)) {
    Fail(result, "values", tensor.producer, trace, "{} is recorded with shape {} and kept with {}",
         NameOf(trace, id), ShapeText(trace.dims(tensor.dims)), ShapeText(value->dims));
  }
  return Status::Ok();
}

void CheckOpTime(const Trace& trace, OpId id, CheckResult& result) {
  const OpRecord& op = trace.op(id);
  if (op.module_call == kNoId) return;
  const ModuleCallRecord& call = trace.module_call(op.module_call);
  if (op.start_ns >= call.start_ns && op.start_ns <= call.start_ns + call.duration_ns) return;
  Fail(result, "times", id, trace, "{} started while {} was not running", trace.OpLabel(id),
       trace.CallLabel(op.module_call));
}

// Module calls by time, as the ops go by.
class OpenCalls {
 public:
  explicit OpenCalls(const Trace& trace) : trace_(trace) {}

  // The innermost call that was surely running at `now`; times must not go back.
  ModuleCallId At(int64_t now) {
    const auto& calls = trace_.tables().module_calls;
    while (next_ < calls.size() && calls[next_].start_ns < now) open_.push_back(next_++);
    std::erase_if(
        open_, [&](ModuleCallId id) { return calls[id].start_ns + calls[id].duration_ns <= now; });
    return open_.empty() ? kNoId : open_.back();
  }

 private:
  const Trace& trace_;
  ModuleCallId next_ = 0;
  std::vector<ModuleCallId> open_;
};

void CheckCallTensor(const Trace& trace, ModuleCallId id, const NamedTensor& named, bool is_output,
                     CheckResult& result) {
  if (named.tensor == kNoId) return;
  const OpId producer = trace.tensor(named.tensor).producer;
  const ModuleCallRecord& call = trace.module_call(id);
  if (producer == kNoId || trace.op(producer).run_counter == 0) return;
  if (producer < (is_output ? call.end_op : call.first_op)) return;
  Fail(result, "module boundaries", producer, trace, "{} {} {}, which started after the call {}",
       trace.CallLabel(id), is_output ? "gives" : "takes", NameOf(trace, named.tensor),
       is_output ? "ended" : "began");
}

}  // namespace

CheckResult CheckInvariants(const Trace& trace) {
  CheckResult result;
  result.num_checks = static_cast<int64_t>(trace.num_ops());
  for (std::string& sentence : Lint(trace)) {
    result.failures.push_back({"invariants", kNoId, "", std::move(sentence)});
  }
  return result;
}

CheckResult CheckTimes(const Trace& trace) {
  CheckResult result;
  OpenCalls open(trace);
  int64_t last = 0;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const OpRecord& op = trace.op(id);
    if (op.run_counter == 0) continue;
    CheckOpTime(trace, id, result);
    if (op.start_ns < last) {
      Fail(result, "times", id, trace, "{} started before the op in the row above",
           trace.OpLabel(id));
    }
    last = std::max(last, op.start_ns);
    const ModuleCallId running = open.At(last);
    if (running != kNoId && !trace.InModuleCall(id, running)) {
      Fail(result, "times", id, trace, "{} started while {} was running, and does not stand in it",
           trace.OpLabel(id), trace.CallLabel(running));
    }
    ++result.num_checks;
  }
  return result;
}

Result<CheckResult> CheckValues(const Trace& trace) {
  CheckResult result;
  for (TensorId id = 0; id < trace.tables().tensors.size(); ++id) {
    if (trace.tensor(id).state != PayloadState::kKept) continue;
    FLOWSCOPE_RETURN_IF_ERROR(CheckValue(trace, id, result));
    ++result.num_checks;
  }
  return result;
}

CheckResult CheckBoundaries(const Trace& trace) {
  CheckResult result;
  const std::vector<NamedTensor>& named = trace.tables().named_tensors;
  for (ModuleCallId id = 0; id < trace.tables().module_calls.size(); ++id) {
    const ModuleCallRecord& call = trace.module_call(id);
    for (uint32_t i = 0; i < call.inputs.count; ++i) {
      CheckCallTensor(trace, id, named[call.inputs.first + i], false, result);
    }
    for (uint32_t i = 0; i < call.outputs.count; ++i) {
      CheckCallTensor(trace, id, named[call.outputs.first + i], true, result);
    }
    ++result.num_checks;
  }
  return result;
}

}  // namespace flowscope::replay
