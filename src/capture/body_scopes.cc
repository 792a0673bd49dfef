#include "capture/body_scopes.h"

#include <algorithm>

namespace flowscope::capture {
namespace {

// Outermost first.
std::vector<ModuleId> OpenModules(const TraceBuilder& builder) {
  std::vector<ModuleId> modules;
  const TraceTables& tables = builder.tables();
  for (ModuleCallId call = builder.current_module_call(); call != kNoId;
       call = tables.module_calls[call].parent) {
    modules.push_back(tables.module_calls[call].module);
  }
  std::ranges::reverse(modules);
  return modules;
}

// Names of the open regions that no op opened.
std::vector<std::string> OpenParts(const TraceBuilder& builder) {
  std::vector<std::string> names;
  const TraceTables& tables = builder.tables();
  for (RegionId id = builder.current_region(); id != kNoId; id = tables.regions[id].parent) {
    if (tables.regions[id].op == kNoId) {
      names.emplace_back(tables.strings.View(tables.regions[id].name));
    }
  }
  return names;
}

}  // namespace

void BodyScopes::Enter(const std::string& function) {
  Frame frame;
  frame.origins = target_.OriginsOf(function);
  if (frame.origins != nullptr) {
    frame.values.assign(frame.origins->num_values, kNoId);
    frame.modules_outside = OpenModules(builder_);
    frame.parts_outside = OpenParts(builder_);
  }
  frames_.push_back(std::move(frame));
}

void BodyScopes::Exit(bool failed) {
  Frame& frame = frames_.back();
  if (!failed && frame.origins != nullptr) PassSilentCalls(frame, {});
  while (!frame.open.empty()) CloseLast(frame, failed);
  frames_.pop_back();
}

std::vector<uint32_t> BodyScopes::Chain(const Frame& frame, uint32_t call) const {
  std::vector<uint32_t> chain;
  for (; call != kNoId; call = frame.origins->calls[call].parent) {
    const BodyCall& step = frame.origins->calls[call];
    if (step.module != kNoId || !step.name.empty()) chain.push_back(call);
  }
  std::ranges::reverse(chain);
  size_t passed = 0;
  const auto first = std::ranges::find_if(chain, [&](uint32_t step) {
    return !IsOpenOutside(frame.origins->calls[step], frame, passed);
  });
  chain.erase(chain.begin(), first);
  return chain;
}

// A body that runs inside of a call that its function was traced in, or inside of a like one.
bool BodyScopes::IsOpenOutside(const BodyCall& call, const Frame& frame,
                               size_t& modules_passed) const {
  if (call.module == kNoId) {
    return std::ranges::find(frame.parts_outside, call.name) != frame.parts_outside.end();
  }
  const auto begin = frame.modules_outside.begin() + static_cast<std::ptrdiff_t>(modules_passed);
  const auto found = std::find(begin, frame.modules_outside.end(), call.module);
  if (found == frame.modules_outside.end()) return false;
  modules_passed = static_cast<size_t>(found - frame.modules_outside.begin()) + 1;
  return true;
}

BodyOrigin BodyScopes::Before(std::string_view node) {
  if (frames_.empty()) return {};
  Frame& frame = frames_.back();
  if (frame.origins == nullptr) return {};
  PassSilentCalls(frame, node);
  const auto found = frame.origins->nodes.find(node);
  const BodyOrigin origin = found == frame.origins->nodes.end() ? BodyOrigin() : found->second;
  const bool stays =
      frame.open.empty() ? origin.call == kNoId : frame.open.back().call == origin.call;
  if (!stays) MoveTo(frame, Chain(frame, origin.call));
  return origin;
}

void BodyScopes::PassSilentCalls(Frame& frame, std::string_view before) {
  const auto calls = frame.origins->silent_calls.find(before);
  if (calls == frame.origins->silent_calls.end()) return;
  for (const uint32_t call : calls->second) MoveTo(frame, Chain(frame, call));
}

ModuleId BodyScopes::ModuleOf(uint32_t call) const {
  if (call == kNoId || frames_.empty() || frames_.back().origins == nullptr) return kNoId;
  return frames_.back().origins->calls[call].module;
}

void BodyScopes::MoveTo(Frame& frame, std::span<const uint32_t> chain) {
  size_t same = 0;
  while (same < chain.size() && same < frame.open.size() && frame.open[same].call == chain[same]) {
    ++same;
  }
  while (frame.open.size() > same) CloseLast(frame, false);
  for (const uint32_t call : chain.subspan(same)) OpenCall(frame, call);
}

void BodyScopes::OpenCall(Frame& frame, uint32_t call) {
  const BodyCall& wanted = frame.origins->calls[call];
  Open open;
  open.call = call;
  const auto suspended = frame.suspended.find(call);
  if (wanted.module == kNoId) {
    RegionRecord region;
    region.kind = wanted.region_kind;
    region.name = builder_.Intern(wanted.name);
    open.region = builder_.OpenRegion(region);
  } else if (suspended != frame.suspended.end()) {
    builder_.ResumeModuleCall(*suspended->second);
    open.module_call = frame.module_calls[call];
    frame.suspended.erase(suspended);
  } else {
    open.module_call = builder_.OpenModuleCall(wanted.module, target_.Now());
    ModuleCallRecord& record = builder_.tables().module_calls[open.module_call];
    record.method = builder_.Intern(wanted.method);
    record.kwargs = builder_.Intern(wanted.kwargs);
    record.training = builder_.Intern(wanted.training);
    frame.module_calls[call] = open.module_call;
  }
  frame.open.push_back(open);
}

void BodyScopes::CloseLast(Frame& frame, bool failed) {
  const Open open = frame.open.back();
  frame.open.pop_back();
  if (open.region != kNoId) return builder_.CloseRegion(open.region);
  SetTensors(frame, open);
  if (failed) return builder_.CloseModuleCall(open.module_call, target_.Now(), true);
  frame.suspended[open.call] = builder_.SuspendModuleCall(open.module_call, target_.Now());
}

void BodyScopes::SetTensors(const Frame& frame, const Open& open) {
  const BodyCall& call = frame.origins->calls[open.call];
  const std::vector<NamedTensor> inputs = Named(frame, call.inputs);
  const std::vector<NamedTensor> outputs = Named(frame, call.outputs);
  ModuleCallRecord& record = builder_.tables().module_calls[open.module_call];
  record.inputs = builder_.AddNamedTensors(inputs);
  record.outputs = builder_.AddNamedTensors(outputs);
}

std::vector<NamedTensor> BodyScopes::Named(
    const Frame& frame, const std::vector<std::pair<std::string, uint32_t>>& values) {
  std::vector<NamedTensor> named;
  for (const auto& [path, value] : values) {
    if (frame.values[value] != kNoId) {
      named.push_back({builder_.Intern(path), frame.values[value]});
    }
  }
  return named;
}

bool BodyScopes::Asks(std::string_view node) const {
  if (frames_.empty() || frames_.back().origins == nullptr) return false;
  const BodyOrigins& origins = *frames_.back().origins;
  return node.empty() ? !origins.values_of_arguments.empty()
                      : origins.values_of_node.contains(node);
}

void BodyScopes::Made(std::string_view node, std::span<const TensorId> values,
                      const OnOutput& on_output) {
  if (!Asks(node)) return;
  Frame& frame = frames_.back();
  const BodyOrigins& origins = *frame.origins;
  for (const auto& [index, value] :
       node.empty() ? origins.values_of_arguments : origins.values_of_node.find(node)->second) {
    if (index >= values.size() || values[index] == kNoId) continue;
    frame.values[value] = values[index];
    if (!on_output) continue;
    for (const Open& open : frame.open) {
      if (open.module_call == kNoId) continue;
      for (const auto& [path, number] : origins.calls[open.call].outputs) {
        if (number == value) on_output(index, open.module_call);
      }
    }
  }
}

}  // namespace flowscope::capture
