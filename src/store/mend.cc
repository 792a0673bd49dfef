// Tables of a recording that was cut off, made consistent. They come from a file and are not
// checked yet: every id is looked at before it is followed.
#include <algorithm>

#include "store/structure.h"
#include "trace/builder.h"

namespace flowscope::store {
namespace {

void MendOutputs(TraceTables& t) {
  std::vector<bool> open(t.ops.size());
  for (size_t i = 0; i < open.size(); ++i) open[i] = t.ops[i].outputs.count == 0;
  for (TensorId id = 0; id < t.tensors.size(); ++id) {
    const OpId producer = t.tensors[id].producer;
    if (producer >= t.ops.size() || !open[producer]) continue;
    Span& outputs = t.ops[producer].outputs;
    if (outputs.count == 0) outputs.first = id;
    if (id == outputs.first + outputs.count && t.tensors[id].output_index == outputs.count) {
      ++outputs.count;
    }
  }
}

// A call that was open ends with the last op in it. A parent stands before its child.
void MendCalls(TraceTables& t) {
  std::vector<ModuleCallRecord>& calls = t.module_calls;
  for (OpId id = 0; id < t.ops.size(); ++id) {
    const ModuleCallId call = t.ops[id].module_call;
    if (call < calls.size()) calls[call].end_op = std::max(calls[call].end_op, id + 1);
  }
  for (ModuleCallId id = static_cast<ModuleCallId>(calls.size()); id-- > 0;) {
    const ModuleCallId parent = calls[id].parent;
    if (parent < id) calls[parent].end_op = std::max(calls[parent].end_op, calls[id].end_op);
  }
}

void MendCounts(TraceTables& t) {
  for (SiteRecord& site : t.sites) site.num_passes = 0;
  for (const OpRecord& op : t.ops) {
    if (op.site < t.sites.size()) {
      t.sites[op.site].num_passes = std::max(t.sites[op.site].num_passes, op.pass);
    }
    t.info.num_executed = std::max(t.info.num_executed, op.run_counter);
    t.info.duration_ns = std::max(t.info.duration_ns, op.start_ns + op.duration_ns);
  }
}

}  // namespace

void MendInterrupted(TraceTables& tables) {
  MendOutputs(tables);
  MendCalls(tables);
  MendCounts(tables);
  GroupVariables(tables);
  if (tables.regions.empty()) tables.regions.emplace_back();
  tables.info.interrupted = true;
  tables.info.notes.emplace_back(
      "the recording never ended: the trace holds what was committed until then, without the "
      "user's lines");
}

}  // namespace flowscope::store
