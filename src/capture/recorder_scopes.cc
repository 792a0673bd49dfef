// What the wrappers in Python tell the recorder: modules, variables, calls, regions.
#include "capture/recorder.h"

namespace flowscope::capture {

ModuleId Recorder::DeclareModule(const std::vector<std::string>& addresses,
                                 const std::string& class_name, const std::string& name,
                                 const std::string& config, ModuleId parent, int64_t num_params,
                                 int64_t num_trainable) {
  ModuleRecord module;
  module.addresses = builder_.AddStrings(addresses);
  module.address = builder_.Intern(addresses.front());
  module.class_name = builder_.Intern(class_name);
  module.name = builder_.Intern(name);
  module.config = builder_.Intern(config);
  module.parent = parent;
  module.num_params = num_params;
  module.num_trainable_params = num_trainable;
  return builder_.AddModule(module);
}

void Recorder::UpdateParams(ModuleId module, int64_t num_params, int64_t num_trainable) {
  builder_.tables().modules[module].num_params = num_params;
  builder_.tables().modules[module].num_trainable_params = num_trainable;
}

VariableId Recorder::DeclareVariable(TFE_TensorHandle* handle,
                                     const VariableTracker::Declared& declared) {
  const Result<ResourceInfo> info = ResourceInfoOf(handle);
  return info.ok() ? variables_.Declare(handle, *info, declared) : kNoId;
}

VariableId Recorder::DeclareVariable(TFE_TensorHandle* handle, const ResourceInfo& info,
                                     const VariableTracker::Declared& declared) {
  return variables_.Declare(handle, info, declared);
}

ModuleCallId Recorder::OpenModuleCall(ModuleId module, const std::string& method) {
  const ModuleCallId call = builder_.OpenModuleCall(module, Now());
  builder_.tables().module_calls[call].method = builder_.Intern(method);
  return call;
}

std::vector<NamedTensor> Recorder::ToNamed(
    const std::vector<std::pair<std::string, TFE_TensorHandle*>>& tensors) {
  std::vector<NamedTensor> named;
  for (const auto& [path, handle] : tensors) {
    NamedTensor entry{builder_.Intern(path), kNoId};
    if (const auto known = handles_.Find(handle)) {
      entry.tensor = known->tensor;
    } else {
      // Passed by without any op having used it: a constant, or an array made in Python.
      Pending nobody;
      std::vector<EdgeRecord> edges;
      ResolveInputs({handle}, nobody, edges);
      entry.tensor = edges.front().tensor;
    }
    named.push_back(entry);
  }
  return named;
}

void Recorder::SetModuleCallInputs(
    ModuleCallId call, const std::vector<std::pair<std::string, TFE_TensorHandle*>>& inputs) {
  const std::vector<NamedTensor> named = ToNamed(inputs);
  builder_.tables().module_calls[call].inputs = builder_.AddNamedTensors(named);
}

void Recorder::SetModuleCallOutputs(
    ModuleCallId call, const std::vector<std::pair<std::string, TFE_TensorHandle*>>& outputs) {
  for (const auto& [path, handle] : outputs) KeepLate(handle, call);
  const std::vector<NamedTensor> named = ToNamed(outputs);
  builder_.tables().module_calls[call].outputs = builder_.AddNamedTensors(named);
}

void Recorder::SetModuleCallArguments(ModuleCallId call, const std::string& kwargs) {
  builder_.tables().module_calls[call].kwargs = builder_.Intern(kwargs);
}

void Recorder::SetModuleCallTraining(ModuleCallId call, const std::string& training) {
  builder_.tables().module_calls[call].training = builder_.Intern(training);
}

void Recorder::CloseModuleCall(ModuleCallId call, bool failed) {
  builder_.CloseModuleCall(call, Now(), failed);
}

ModuleId Recorder::module_of_call(ModuleCallId call) const {
  return builder_.tables().module_calls[call].module;
}

RegionId Recorder::OpenRegion(RegionKind kind, const std::string& name) {
  RegionRecord region;
  region.kind = kind;
  region.name = builder_.Intern(name);
  return builder_.OpenRegion(region);
}

void Recorder::CloseRegion(RegionId region) { builder_.CloseRegion(region); }

void Recorder::DeclareOutputs(
    const std::vector<std::pair<std::string, TFE_TensorHandle*>>& outputs) {
  builder_.tables().outputs = ToNamed(outputs);
}

// A module's outputs are known when its call ends; until then their ops were not matched by a
// selector that asks for them.
void Recorder::KeepLate(TFE_TensorHandle* handle, ModuleCallId call) {
  if (options_.save == nullptr || saves_nothing_) return;
  const auto known = handles_.Find(handle);
  if (!known) return;
  const TensorRecord& tensor = builder_.tables().tensors[known->tensor];
  if (tensor.producer == kNoId || tensor.state != PayloadState::kNotKept) return;
  FactsScratch scratch;
  const OpFacts facts = FactsOf(builder_.tables(), tensor.producer, scratch, call);
  if (!options_.save->Matches(facts, nullptr)) return;
  ++num_selected_;
  const PayloadState state = values_.Keep(known->tensor, tensor, handle, true);
  if (payloads_->Handle(known->tensor) != nullptr) handles_.InsertHeld(handle, *known);
  builder_.tables().tensors[known->tensor].state = state;
}

}  // namespace flowscope::capture
