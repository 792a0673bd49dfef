#include "capture/body_scopes.h"

#include <algorithm>

#include "capture/recorder.h"

namespace flowscope::capture {

void BodyScopes::Enter(const std::string& function) {
  Frame frame;
  frame.origins = recorder_.OriginsOf(function);
  if (frame.origins != nullptr) {
    frame.values.assign(frame.origins->num_values, kNoId);
    frame.modules_outside = recorder_.OpenModules();
    frame.parts_outside = recorder_.OpenParts();
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
    open.region = recorder_.OpenRegion(wanted.region_kind, wanted.name);
  } else if (suspended != frame.suspended.end()) {
    recorder_.ResumeModuleCall(*suspended->second);
    open.module_call = frame.module_calls[call];
    frame.suspended.erase(suspended);
  } else {
    open.module_call = recorder_.OpenModuleCall(wanted.module, wanted.method);
    recorder_.SetModuleCallArguments(open.module_call, wanted.kwargs);
    recorder_.SetModuleCallTraining(open.module_call, wanted.training);
    frame.module_calls[call] = open.module_call;
  }
  frame.open.push_back(open);
}

void BodyScopes::CloseLast(Frame& frame, bool failed) {
  const Open open = frame.open.back();
  frame.open.pop_back();
  if (open.region != kNoId) return recorder_.CloseRegion(open.region);
  SetTensors(frame, open);
  if (failed) return recorder_.CloseModuleCall(open.module_call, true);
  frame.suspended[open.call] = recorder_.SuspendModuleCall(open.module_call);
}

void BodyScopes::SetTensors(const Frame& frame, const Open& open) {
  const BodyCall& call = frame.origins->calls[open.call];
  recorder_.SetModuleCallTensors(open.module_call, Named(frame, call.inputs),
                                 Named(frame, call.outputs));
}

std::vector<NamedTensor> BodyScopes::Named(
    const Frame& frame, const std::vector<std::pair<std::string, uint32_t>>& values) {
  std::vector<NamedTensor> named;
  for (const auto& [path, value] : values) {
    if (frame.values[value] != kNoId) {
      named.push_back({recorder_.InternText(path), frame.values[value]});
    }
  }
  return named;
}

void BodyScopes::Made(std::string_view node, std::span<TFE_TensorHandle* const> values) {
  if (frames_.empty() || frames_.back().origins == nullptr) return;
  Frame& frame = frames_.back();
  const auto& of_node = frame.origins->values_of_node;
  const auto found = of_node.find(node);
  if (!node.empty() && found == of_node.end()) return;
  for (const auto& [index, value] :
       node.empty() ? frame.origins->values_of_arguments : found->second) {
    if (index >= values.size() || values[index] == nullptr) continue;
    frame.values[value] = recorder_.TensorOf(values[index]);
    for (const Open& open : frame.open) {
      if (open.module_call == kNoId) continue;
      for (const auto& [path, number] : frame.origins->calls[open.call].outputs) {
        if (number == value) recorder_.KeepLate(values[index], open.module_call);
      }
    }
  }
}

}  // namespace flowscope::capture
