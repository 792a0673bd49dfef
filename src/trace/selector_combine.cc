// Selectors made of selectors, and the question which ops of a trace match.
#include <algorithm>

#include <fmt/format.h>

#include "trace/selector_parts.h"

namespace flowscope {
namespace {

std::vector<OpId> MatchingOps(const Trace& trace, const Selector& selector) {
  std::vector<OpId> found;
  FactsScratch scratch;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    if (selector.Matches(FactsOf(trace, id, scratch), &trace)) found.push_back(id);
  }
  return found;
}

// Why a side of a combination matches nothing by itself; nullopt where it matches something.
std::optional<std::string> ExplainSide(const Trace& trace, const Selector& side) {
  if (!MatchingOps(trace, side).empty()) return std::nullopt;
  std::string why = side.ExplainMiss(trace);
  return why.empty() ? side.ToString() + " matches nothing" : why;
}

std::string ExplainAnd(const Trace& trace, const Selector& a, const Selector& b) {
  for (const Selector* side : {&a, &b}) {
    if (auto why = ExplainSide(trace, *side)) return *why;
  }
  return fmt::format("{} matches {} ops, {} matches {}, and none is in both", a.ToString(),
                     MatchingOps(trace, a).size(), b.ToString(), MatchingOps(trace, b).size());
}

std::string ExplainOr(const Trace& trace, const Selector& a, const Selector& b) {
  const std::string first = ExplainSide(trace, a).value_or("");
  const std::string second = ExplainSide(trace, b).value_or("");
  return first + (first.empty() || second.empty() ? "" : "; ") + second;
}

std::string ExplainMinus(const Trace& trace, const Selector& a, const Selector& b) {
  if (auto why = ExplainSide(trace, a)) return *why;
  return fmt::format("{} takes away all {} ops of {}", b.ToString(), MatchingOps(trace, a).size(),
                     a.ToString());
}

std::string ExplainNeighbour(const Trace& trace, const Selector& neighbour) {
  if (auto why = ExplainSide(trace, neighbour)) return *why;
  return fmt::format("{} matches {} ops, but none of them stands beside a recorded op there",
                     neighbour.ToString(), MatchingOps(trace, neighbour).size());
}

bool NegationAnswersLive(const Selector& selector) {
  return selector.AnswersLive() && !selector.WaitsForModuleEnd();
}

bool AnyChildMatches(const Selector& next, const OpFacts& facts, const Trace& trace) {
  FactsScratch scratch;
  scratch.module_outputs = facts.module_outputs;
  const auto children = trace.Children(facts.id);
  return std::any_of(children.begin(), children.end(), [&](OpId child) {
    return next.Matches(FactsOf(trace, child, scratch), &trace);
  });
}

bool AnyParentMatches(const Selector& previous, const OpFacts& facts, const Trace* finished) {
  FactsScratch scratch;
  scratch.module_outputs = facts.module_outputs;
  return std::any_of(facts.parents.begin(), facts.parents.end(), [&](OpId parent) {
    if (finished != nullptr) return previous.Matches(FactsOf(*finished, parent, scratch), finished);
    if (facts.tables == nullptr) return false;
    return previous.Matches(FactsOf(*facts.tables, parent, scratch), nullptr);
  });
}

}  // namespace

SelectorPtr SelectFollowedBy(SelectorPtr next) {
  std::string text = fmt::format("followed_by({})", next->ToString());
  return MakeSelector(
      {.text = std::move(text),
       .matches =
           [next](const OpFacts& facts, const Trace* finished) {
             return finished != nullptr && AnyChildMatches(*next, facts, *finished);
           },
       .explain = [next](const Trace& trace) { return ExplainNeighbour(trace, *next); },
       .answers_live = false,
       .of = {next}});
}

// What a parent gave back to a module call is known only later, so that question does not answer
// live.
SelectorPtr SelectPrecededBy(SelectorPtr previous) {
  return MakeSelector(
      {.text = fmt::format("preceded_by({})", previous->ToString()),
       .matches =
           [previous](const OpFacts& facts, const Trace* finished) {
             return AnyParentMatches(*previous, facts, finished);
           },
       .explain = [previous](const Trace& trace) { return ExplainNeighbour(trace, *previous); },
       .answers_live = NegationAnswersLive(*previous),
       .of = {previous}});
}

SelectorPtr And(SelectorPtr a, SelectorPtr b) {
  return MakeSelector({.text = fmt::format("({} & {})", a->ToString(), b->ToString()),
                       .matches =
                           [a, b](const OpFacts& facts, const Trace* finished) {
                             return a->Matches(facts, finished) && b->Matches(facts, finished);
                           },
                       .explain = [a, b](const Trace& trace) { return ExplainAnd(trace, *a, *b); },
                       .answers_live = a->AnswersLive() && b->AnswersLive(),
                       .waits_for_module_end = a->WaitsForModuleEnd() || b->WaitsForModuleEnd(),
                       .of = {a, b}});
}

SelectorPtr Or(SelectorPtr a, SelectorPtr b) {
  return MakeSelector({.text = fmt::format("({} | {})", a->ToString(), b->ToString()),
                       .matches =
                           [a, b](const OpFacts& facts, const Trace* finished) {
                             return a->Matches(facts, finished) || b->Matches(facts, finished);
                           },
                       .explain = [a, b](const Trace& trace) { return ExplainOr(trace, *a, *b); },
                       .answers_live = a->AnswersLive() && b->AnswersLive(),
                       .waits_for_module_end = a->WaitsForModuleEnd() || b->WaitsForModuleEnd(),
                       .of = {a, b}});
}

SelectorPtr Minus(SelectorPtr a, SelectorPtr b) {
  return MakeSelector(
      {.text = fmt::format("({} - {})", a->ToString(), b->ToString()),
       .matches =
           [a, b](const OpFacts& facts, const Trace* finished) {
             return a->Matches(facts, finished) && !b->Matches(facts, finished);
           },
       .explain = [a, b](const Trace& trace) { return ExplainMinus(trace, *a, *b); },
       .answers_live = a->AnswersLive() && NegationAnswersLive(*b),
       .waits_for_module_end = a->WaitsForModuleEnd(),
       .of = {a, b}});
}

SelectorPtr Not(SelectorPtr a) {
  return MakeSelector(
      {.text = "~" + a->ToString(),
       .matches = [a](const OpFacts& facts,
                      const Trace* finished) { return !a->Matches(facts, finished); },
       .explain = [a](const Trace&) { return a->ToString() + " matches every op"; },
       .answers_live = NegationAnswersLive(*a),
       .of = {a}});
}

std::vector<std::string> PartsWithoutName(const TraceTables& tables, const Selector& selector) {
  std::vector<std::string> found;
  if (!selector.NamesSomething(tables)) found.push_back(selector.ToString());
  for (const SelectorPtr& part : selector.Parts()) {
    for (std::string& text : PartsWithoutName(tables, *part)) {
      const bool known = std::find(found.begin(), found.end(), text) != found.end();
      if (!known) found.push_back(std::move(text));
    }
  }
  return found;
}

Result<std::vector<OpId>> Select(const Trace& trace, const SelectorPtr& selector) {
  if (selector == nullptr) return InvalidArgument("no selector was given");
  std::vector<OpId> found = MatchingOps(trace, *selector);
  if (!found.empty()) return found;
  const std::string why = selector->ExplainMiss(trace);
  return NotFound(fmt::format("no op of this trace matches {}{}{}", selector->ToString(),
                              why.empty() ? "" : ": ", why));
}

}  // namespace flowscope
