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

// 0 where the numbers are those of no time.
int64_t EndOf(int64_t start_ns, int64_t duration_ns) {
  int64_t end = 0;
  const bool sound =
      start_ns >= 0 && duration_ns >= 0 && !__builtin_add_overflow(start_ns, duration_ns, &end);
  return sound ? end : 0;
}

// What was still running ran at least until `end_ns`.
template <typename Record>
void RunUntil(int64_t end_ns, Record& record) {
  if (record.start_ns < 0 || end_ns < record.start_ns) return;
  record.duration_ns = std::max(record.duration_ns, end_ns - record.start_ns);
}

// An op that was running, and a call that was open, ran at least as long as what is inside of them.
// What is inside stands behind.
void MendTimes(TraceTables& t) {
  for (OpId id = static_cast<OpId>(t.ops.size()); id-- > 0;) {
    const OpRecord& op = t.ops[id];
    const int64_t end = EndOf(op.start_ns, op.duration_ns);
    if (op.module_call < t.module_calls.size()) RunUntil(end, t.module_calls[op.module_call]);
    if (op.region >= t.regions.size()) continue;
    const OpId around = t.regions[op.region].op;
    if (around < id) RunUntil(end, t.ops[around]);
  }
  for (ModuleCallId id = static_cast<ModuleCallId>(t.module_calls.size()); id-- > 0;) {
    const ModuleCallRecord& call = t.module_calls[id];
    if (call.parent < id) {
      RunUntil(EndOf(call.start_ns, call.duration_ns), t.module_calls[call.parent]);
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
    t.info.duration_ns = std::max(t.info.duration_ns, EndOf(op.start_ns, op.duration_ns));
  }
}

}  // namespace

void MendInterrupted(TraceTables& tables) {
  MendOutputs(tables);
  MendCalls(tables);
  MendTimes(tables);
  MendCounts(tables);
  GroupVariables(tables);
  if (tables.regions.empty()) tables.regions.emplace_back();
  tables.info.interrupted = true;
  std::string note = "the recording never ended: the trace holds what was committed until then";
  // Earlier writers worked them out at the end.
  if (tables.locations.empty()) note += ", without the user's lines";
  tables.info.notes.push_back(std::move(note));
}

}  // namespace flowscope::store
