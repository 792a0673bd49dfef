// One op of a trace, run again from the record and compared with it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replay/compare.h"
#include "replay/history.h"
#include "replay/sandbox.h"
#include "replay/verdict.h"
#include "tf/op_registry.h"
#include "trace/trace.h"

namespace flowscope::replay {

struct CompareOptions {
  // Differences within these bounds count as equal; null: only the same bits.
  std::function<Tolerance(DType)> tolerance;
  bool same_tensorflow = true;  // the trace was recorded with the version that is here
};

// Judges the ops of one trace, in order: values without bytes (lists of tensors) are carried from
// the ops that make them to those that take them.
class Replayer {
 public:
  // What an op is run with.
  struct Setup {
    std::string type;
    AttrMap attrs;
    std::string device;      // where the recorded op ran
    bool on_device = false;  // asked for, instead of left to TensorFlow
    std::vector<tf::HandlePtr> owned;
    std::vector<TFE_TensorHandle*> inputs;
    std::map<VariableId, TFE_TensorHandle*> variables;  // private ones in place of the recorded
  };

  // All must outlive it.
  Replayer(const Trace& trace, Sandbox& sandbox, CompareOptions options);

  // An error is ours, or a broken file's: it says nothing about the trace.
  Result<Verdict> Judge(OpId id);

  // For an op that Judge has proved by running it: the same again, with fresh variables.
  Result<Setup> Prepare(OpId id);
  Outcome Run(OpId id, const Setup& setup);
  size_t NumOutputs(OpId id, const Setup& setup) const;

  // What the op gave, and what it left in each variable that it took; nullopt for what has no bytes
  // or was not kept.
  using Values = std::vector<std::optional<Payload>>;
  Values Recorded(OpId id) const;
  // The same of one more run, with these handles in place of recorded inputs; empty where it fails.
  Values RunOnce(OpId id, const std::map<size_t, TFE_TensorHandle*>& inputs = {});

  const Trace& trace() const { return trace_; }
  Result<Payload> Value(TensorId id) const;
  std::string Name(OpId id) const;

 private:
  struct VariableUse {
    uint32_t before = 0;
    uint32_t after = 0;
    bool wrote = false;
  };

  Verdict JudgeExecuted(OpId id);
  std::optional<Verdict> JudgeSource(OpId id) const;
  std::optional<Verdict> JudgeCall(OpId id, const tf::OpDef* def) const;
  std::optional<Verdict> JudgeDeclared(OpId id, const tf::OpDef* def, const AttrMap& attrs) const;
  std::optional<Verdict> JudgeResources(OpId id, const tf::OpDef& def) const;
  std::optional<Verdict> JudgePurity(OpId id, const tf::OpDef* def, const AttrMap& attrs);
  std::optional<Verdict> JudgeHistory(OpId id) const;
  Verdict JudgeRead(OpId id);
  Verdict JudgeConstant(OpId id, const AttrMap& attrs);
  Verdict Within();
  Verdict JudgeRun(OpId id);
  Verdict JudgeRun(OpId id, bool on_device);
  bool RanElsewhere(const Setup& setup, const Outcome& outcome) const;
  Verdict JudgeError(OpId id, const Outcome& outcome) const;
  Verdict JudgeFailure(OpId id, const Outcome& outcome) const;
  Verdict NoSuchDevice(OpId id) const;

  std::optional<Verdict> Compare(OpId id, const Setup& setup, Outcome& outcome, bool& exact);
  std::optional<Verdict> CompareTensor(OpId id, const std::string& what, TensorId recorded,
                                       TFE_TensorHandle* replayed, bool& exact);
  std::optional<Verdict> CompareVariables(OpId id, const Setup& setup, bool& exact);
  Status PrepareInput(const EdgeRecord& edge, Setup& setup);
  Status PrepareVariable(OpId id, const AccessRecord& access, Setup& setup);
  void Carry(OpId id, Outcome& outcome);

  std::map<VariableId, VariableUse> UsesOf(OpId id) const;
  bool IsVariableOp(OpId id) const;
  bool TakesNextElement(OpId id, const tf::OpDef& def) const;
  // Of a variable that has no value yet, so that there is no version to tell.
  bool AsksWhetherSet(OpId id) const {
    return trace_.str(trace_.op(id).type) == "VarIsInitializedOp" &&
           trace_.AccessesOfOp(id).empty();
  }
  Status PrepareUnset(Setup& setup);

  const Trace& trace_;
  Sandbox& sandbox_;
  CompareOptions options_;
  History history_;
  std::vector<bool> opened_;      // by op: a region says that it opened it
  std::vector<bool> ran_inside_;  // by op: an op stands in what it opened
  std::vector<bool> on_device_;   // by op: its device was asked for when it ran last
  std::unordered_map<TensorId, tf::HandlePtr> carried_;
  std::string distance_;  // of what the last op that was run gave, where it is not exact
  Status error_;
};

}  // namespace flowscope::replay
