// Selectors that look at the op alone: label, type, line, attributes.
#include "trace/selector.h"

#include <algorithm>
#include <regex>
#include <set>

#include <fmt/format.h>

#include "base/glob.h"
#include "trace/attrs.h"
#include "trace/key_parts.h"
#include "trace/selector_parts.h"

namespace flowscope {
namespace {

constexpr size_t kMaxCandidates = 12;

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// The first few of a sorted set, as a list for a message.
template <typename T>
std::string CandidateList(const std::set<T>& items) {
  std::vector<std::string> shown;
  for (const T& item : items) {
    if (shown.size() == kMaxCandidates) break;
    shown.push_back(fmt::format("{}", item));
  }
  if (items.size() > kMaxCandidates) shown.emplace_back("...");
  return fmt::format("{}", fmt::join(shown, ", "));
}

// The value as a person may type it: a string without quotes, a type without "type: ".
std::string PlainAttr(std::string_view formatted) {
  if (formatted.size() >= 2 && formatted.front() == '"' && formatted.back() == '"') {
    return std::string(formatted.substr(1, formatted.size() - 2));
  }
  const size_t colon = formatted.find(": ");
  return std::string(colon == std::string_view::npos ? formatted : formatted.substr(colon + 2));
}

// The attribute as text; nullopt where the op has none of that name.
std::optional<std::string> AttrText(std::string_view attrs, const std::string& name) {
  const auto split = SplitAttrs(attrs);
  if (!split.ok()) return std::nullopt;
  const auto it = split->find(name);
  if (it == split->end()) return std::nullopt;
  return FormatAttr(it->second);
}

std::string ExplainFunc(const Trace& trace, const std::string& type) {
  std::set<std::string> types;
  for (const SiteRecord& site : trace.tables().sites) types.emplace(trace.str(site.type));
  return NearNames("op type", type, {types.begin(), types.end()});
}

std::string ExplainIteration(const Trace& trace) {
  std::set<uint32_t> seen;
  for (const RegionRecord& region : trace.tables().regions) {
    if (region.kind == RegionKind::kIteration) seen.insert(region.index);
  }
  if (seen.empty()) return "no loop was recorded";
  return "iterations recorded: " + CandidateList(seen);
}

std::string ExplainPasses(const Trace& trace) {
  uint32_t most = 0;
  for (const SiteRecord& site : trace.tables().sites) most = std::max(most, site.num_passes);
  return fmt::format("the most passes of one layer are {}", most);
}

std::string ExplainAttr(const Trace& trace, const std::string& name) {
  std::set<std::string> values;
  for (const OpRecord& op : trace.tables().ops) {
    if (auto text = AttrText(trace.tables().attrs.View(op.attrs), name)) values.insert(*text);
  }
  if (values.empty()) return "no op has an attribute " + Quoted(name);
  return fmt::format("values of {}: {}", Quoted(name), CandidateList(values));
}

// "model.py" is the file /home/me/model.py, but not my_model.py.
bool IsFile(std::string_view file, std::string_view suffix) {
  if (!file.ends_with(suffix)) return false;
  if (suffix.empty() || file.size() == suffix.size() || suffix.front() == '/') return true;
  const char before = file[file.size() - suffix.size() - 1];
  return before == '/' || before == '\\';
}

std::string ExplainLine(const Trace& trace, const std::string& suffix) {
  std::set<uint32_t> lines;
  std::set<std::string> files;
  for (const LocationRecord& location : trace.tables().locations) {
    files.emplace(trace.str(location.file));
    if (IsFile(trace.str(location.file), suffix)) lines.insert(location.line);
  }
  if (files.empty()) return "no source lines were recorded";
  if (lines.empty()) return "files recorded: " + CandidateList(files);
  return "lines recorded there: " + CandidateList(lines);
}

// Searches what contains() and regex() look at: the label and the innermost module's addresses.
template <typename Found>
bool SearchNames(const OpFacts& facts, const Found& found) {
  const std::vector<std::string_view> addresses = InnermostAddresses(facts);
  return found(facts.label) || std::any_of(addresses.begin(), addresses.end(), found);
}

}  // namespace

SelectorPtr SelectAll() {
  return MakeSelector(
      {.text = "all", .matches = [](const OpFacts&, const Trace*) { return true; }});
}

SelectorPtr SelectNone() {
  static const SelectorPtr none =
      MakeSelector({.text = "none", .matches = [](const OpFacts&, const Trace*) { return false; }});
  return none;
}

SelectorPtr SelectLabel(std::string text) {
  const auto matches = [text](const OpFacts& facts, const Trace*) {
    const auto split = SplitNumber(text, ':');
    if (split && split->number != facts.pass) return false;
    const std::string_view layer = split ? split->name : std::string_view(text);
    return layer == facts.layer_label || layer == ShortLayerLabel(facts.layer_label);
  };
  const auto explain = [text](const Trace& trace) { return NearKeys("op", text, trace); };
  const auto names_something = [text](const TraceTables& tables) {
    const auto split = SplitNumber(text, ':');
    const std::string_view layer = split ? split->name : std::string_view(text);
    return AnyLabel(tables, [&](std::string_view label) { return label == layer; });
  };
  return MakeSelector({.text = CallText("label", text),
                       .matches = matches,
                       .explain = explain,
                       .names_something = names_something});
}

SelectorPtr SelectFunc(std::string type) {
  const auto matches = [pattern = LowerCase(type)](const OpFacts& facts, const Trace*) {
    return GlobMatch(pattern, LowerCase(facts.type)) ||
           (facts.site_type != facts.type && GlobMatch(pattern, LowerCase(facts.site_type)));
  };
  const auto explain = [type](const Trace& trace) { return ExplainFunc(trace, type); };
  const auto names_something = [pattern = LowerCase(type)](const TraceTables& tables) {
    const auto matches_text = [&](StringId text) {
      return GlobMatch(pattern, LowerCase(tables.strings.View(text)));
    };
    return std::ranges::any_of(tables.sites, matches_text, &SiteRecord::type) ||
           std::ranges::any_of(tables.ops, [&](const OpRecord& op) {
             return op.kind == OpKind::kCall && matches_text(op.type);
           });
  };
  return MakeSelector({.text = CallText("func", type),
                       .matches = matches,
                       .explain = explain,
                       .names_something = names_something});
}

SelectorPtr SelectContains(std::string text) {
  const auto matches = [text](const OpFacts& facts, const Trace*) {
    return SearchNames(
        facts, [&](std::string_view name) { return name.find(text) != std::string_view::npos; });
  };
  return MakeSelector({.text = CallText("contains", text), .matches = matches});
}

Result<SelectorPtr> SelectRegex(std::string pattern) try {
  const std::regex compiled(pattern, std::regex::ECMAScript | std::regex::optimize);
  const auto matches = [compiled](const OpFacts& facts, const Trace*) {
    return SearchNames(facts, [&](std::string_view name) {
      return std::regex_search(name.begin(), name.end(), compiled);
    });
  };
  return MakeSelector({.text = CallText("regex", pattern), .matches = matches});
} catch (const std::regex_error& error) {
  return InvalidArgument(
      fmt::format("{} is no regular expression: {}", Quoted(pattern), error.what()));
}

SelectorPtr SelectWhere(std::function<bool(const OpFacts&)> predicate, std::string name_hint) {
  const auto matches = [predicate = std::move(predicate)](const OpFacts& facts, const Trace*) {
    return predicate(facts);
  };
  return MakeSelector({.text = fmt::format("where({})", name_hint), .matches = matches});
}

SelectorPtr SelectIteration(uint32_t index) {
  const auto matches = [index](const OpFacts& facts, const Trace*) {
    return facts.iteration == index;
  };
  return MakeSelector({.text = fmt::format("iteration({})", index),
                       .matches = matches,
                       .explain = ExplainIteration});
}

SelectorPtr SelectPasses(std::vector<uint32_t> passes) {
  std::string text = fmt::format("passes({})", fmt::join(passes, ", "));
  const auto matches = [passes = std::move(passes)](const OpFacts& facts, const Trace*) {
    return std::find(passes.begin(), passes.end(), facts.pass) != passes.end();
  };
  return MakeSelector({.text = std::move(text), .matches = matches, .explain = ExplainPasses});
}

SelectorPtr SelectLine(std::string file_suffix, uint32_t line) {
  const auto matches = [file_suffix, line](const OpFacts& facts, const Trace*) {
    return facts.line == line && !facts.file.empty() && IsFile(facts.file, file_suffix);
  };
  const auto explain = [file_suffix](const Trace& trace) {
    return ExplainLine(trace, file_suffix);
  };
  const std::string file = file_suffix.empty() ? "" : ", " + Quoted(file_suffix);
  return MakeSelector(
      {.text = fmt::format("line({}{})", line, file), .matches = matches, .explain = explain});
}

SelectorPtr SelectAttr(std::string name, std::string text) {
  const auto matches = [name, text](const OpFacts& facts, const Trace*) {
    const std::optional<std::string> value = AttrText(facts.attrs, name);
    return value && (GlobMatch(text, *value) || text == *value || text == PlainAttr(*value) ||
                     GlobMatch(text, PlainAttr(*value)));
  };
  const auto explain = [name](const Trace& trace) { return ExplainAttr(trace, name); };
  return MakeSelector({.text = fmt::format("attr({}, {})", Quoted(name), Quoted(text)),
                       .matches = matches,
                       .explain = explain});
}

}  // namespace flowscope
