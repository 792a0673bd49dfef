#include "trace/selector_parts.h"

#include <fmt/format.h>

#include "base/edit_distance.h"
#include "base/glob.h"
#include "trace/key_parts.h"
#include "trace/lookup.h"

namespace flowscope {
namespace {

constexpr size_t kMaxNearNames = 5;

class ComposedSelector : public Selector {
 public:
  explicit ComposedSelector(SelectorParts parts) : parts_(std::move(parts)) {}

  bool Matches(const OpFacts& facts, const Trace* finished) const override {
    return parts_.matches(facts, finished);
  }
  bool AnswersLive() const override { return parts_.answers_live; }
  bool WaitsForModuleEnd() const override { return parts_.waits_for_module_end; }
  std::string ToString() const override { return parts_.text; }
  std::string ExplainMiss(const Trace& trace) const override {
    return parts_.explain ? parts_.explain(trace) : std::string();
  }
  std::span<const SelectorPtr> Parts() const override { return parts_.of; }
  bool NamesSomething(const TraceTables& tables) const override {
    return !parts_.names_something || parts_.names_something(tables);
  }

 private:
  SelectorParts parts_;
};

// "short" of "long", where `of` is a layer label with or without ":pass".
std::string WithoutOrdinal(std::string_view layer_label, std::string_view label) {
  return std::string(ShortLayerLabel(layer_label)) + std::string(label.substr(layer_label.size()));
}

std::string MissSentence(std::string_view what, std::string_view text,
                         const std::vector<std::string>& near) {
  std::string sentence = fmt::format("no {} is called {}", what, Quoted(text));
  if (!near.empty()) sentence += fmt::format("; near: {}", fmt::join(near, ", "));
  return sentence;
}

}  // namespace

std::string Selector::ExplainMiss(const Trace& /*trace*/) const { return {}; }

SelectorPtr MakeSelector(SelectorParts parts) {
  return std::make_shared<const ComposedSelector>(std::move(parts));
}

AddressPattern::AddressPattern(std::string text) : text_(std::move(text)), address_(text_) {
  if (const auto split = SplitNumber(text_, ':')) {
    address_ = split->name;
    call_ = split->number;
  }
}

bool AddressPattern::Matches(std::string_view address, uint32_t call_index) const {
  if (address == text_ || GlobMatch(text_, address)) return true;
  return call_ == call_index && GlobMatch(address_, address);
}

bool AddressPattern::MatchesSomeCall(std::string_view address) const {
  return address == text_ || GlobMatch(text_, address) || (call_ && GlobMatch(address_, address));
}

bool NamesSomeModule(const AddressPattern& pattern, const TraceTables& tables) {
  for (const ModuleRecord& module : tables.modules) {
    for (uint32_t i = 0; i < module.addresses.count; ++i) {
      const StringId address = tables.string_lists[module.addresses.first + i];
      if (pattern.MatchesSomeCall(tables.strings.View(address))) return true;
    }
  }
  return false;
}

bool AnyLabel(const TraceTables& tables, const std::function<bool(std::string_view)>& found) {
  for (const SiteRecord& site : tables.sites) {
    const std::string label =
        FormatLayerLabel(tables.strings.View(site.type), site.type_index, site.ordinal);
    if (found(label) || found(ShortLayerLabel(label))) return true;
  }
  return false;
}

std::vector<std::string_view> InnermostAddresses(const OpFacts& facts) {
  if (facts.module_addresses.empty()) return {"self"};
  const auto first = facts.module_addresses.begin();
  return {first, first + std::min<ptrdiff_t>(facts.num_innermost, facts.module_addresses.size())};
}

bool MatchesLabel(std::string_view pattern, const OpFacts& facts) {
  if (GlobMatch(pattern, facts.label) || GlobMatch(pattern, facts.layer_label)) return true;
  const std::string_view short_label = ShortLayerLabel(facts.layer_label);
  return GlobMatch(pattern, short_label) ||
         GlobMatch(pattern, WithoutOrdinal(facts.layer_label, facts.label));
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string CallText(std::string_view function, std::string_view argument) {
  return fmt::format("{}({})", function, Quoted(argument));
}

std::string NearNames(std::string_view what, std::string_view text,
                      const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  return MissSentence(what, text, Nearest(text, views, kMaxNearNames));
}

std::string NearKeys(std::string_view what, std::string_view text, const Trace& trace) {
  return MissSentence(what, text, Lookup(trace).Near(text, kMaxNearNames));
}

}  // namespace flowscope
