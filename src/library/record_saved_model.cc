#include "library/record_saved_model.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include <nlohmann/json.hpp>

#include "capture/function_host.h"
#include "capture/recorder.h"
#include "library/scope_origins.h"

namespace flowscope::library {

std::string FolderName(const std::string& dir) {
  const std::filesystem::path path = std::filesystem::path(dir).lexically_normal();
  return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
}

namespace {

// The recorder's numbers of the model's modules.
std::vector<ModuleId> DeclareModules(capture::Recorder& recorder,
                                     const std::vector<savedmodel::ModelModule>& modules) {
  std::vector<ModuleId> ids;
  for (const savedmodel::ModelModule& module : modules) {
    const ModuleId parent = module.parent == savedmodel::kNoScope ? kNoId : ids[module.parent];
    ids.push_back(recorder.DeclareModule({module.address}, module.class_name, module.name, "",
                                         parent, module.num_params, module.num_trainable));
  }
  return ids;
}

std::shared_ptr<ScopeOrigins> OriginsOf(const savedmodel::SavedModel& model,
                                        const FunctionDefinitions& functions) {
  // A recorder numbers modules in the order in which they are declared.
  std::vector<ModuleId> numbers(model.names().modules().size());
  std::iota(numbers.begin(), numbers.end(), ModuleId{0});
  return std::make_shared<ScopeOrigins>(model.names().scopes(), std::move(numbers), functions);
}

void DeclareVariables(capture::Recorder& recorder,
                      const std::vector<savedmodel::UsedVariable>& variables,
                      const std::vector<ModuleId>& modules) {
  for (const auto& [variable, handle] : variables) {
    capture::VariableTracker::Declared declared;
    declared.addresses = variable.addresses;
    declared.name = variable.name;
    declared.trainable = variable.trainable;
    if (variable.module != savedmodel::kNoScope) declared.module = modules[variable.module];
    recorder.DeclareVariable(handle, declared);
  }
}

// What the outputs of a call are known by in a trace, as Python writes them.
std::string OutputPath(const std::string& name) { return "output['" + name + "']"; }

// A dict of tensors by name; docs/trace_format.md has the grammar.
std::string StructureOf(const std::vector<std::pair<std::string, interp::HeldHandle>>& outputs) {
  nlohmann::ordered_json items = nlohmann::ordered_json::array();
  for (const auto& [name, handle] : outputs) {
    items.push_back({{{"value", name}}, {{"tensor", OutputPath(name)}}});
  }
  return nlohmann::ordered_json({{"dict", items}})
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void TakeOutputs(capture::Recorder& recorder, savedmodel::CallResult& result, ModuleCallId root,
                 RecordedCall& recorded) {
  std::vector<std::pair<std::string, TFE_TensorHandle*>> declared;
  for (const auto& [name, handle] : result.outputs) {
    declared.emplace_back(OutputPath(name), handle.get());
  }
  recorder.DeclareOutputs(declared);
  recorder.SetOutputStructure(StructureOf(result.outputs));
  if (root != kNoId) recorder.SetModuleCallOutputs(root, declared);
  for (const auto& [name, handle] : result.outputs) {
    recorded.outputs.emplace_back(name, tf::ShareHandle(handle.get()));
  }
}

}  // namespace

Result<RecordedCall> RecordCall(savedmodel::SavedModel& model, std::string_view signature,
                                const savedmodel::NamedHandles& inputs,
                                capture::RecordOptions options, const std::string& note) {
  FLOWSCOPE_RETURN_IF_ERROR(model.CheckInputs(signature, inputs));
  Result<std::vector<savedmodel::UsedVariable>> variables = model.Variables(signature);
  if (!variables.ok()) return variables.status();
  if (options.name.empty()) options.name = FolderName(model.file().dir());
  options.root_class = "SavedModel";
  const FunctionDefinitions functions(model.file().graph().functions, model.rewrite());
  options.body_origins = OriginsOf(model, functions);
  Result<std::shared_ptr<capture::Recorder>> started =
      capture::Recorder::Start(std::move(options), nullptr);
  if (!started.ok()) return started.status();
  capture::Recorder& recorder = **started;
  if (!note.empty()) recorder.AddNote(note);
  if (!model.names().scopes().modules().empty()) recorder.AddNote(std::string(kScopesNote));
  const std::vector<ModuleId> modules = DeclareModules(recorder, model.names().modules());
  DeclareVariables(recorder, *variables, modules);
  // In the order of the signature, so that labels do not depend on the caller's.
  savedmodel::NamedHandles in_order = inputs;
  std::ranges::sort(in_order, {}, &savedmodel::NamedHandles::value_type::first);
  for (const auto& [name, handle] : in_order) recorder.DeclareInput(handle, name);
  RecordedCall recorded;
  const ModuleCallId root =
      modules.empty() ? kNoId : recorder.OpenModuleCall(modules.front(), "__call__");
  if (root != kNoId) recorder.SetModuleCallInputs(root, inputs);
  {
    capture::FunctionHost host(recorder, kNoId, kNoId);
    Result<savedmodel::CallResult> result = model.Call(signature, inputs, host);
    recorded.status = result.status();
    if (result.ok()) TakeOutputs(recorder, *result, root, recorded);
    if (root != kNoId) recorder.CloseModuleCall(root, !result.ok());
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
