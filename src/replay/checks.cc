#include "replay/checks.h"

#include <algorithm>
#include <span>

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
  if (IsPlainBytes(tensor.dtype) && tensor.nbytes != static_cast<int64_t>(value->nbytes)) {
    Fail(result, "values", tensor.producer, trace, "{} is recorded with {} bytes and kept with {}",
         NameOf(trace, id), tensor.nbytes, value->nbytes);
  }
  const std::optional<std::string> hash = trace.StoredHash(id);
  if (hash && *hash != ContentHash(*value)) {
    Fail(result, "hashes", tensor.producer, trace, "{} has other bytes than when it was stored",
         NameOf(trace, id));
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

std::span<const NamedTensor> TensorsOf(const Trace& trace, Span span) {
  return std::span(trace.tables().named_tensors).subspan(span.first, span.count);
}

bool WasGiven(const Trace& trace, const ModuleCallRecord& call, TensorId tensor) {
  return std::ranges::any_of(TensorsOf(trace, call.inputs),
                             [tensor](const NamedTensor& named) { return named.tensor == tensor; });
}

void CheckCallInput(const Trace& trace, ModuleCallId id, TensorId tensor, CheckResult& result) {
  const OpId producer = tensor == kNoId ? kNoId : trace.tensor(tensor).producer;
  if (producer == kNoId || trace.op(producer).run_counter == 0) return;
  if (producer < trace.module_call(id).first_op) return;
  Fail(result, "module boundaries", producer, trace, "{} takes {}, which started after it began",
       trace.CallLabel(id), NameOf(trace, tensor));
}

// Made during the call, or given to it, or there before the run; anything else reached it past its
// arguments.
void CheckCallOutput(const Trace& trace, ModuleCallId id, TensorId tensor, CheckResult& result) {
  const OpId producer = tensor == kNoId ? kNoId : trace.tensor(tensor).producer;
  if (producer == kNoId || trace.op(producer).run_counter == 0) return;
  const ModuleCallRecord& call = trace.module_call(id);
  if (producer >= call.end_op) {
    Fail(result, "module boundaries", producer, trace, "{} gives {}, which started after it ended",
         trace.CallLabel(id), NameOf(trace, tensor));
  } else if (producer < call.first_op && !WasGiven(trace, call, tensor)) {
    result.unverified.push_back(
        {"module boundaries", producer, trace.OpLabel(producer),
         fmt::format("{} gives {}, which was neither made inside of it nor given to it",
                     trace.CallLabel(id), NameOf(trace, tensor))});
  }
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
  for (ModuleCallId id = 0; id < trace.tables().module_calls.size(); ++id) {
    const ModuleCallRecord& call = trace.module_call(id);
    for (const NamedTensor& named : TensorsOf(trace, call.inputs)) {
      CheckCallInput(trace, id, named.tensor, result);
    }
    for (const NamedTensor& named : TensorsOf(trace, call.outputs)) {
      CheckCallOutput(trace, id, named.tensor, result);
    }
    ++result.num_checks;
  }
  return result;
}

}  // namespace flowscope::replay
