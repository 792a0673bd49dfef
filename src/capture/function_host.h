// Lets the interpreter run a function inside a recording: each op of the body is recorded as any
// other op of the thread.
#pragma once

#include "capture/body_scopes.h"
#include "interp/host.h"
#include "trace/ids.h"

namespace flowscope::capture {

class Recorder;

class FunctionHost : public interp::Host {
 public:
  // `call` is the op that called the function; `location` the user's line that did. `op_itself`:
  // the function is made of that op, and its body no region of its own.
  FunctionHost(Recorder& recorder, OpId call, LocationId location, bool op_itself = false);

  void Execute(const interp::NodeInfo& node, TFE_Op* op, TFE_TensorHandle** outputs,
               int* num_outputs, TF_Status* status) override;
  void OnConstant(const interp::NodeInfo& node, TFE_TensorHandle* value) override;
  uint32_t EnterRegion(const interp::RegionInfo& region) override;
  void ExitRegion(uint32_t token, bool failed) override;
  void OnValues(std::string_view node, std::span<TFE_TensorHandle* const> values) override;
  TFE_TensorHandle* Share(TFE_TensorHandle* handle, TF_Status* status) override;
  void Delete(TFE_TensorHandle* handle) override;

 private:
  void Made(std::string_view node, std::span<TFE_TensorHandle* const> values);

  Recorder& recorder_;
  BodyScopes scopes_;
  OpId call_;
  LocationId location_;
  bool op_itself_;
};

}  // namespace flowscope::capture
