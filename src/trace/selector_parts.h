// What the files that make selectors share.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/selector.h"

namespace flowscope {

// A selector put together from functions. `matches` must be set.
struct SelectorParts {
  std::string text;  // ToString()
  std::function<bool(const OpFacts&, const Trace* finished)> matches;
  std::function<std::string(const Trace&)> explain = {};
  bool answers_live = true;
  bool waits_for_module_end = false;
  std::vector<SelectorPtr> of = {};  // what it is made of
  std::function<bool(const TraceTables&)> names_something = {};
};
SelectorPtr MakeSelector(SelectorParts parts);

// An address as it is typed: "encoder.*", "att.query:2". The number after the colon is the call.
class AddressPattern {
 public:
  explicit AddressPattern(std::string text);
  const std::string& text() const { return text_; }
  // `call_index` 0 stands for no call at all, as of the root of a raw callable.
  bool Matches(std::string_view address, uint32_t call_index) const;
  // Whether some call of the module with this address could match.
  bool MatchesSomeCall(std::string_view address) const;

 private:
  std::string text_;
  std::string address_;  // without the call
  std::optional<uint32_t> call_;
};

// Addresses of the innermost module; "self" outside every module.
std::vector<std::string_view> InnermostAddresses(const OpFacts& facts);

// Whether the address of a module, or an alias, could match in some call of it.
bool NamesSomeModule(const AddressPattern& pattern, const TraceTables& tables);

// Whether any place in the code has a label for which `found` says true; short labels too.
bool AnyLabel(const TraceTables& tables, const std::function<bool(std::string_view)>& found);

// Glob over the spellings of an op's label: with and without ordinal, with and without pass.
bool MatchesLabel(std::string_view pattern, const OpFacts& facts);

// func("relu"): a name with quoted arguments.
std::string CallText(std::string_view function, std::string_view argument);
std::string Quoted(std::string_view text);

// "no module is called x; near: y, z", from some candidates or from every key of the trace.
std::string NearNames(std::string_view what, std::string_view text,
                      const std::vector<std::string>& candidates);
std::string NearKeys(std::string_view what, std::string_view text, const Trace& trace);

}  // namespace flowscope
