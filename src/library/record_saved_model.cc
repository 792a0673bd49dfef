#include "library/record_saved_model.h"

#include <filesystem>

#include "capture/function_host.h"
#include "capture/recorder.h"

namespace flowscope::library {
namespace {

std::string FolderName(const std::string& dir) {
  const std::filesystem::path path = std::filesystem::path(dir).lexically_normal();
  return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
}

void DeclareVariables(capture::Recorder& recorder,
                      const std::vector<savedmodel::ModelVariable>& variables) {
  for (const savedmodel::ModelVariable& variable : variables) {
    capture::VariableTracker::Declared declared;
    declared.addresses = variable.addresses;
    declared.name = variable.name;
    declared.trainable = variable.trainable;
    recorder.DeclareVariable(variable.handle, declared);
  }
}

// What the outputs of a call are known by in a trace, as Python writes them.
std::string OutputPath(const std::string& name) { return "output['" + name + "']"; }

void TakeOutputs(capture::Recorder& recorder, savedmodel::CallResult& result,
                 RecordedCall& recorded) {
  std::vector<std::pair<std::string, TFE_TensorHandle*>> declared;
  for (const auto& [name, handle] : result.outputs) {
    declared.emplace_back(OutputPath(name), handle.get());
  }
  recorder.DeclareOutputs(declared);
  for (const auto& [name, handle] : result.outputs) {
    recorded.outputs.emplace_back(name, tf::ShareHandle(handle.get()));
  }
}

}  // namespace

Result<RecordedCall> RecordCall(savedmodel::SavedModel& model, std::string_view signature,
                                const savedmodel::NamedHandles& inputs,
                                capture::RecordOptions options, const std::string& note) {
  FLOWSCOPE_RETURN_IF_ERROR(model.CheckInputs(signature, inputs));
  Result<std::vector<savedmodel::ModelVariable>> variables = model.Variables(signature);
  if (!variables.ok()) return variables.status();
  if (options.name.empty()) options.name = FolderName(model.file().dir());
  options.root_class = "SavedModel";
  Result<std::shared_ptr<capture::Recorder>> started =
      capture::Recorder::Start(std::move(options), nullptr);
  if (!started.ok()) return started.status();
  capture::Recorder& recorder = **started;
  if (!note.empty()) recorder.AddNote(note);
  DeclareVariables(recorder, *variables);
  for (const auto& [name, handle] : inputs) recorder.DeclareInput(handle, name);
  RecordedCall recorded;
  {
    capture::FunctionHost host(recorder, kNoId, kNoId);
    Result<savedmodel::CallResult> result = model.Call(signature, inputs, host);
    recorded.status = result.status();
    if (result.ok()) TakeOutputs(recorder, *result, recorded);
  }
  recorded.stopped_by_nonfinite = recorder.stopped_at() != kNoId && !recorder.halted();
  if (recorder.stopped_at() != kNoId) recorded.status = Status::Ok();
  Result<std::shared_ptr<const Trace>> trace =
      recorder.Stop(recorded.status.ok() ? "" : recorded.status.message());
  if (!trace.ok()) return trace.status();
  recorded.trace = std::move(trace).value();
  return recorded;
}

}  // namespace flowscope::library
