// Selectors that look at the module calls around an op and at what they gave back.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "base/glob.h"
#include "trace/key_parts.h"
#include "trace/lookup.h"
#include "trace/lookup_hints.h"
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

// Modules of raw callables are in "self" without being a module called so.
bool NamesModuleOrSelf(const AddressPattern& pattern, const TraceTables& tables) {
  return pattern.MatchesSomeCall("self") || NamesSomeModule(pattern, tables);
}

// A string that is no address can be a label, with or without ":pass".
bool NamesModuleOrLabel(const AddressPattern& pattern, const TraceTables& tables) {
  if (NamesModuleOrSelf(pattern, tables)) return true;
  const std::string& text = pattern.text();
  const auto split = SplitNumber(text, ':');
  return AnyLabel(tables, [&](std::string_view label) {
    return GlobMatch(text, label) || (split && GlobMatch(split->name, label));
  });
}

// A module's own address hides a label of the same text; an alias does not.
bool IsSomeAddress(const AddressPattern& pattern, const Trace& trace) {
  const std::vector<ModuleRecord>& modules = trace.tables().modules;
  return std::any_of(modules.begin(), modules.end(), [&](const ModuleRecord& module) {
    return pattern.MatchesSomeCall(trace.str(module.address));
  });
}

// The first module that the pattern names and that did not run, where none of them ran.
std::string NotRun(const AddressPattern& pattern, const Trace& trace) {
  ModuleId idle = kNoId;
  for (ModuleId id = 0; id < trace.tables().modules.size(); ++id) {
    const Span addresses = trace.module(id).addresses;
    for (uint32_t i = 0; i < addresses.count; ++i) {
      const StringId address = trace.tables().string_lists[addresses.first + i];
      if (!pattern.MatchesSomeCall(trace.str(address))) continue;
      if (!trace.CallsOfModule(id).empty()) return "";
      if (idle == kNoId) idle = id;
    }
  }
  if (idle == kNoId) return "";
  const std::string hint = NotRunHint(trace, idle);
  return fmt::format("module {} did not run{}{}", trace.str(trace.module(idle).address),
                     hint.empty() ? "" : "; ", hint);
}

std::string WhyNothingOf(const AddressPattern& pattern, const Trace& trace, std::string_view what) {
  const std::string not_run = NotRun(pattern, trace);
  return not_run.empty() ? fmt::format("the module is there, but {}", what) : not_run;
}

std::string ExplainModule(const AddressPattern& pattern, const Trace& trace) {
  if (!NamesSomeModule(pattern, trace.tables())) {
    return NearKeys("module", pattern.text(), trace);
  }
  return WhyNothingOf(pattern, trace, "nothing of it that this asks for was recorded");
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
       .explain = [=](const Trace& trace) { return ExplainModule(*pattern, trace); },
       .names_something =
           [=](const TraceTables& tables) { return NamesModuleOrSelf(*pattern, tables); }});
}

bool TextMatches(const AddressPattern& pattern, const OpFacts& facts, const Trace* finished) {
  if (IsOutputOf(pattern, facts)) return true;
  if (!MatchesLabel(pattern.text(), facts)) return false;
  return finished == nullptr || !IsSomeAddress(pattern, *finished);
}

// A name of what a plain string does not mean.
std::string OtherMeaning(const std::string& text, const Trace& trace) {
  const auto found = Lookup(trace).Find(text);
  if (found.ok() && found->kind == EntityKind::kVariable) {
    return fmt::format("that is a variable: trace[{}].value is its value", Quoted(text));
  }
  const SelectorPtr func = SelectFunc(text);
  if (!func->NamesSomething(trace.tables())) return "";
  return fmt::format("that is a type of op: {} selects by type", func->ToString());
}

std::string ExplainText(const AddressPattern& pattern, const Trace& trace) {
  if (NamesSomeModule(pattern, trace.tables())) {
    return WhyNothingOf(pattern, trace, "gave back no output of an op that was recorded");
  }
  if (const std::string other = OtherMeaning(pattern.text(), trace); !other.empty()) return other;
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
       .waits_for_module_end = true,
       .names_something =
           [pattern](const TraceTables& tables) { return NamesModuleOrSelf(*pattern, tables); }});
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
       .waits_for_module_end = true,
       .names_something =
           [pattern](const TraceTables& tables) { return NamesModuleOrLabel(*pattern, tables); }});
}

}  // namespace flowscope
