// A finished recording: tables that no longer change, and the questions every other part asks.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/payload.h"
#include "base/status.h"
#include "base/string_pool.h"
#include "trace/payload_source.h"
#include "trace/records.h"

namespace flowscope {

// Facts about the recording as a whole.
struct TraceInfo {
  std::string name;
  std::string root_kind;  // keras, tf_module, function, concrete_function, saved_model, block
  std::string root_class;
  std::string recorder;  // hook, callbacks
  std::string tensorflow_version;
  std::string keras_version;
  std::string started_at;        // ISO 8601, UTC
  std::string degraded;          // why later values became statistics; empty where none did
  std::string error;             // the model raised this
  std::string output_structure;  // JSON: what the call returned, its tensors by path in `outputs`
  int64_t duration_ns = 0;
  bool halted = false;
  bool interrupted = false;
  bool asynchronous = false;
  uint32_t num_executed = 0;       // the run counter at the end
  std::vector<std::string> notes;  // what this recorder could not see, one sentence each
};

// Plain tables. Only TraceBuilder and the file reader fill them.
struct TraceTables {
  TraceInfo info;
  StringPool strings;
  StringPool attrs;
  StringPool dims_pool;  // a shape is interned as the bytes of its int64 dimensions
  std::vector<OpRecord> ops;
  std::vector<EdgeRecord> edges;
  std::vector<TensorRecord> tensors;
  std::vector<SiteRecord> sites;
  std::vector<ModuleRecord> modules;
  std::vector<ModuleCallRecord> module_calls;
  std::vector<RegionRecord> regions;  // row 0 is the root
  std::vector<LocationRecord> locations;
  std::vector<VariableRecord> variables;
  std::vector<VersionRecord> versions;
  std::vector<AccessRecord> accesses;
  std::vector<OriginRecord> origins;
  std::vector<StringId> string_lists;
  std::vector<VariableId> variable_lists;
  std::vector<NamedTensor> named_tensors;
  std::vector<NamedTensor> outputs;                      // of the recorded call
  std::vector<GradientRecord> gradients;                 // by op
  std::vector<CompiledDifference> compiled_differences;  // with compare_compiled
  std::vector<FunctionRecord> functions;
};

// Immutable and safe to share between threads.
class Trace {
 public:
  Trace(TraceTables tables, std::shared_ptr<const PayloadSource> payloads);

  const TraceTables& tables() const { return tables_; }
  const TraceInfo& info() const { return tables_.info; }

  size_t num_ops() const { return tables_.ops.size(); }
  const OpRecord& op(OpId id) const { return tables_.ops[id]; }
  const TensorRecord& tensor(TensorId id) const { return tables_.tensors[id]; }
  const SiteRecord& site(SiteId id) const { return tables_.sites[id]; }
  const ModuleRecord& module(ModuleId id) const { return tables_.modules[id]; }
  const ModuleCallRecord& module_call(ModuleCallId id) const { return tables_.module_calls[id]; }
  const RegionRecord& region(RegionId id) const { return tables_.regions[id]; }
  const VariableRecord& variable(VariableId id) const { return tables_.variables[id]; }

  std::string_view str(StringId id) const { return tables_.strings.View(id); }
  Dims dims(uint32_t dims_id) const;

  std::span<const EdgeRecord> inputs(OpId id) const;
  TensorId output(OpId id, uint32_t index = 0) const { return op(id).outputs.first + index; }

  // Producers of the op's inputs without repeats, in input order; literals and resources have none.
  std::vector<OpId> Parents(OpId id) const;
  // Ops that take an output of this one, without repeats, in order of execution.
  std::span<const OpId> Children(OpId id) const;

  std::span<const OpId> OpsOfSite(SiteId id) const;
  std::span<const ModuleCallId> CallsOfModule(ModuleId id) const;
  // Accesses of one op, in the order of its inputs.
  std::vector<AccessRecord> AccessesOfOp(OpId id) const;
  std::vector<VersionRecord> VersionsOfVariable(VariableId id) const;

  // Innermost first.
  std::vector<ModuleCallId> ModuleStack(ModuleCallId id) const;
  bool InModuleCall(OpId op, ModuleCallId call) const;

  // "matmul_2_7", "matmul_2", "matmul_2_7:3", "matmul_2:3".
  std::string LayerLabel(SiteId id) const;
  std::string LayerLabelShort(SiteId id) const;
  std::string OpLabel(OpId id) const;
  std::string OpLabelShort(OpId id) const;
  // "att._query_dense:2"
  std::string CallLabel(ModuleCallId id) const;
  // Path from the root, such as "f/while[3]/cond:true"; empty for the root.
  std::string RegionPath(RegionId id, bool with_iterations = true) const;
  // Address of the innermost module; "self" outside every module.
  std::string_view ModuleAddress(OpId id) const;

  Result<Payload> ReadTensor(TensorId id) const;
  std::optional<Stats> StoredStats(TensorId id) const;
  std::optional<std::string> StoredHash(TensorId id) const;

  std::array<int64_t, kNumEdgeClasses> CountEdges() const;

 private:
  void IndexChildren();
  void IndexGroups();

  TraceTables tables_;
  std::shared_ptr<const PayloadSource> payloads_;
  // Compressed rows: children of op i are child_ops_[child_start_[i] .. child_start_[i + 1]).
  std::vector<uint32_t> child_start_;
  std::vector<OpId> child_ops_;
  std::vector<uint32_t> site_start_;
  std::vector<OpId> site_ops_;
  std::vector<uint32_t> module_start_;
  std::vector<ModuleCallId> module_call_ids_;
};

// Op type as labels write it, in lower case.
std::string FormatType(std::string_view type);

// Label of a site from its parts; the builder uses it while recording, so that a label is the same
// then and later.
std::string FormatLayerLabel(std::string_view type, uint32_t type_index, uint32_t ordinal);

}  // namespace flowscope
