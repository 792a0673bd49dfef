// Fills the tables of a trace while the run goes on. Knows scopes (module calls and regions), sites
// and labels; knows nothing of TensorFlow. Not thread-safe: the recorder that owns it locks.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/slot_table.h"
#include "trace/trace.h"

namespace flowscope {

class TraceBuilder {
 public:
  TraceBuilder();

  TraceTables& tables() { return tables_; }
  const TraceTables& tables() const { return tables_; }
  StringId Intern(std::string_view text) { return tables_.strings.Intern(text); }
  uint32_t InternDims(std::span<const int64_t> dims);

  // Scopes. A module call or a region opened inside another one must be closed first; closing out
  // of order closes what is inside (an exception passed through).
  ModuleCallId OpenModuleCall(ModuleId module, int64_t now_ns);
  void CloseModuleCall(ModuleCallId call, int64_t now_ns, bool failed);
  // A call whose ops do not run one after the other, as in the body of a function: it is closed for
  // now, and goes on with the same counts. Null where the call is not open.
  struct SuspendedCall;
  std::shared_ptr<SuspendedCall> SuspendModuleCall(ModuleCallId call, int64_t now_ns);
  void ResumeModuleCall(const SuspendedCall& call);
  RegionId OpenRegion(RegionRecord region);
  void CloseRegion(RegionId region);
  ModuleCallId current_module_call() const { return scopes_.back().module_call; }
  RegionId current_region() const { return scopes_.back().region; }

  // Appends an op in the current scope: fills region, module call, site, pass. `op.type` must be
  // set.
  OpId BeginOp(OpRecord op);
  OpRecord& op(OpId id) { return tables_.ops[id]; }
  void SetInputs(OpId id, std::span<const EdgeRecord> inputs);

  // Appends a source outside every module: no inputs, one output.
  OpId AddSource(OpKind kind, std::string_view type, std::string_view name, int64_t now_ns);
  // Appends a tensor; outputs of one op must be appended one after the other.
  TensorId AddTensor(const TensorRecord& tensor);
  void SetOutputs(OpId id, Span outputs) { tables_.ops[id].outputs = outputs; }

  ModuleId AddModule(ModuleRecord module);
  Span AddStrings(std::span<const std::string> strings);
  Span AddNamedTensors(std::span<const NamedTensor> tensors);

  // Labels of an op that has begun; the same as Trace gives later.
  std::string OpLabel(OpId id) const;
  std::string LayerLabel(OpId id) const;

  // Ends everything that is open, so that the tables are those of the finished trace.
  void Close();
  std::shared_ptr<const Trace> Finish(std::shared_ptr<const PayloadSource> payloads) &&;

 private:
  // One open module call, function body or iteration. Counters give the n-th op of a type in it.
  struct Scope {
    ModuleCallId module_call = kNoId;
    RegionId region = 0;
    StringId region_path = 0;  // without iteration numbers
    StringId module_address = 0;
    bool is_region = false;
    std::vector<std::pair<StringId, uint32_t>> counters;  // by type, of which there are few
  };
  static uint32_t CountOf(Scope& scope, StringId type);
  uint32_t TypeIndexOf(StringId type);
  StringId SiteTypeOf(const OpRecord& op);
  void AssignSite(OpRecord& op, Scope& scope);
  StringId RegionPathWithoutIterations(RegionId region);
  void CloseScope(int64_t now_ns, bool failed);
  int64_t EndOfLastOp() const;

  TraceTables tables_;
  std::vector<Scope> scopes_;
  SlotTable sites_;
  std::unordered_map<StringId, uint32_t> label_type_of_;   // by type: a number in those below
  std::unordered_map<std::string, uint32_t> label_types_;  // by type as labels write it
  std::vector<uint32_t> sites_per_label_type_;
  std::vector<uint32_t> calls_per_module_;
};

struct TraceBuilder::SuspendedCall {
  Scope scope;
};
// Gives every module that has none the span of its own variables, and puts accesses in the order of
// their ops.
void GroupVariables(TraceTables& tables);

}  // namespace flowscope
