#include "capture/function_host.h"

#include "capture/hook_targets.h"
#include "capture/recorder.h"

namespace flowscope::capture {

namespace {

// Ops whose kernel calls Python.
bool CallsPython(std::string_view op) {
  return op == "EagerPyFunc" || op == "PyFunc" || op == "PyFuncStateless";
}

}  // namespace

FunctionHost::FunctionHost(Recorder& recorder, OpId call, LocationId location, bool op_itself)
    : recorder_(recorder),
      scopes_(recorder),
      call_(call),
      location_(location),
      op_itself_(op_itself) {}

void FunctionHost::Execute(const interp::NodeInfo& node, TFE_Op* op, TFE_TensorHandle** outputs,
                           int* num_outputs, TF_Status* status) {
  const BodyOrigin origin = scopes_.Before(node.name);
  const LocationId location =
      origin.location == kNoId ? location_ : recorder_.LocationOf(origin.location);
  const Recorder::Place place{location, node.name, scopes_.ModuleOf(origin.gradient_of),
                              origin.backward};
  const auto execute = [&] { recorder_.ExecuteOp(op, outputs, num_outputs, status, place); };
  // TensorFlow's executor would call it on a thread of its own, where no tape, scope or setting of
  // the thread that called the function reaches: on this one tapes are off for the call.
  if (CallsPython(node.op)) {
    recorder_.OnOwnThread(execute);
  } else {
    execute();
  }
  if (tf::Api().TF_GetCode(status) != 0) {
    recorder_.AddLineTo(status, location);
    return;
  }
  Made(node.name, {outputs, static_cast<size_t>(*num_outputs)});
}

void FunctionHost::OnConstant(const interp::NodeInfo& node, TFE_TensorHandle* value) {
  recorder_.AddBodyConstant(value, node.name);
}

void FunctionHost::OnValues(std::string_view node, std::span<TFE_TensorHandle* const> values) {
  Made(node, values);
}

void FunctionHost::Made(std::string_view node, std::span<TFE_TensorHandle* const> values) {
  if (!scopes_.Asks(node)) return;
  std::vector<TensorId> tensors;
  for (TFE_TensorHandle* value : values) {
    tensors.push_back(value == nullptr ? kNoId : recorder_.TensorOf(value));
  }
  scopes_.Made(node, tensors,
               [&](size_t index, ModuleCallId call) { recorder_.KeepLate(values[index], call); });
}

uint32_t FunctionHost::EnterRegion(const interp::RegionInfo& region) {
  if (!region.node.empty()) scopes_.Before(region.node);
  const bool outermost = region.node.empty();
  const RegionId id = outermost && op_itself_ ? kNoId : recorder_.OpenBodyRegion(region, call_);
  scopes_.Enter(std::string(region.function));
  return id;
}

void FunctionHost::ExitRegion(uint32_t token, bool failed) {
  scopes_.Exit(failed);
  if (token != kNoId) recorder_.CloseRegion(token);
}

TFE_TensorHandle* FunctionHost::Share(TFE_TensorHandle* handle, TF_Status* status) {
  return RecorderTargets().copy_sharing(handle, status);
}

void FunctionHost::Delete(TFE_TensorHandle* handle) { RecorderTargets().delete_handle(handle); }

}  // namespace flowscope::capture
