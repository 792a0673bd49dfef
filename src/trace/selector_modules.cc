// Selectors that look at the module calls around an op and at what they gave back.
#include <algorithm>
#include <memory>

#include "trace/selector_parts.h"

namespace flowscope {
namespace {

bool IsInnermost(const AddressPattern& pattern, const OpFacts& facts) {
  if (facts.module_addresses.empty()) return pattern.Matches("self", 0);
  const size_t count = std::min<size_t>(facts.num_innermost, facts.module_addresses.size());
  for (size_t i = 0; i < count; ++i) {
    if (pattern.Matches(facts.module_addresses[i], facts.call_indices[i])) return true;
  }
  return false;
}

// Everything lies in "self", also where the root is no module.
bool IsAround(const AddressPattern& pattern, const OpFacts& facts) {
  for (size_t i = 0; i < facts.module_addresses.size(); ++i) {
    if (pattern.Matches(facts.module_addresses[i], facts.call_indices[i])) return true;
  }
  return pattern.Matches("self", 0);
}

bool IsModuleOfCall(const AddressPattern& pattern, const TraceTables& tables, ModuleCallId id) {
  const ModuleCallRecord& call = tables.module_calls[id];
  const Span addresses = tables.modules[call.module].addresses;
  for (uint32_t i = 0; i < addresses.count; ++i) {
    const StringId address = tables.string_lists[addresses.first + i];
    if (pattern.Matches(tables.strings.View(address), call.call_index)) return true;
  }
  return false;
}

bool IsOutputOf(const AddressPattern& pattern, const OpFacts& facts) {
  if (facts.module_outputs == nullptr || facts.tables == nullptr) return false;
  const ModuleOutputs& outputs = *facts.module_outputs;
  auto it =
      std::lower_bound(outputs.begin(), outputs.end(), std::pair<OpId, ModuleCallId>(facts.id, 0));
  for (; it != outputs.end() && it->first == facts.id; ++it) {
    if (IsModuleOfCall(pattern, *facts.tables, it->second)) return true;
  }
  return false;
}

bool NamesSomeModule(const AddressPattern& pattern, const Trace& trace) {
  const TraceTables& tables = trace.tables();
  for (const ModuleRecord& module : tables.modules) {
    for (uint32_t i = 0; i < module.addresses.count; ++i) {
      const StringId address = tables.string_lists[module.addresses.first + i];
      if (pattern.MatchesSomeCall(trace.str(address))) return true;
    }
  }
  return false;
}

// A module's own address hides a label of the same text; an alias does not.
bool IsSomeAddress(const AddressPattern& pattern, const Trace& trace) {
  const std::vector<ModuleRecord>& modules = trace.tables().modules;
  return std::any_of(modules.begin(), modules.end(), [&](const ModuleRecord& module) {
    return pattern.MatchesSomeCall(trace.str(module.address));
  });
}

std::string ExplainModule(const AddressPattern& pattern, const Trace& trace) {
  if (!NamesSomeModule(pattern, trace)) {
    return NearKeys("module", pattern.text(), trace);
  }
  return "the module is there, but nothing of it that this asks for was recorded";
}

bool IsTraceOutput(const OpFacts& facts, const Trace& trace) {
  const auto& outputs = trace.tables().outputs;
  return std::any_of(outputs.begin(), outputs.end(), [&](const NamedTensor& output) {
    return output.tensor != kNoId && trace.tensor(output.tensor).producer == facts.id;
  });
}

using PatternMatch = bool (*)(const AddressPattern&, const OpFacts&);

SelectorPtr SelectByAddress(const char* function, std::string address, PatternMatch match) {
  std::string text = CallText(function, address);
  const auto pattern = std::make_shared<const AddressPattern>(std::move(address));
  return MakeSelector(
      {.text = std::move(text),
       .matches = [=](const OpFacts& facts, const Trace*) { return match(*pattern, facts); },
       .explain = [=](const Trace& trace) { return ExplainModule(*pattern, trace); }});
}

bool TextMatches(const AddressPattern& pattern, const OpFacts& facts, const Trace* finished) {
  if (IsOutputOf(pattern, facts)) return true;
  if (!MatchesLabel(pattern.text(), facts)) return false;
  return finished == nullptr || !IsSomeAddress(pattern, *finished);
}

std::string ExplainText(const AddressPattern& pattern, const Trace& trace) {
  if (NamesSomeModule(pattern, trace)) {
    return "the module is there, but gave back no output of an op that was recorded";
  }
  return NearKeys("module or op", pattern.text(), trace);
}

}  // namespace

SelectorPtr SelectModule(std::string address) {
  return SelectByAddress("module", std::move(address), IsInnermost);
}

SelectorPtr SelectInModule(std::string address) {
  return SelectByAddress("in_module", std::move(address), IsAround);
}

SelectorPtr SelectOutput() {
  return MakeSelector(
      {.text = "output()",
       .matches =
           [](const OpFacts& facts, const Trace* finished) {
             return finished != nullptr && IsTraceOutput(facts, *finished);
           },
       .explain = [](const Trace&) { return "the call gave back nothing recorded"; },
       .answers_live = false});
}

SelectorPtr SelectModuleOutput(std::string address) {
  std::string text = CallText("output", address);
  const auto pattern = std::make_shared<const AddressPattern>(std::move(address));
  return MakeSelector(
      {.text = std::move(text),
       .matches = [pattern](const OpFacts& facts,
                            const Trace*) { return IsOutputOf(*pattern, facts); },
       .explain = [pattern](const Trace& trace) { return ExplainModule(*pattern, trace); },
       .waits_for_module_end = true});
}

SelectorPtr SelectText(std::string text) {
  std::string quoted = Quoted(text);
  const auto pattern = std::make_shared<const AddressPattern>(std::move(text));
  return MakeSelector(
      {.text = std::move(quoted),
       .matches = [pattern](
                      const OpFacts& facts,
                      const Trace* finished) { return TextMatches(*pattern, facts, finished); },
       .explain = [pattern](const Trace& trace) { return ExplainText(*pattern, trace); },
       .waits_for_module_end = true});
}

}  // namespace flowscope
