// Selectors say which ops are meant. They are asked twice: while the run goes on (which values to
// keep) and of a finished trace. Both ask through OpFacts, so the answer is the same.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "trace/trace.h"

namespace flowscope {

// Which module calls gave back an output of which op, sorted.
using ModuleOutputs = std::vector<std::pair<OpId, ModuleCallId>>;

// What is known of an op when it has just run. Views live as long as the call.
struct OpFacts {
  OpId id = kNoId;
  std::string_view type;
  std::string_view site_type;    // of a call: the function's name without TensorFlow's numbers
  std::string_view label;        // with :pass
  std::string_view layer_label;  // without
  OpKind kind = OpKind::kCompute;
  std::vector<std::string_view> module_addresses;  // innermost first, aliases too
  std::vector<uint32_t> call_indices;              // beside module_addresses
  uint32_t num_innermost = 1;         // so many of module_addresses are the innermost module's
  std::string_view region_path;       // without iteration numbers
  std::optional<uint32_t> iteration;  // innermost iteration region
  uint32_t pass = 1;
  std::string_view file;
  uint32_t line = 0;
  std::string_view attrs;  // serialized NameAttrList
  std::vector<OpId> parents;
  // The op made an output of a module. While the run goes on this is told once more about the op
  // when the module call ends.
  bool is_module_output = false;
  // Of a finished trace: all of it. While the run goes on: null, or the call that ends now.
  std::shared_ptr<const ModuleOutputs> module_outputs;
  // The tables that the facts are from, for what concerns other rows.
  const TraceTables* tables = nullptr;
};

class Selector;
using SelectorPtr = std::shared_ptr<const Selector>;

class Selector {
 public:
  virtual ~Selector() = default;
  virtual bool Matches(const OpFacts& facts, const Trace* finished) const = 0;
  // False for what can only be told of a finished trace (followed_by, output): the recorder then
  // refuses it with this selector's text.
  virtual bool AnswersLive() const { return true; }
  // True where an op can begin to match after it ran: when a module call gives back its output. A
  // negation of such a selector does not answer live.
  virtual bool WaitsForModuleEnd() const { return false; }
  // As it is written in Python: func("relu") & in_module("encoder").
  virtual std::string ToString() const = 0;
  // Why nothing of a finished trace matched, such as the nearest names; empty where there is
  // nothing to say.
  virtual std::string ExplainMiss(const Trace& trace) const;
  // Those that it is made of.
  virtual std::span<const std::shared_ptr<const Selector>> Parts() const { return {}; }
  // False where it names something that is not there: no such module, label, type of op.
  virtual bool NamesSomething(const TraceTables& /*tables*/) const { return true; }
};

// Names follow API.md. Globs: * and ?.
SelectorPtr SelectAll();
SelectorPtr SelectNone();
SelectorPtr SelectLabel(std::string text);      // label, layer label or short label, exact
SelectorPtr SelectFunc(std::string type);       // op type, case ignored; glob
SelectorPtr SelectModule(std::string address);  // ops whose innermost module it is; glob; addr:call
SelectorPtr SelectInModule(std::string address);       // with descendants; glob; addr:call
SelectorPtr SelectContains(std::string text);          // substring of label or module address
Result<SelectorPtr> SelectRegex(std::string pattern);  // searched in label and module address
SelectorPtr SelectWhere(std::function<bool(const OpFacts&)> predicate, std::string name_hint);
SelectorPtr SelectOutput();  // ops that made an output of the recorded call
SelectorPtr SelectModuleOutput(std::string address);  // ops that made an output of that module
SelectorPtr SelectFollowedBy(SelectorPtr next);
SelectorPtr SelectPrecededBy(SelectorPtr previous);
SelectorPtr SelectIteration(uint32_t index);
SelectorPtr SelectPasses(std::vector<uint32_t> passes);
SelectorPtr SelectLine(std::string file_suffix, uint32_t line);  // empty suffix: any file
SelectorPtr SelectAttr(std::string name,
                       std::string text);  // formatted attribute equals text; glob
SelectorPtr And(SelectorPtr a, SelectorPtr b);
SelectorPtr Or(SelectorPtr a, SelectorPtr b);
SelectorPtr Minus(SelectorPtr a, SelectorPtr b);
SelectorPtr Not(SelectorPtr a);

// A plain string as users write it in save= and extract: an address or glob of addresses (then the
// ops that made the module's outputs), else a label or glob of labels. While the run goes on it is
// not known yet which addresses there are, and what either reading matches is kept.
SelectorPtr SelectText(std::string text);

// As they are written: the parts of a selector, or itself, that name nothing there. A misspelt name
// that is negated, or one of several, leaves no other trace: ~module("typo") is everything.
std::vector<std::string> PartsWithoutName(const TraceTables& tables, const Selector& selector);

// Room that the facts' views point into, for one op at a time. Used again for ops of the same
// trace, it saves looking for module outputs anew.
struct FactsScratch {
  std::string label, layer_label;
  std::shared_ptr<const ModuleOutputs> module_outputs;  // of a finished trace, once asked for
};

// Facts of an op of a finished trace; the views point into `trace` and `scratch`.
OpFacts FactsOf(const Trace& trace, OpId id, FactsScratch& scratch);

// The same while the tables still grow. `ending` is the module call that gives back an output of
// the op right now; kNoId when the op has just run.
OpFacts FactsOf(const TraceTables& tables, OpId id, FactsScratch& scratch,
                ModuleCallId ending = kNoId);

// Ops that match, in order of execution. NotFound with near misses where none does.
Result<std::vector<OpId>> Select(const Trace& trace, const SelectorPtr& selector);

}  // namespace flowscope
