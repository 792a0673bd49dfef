// Floating point operations by formula, for op types that have one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace flowscope {

// One multiply-add counts as two operations. nullopt where the op type has no formula, a shape that
// the formula needs is unknown, or the op failed. An op whose inside is recorded counts 0: the ops
// inside count.
std::optional<int64_t> OpFlops(const Trace& trace, OpId op);

// Of executed ops: sources, and ops whose inside is recorded, add nothing.
struct Cost {
  int64_t flops = 0;
  int64_t bytes_read = 0;     // of the values that the ops take, variables that they read included
  int64_t bytes_written = 0;  // of the values that they give, variables that they write included
  int64_t ops = 0;
  int64_t ops_without_formula = 0;
};
Cost OpCost(const Trace& trace, OpId op);
Cost TotalCost(const Trace& trace);
Cost ModuleCost(const Trace& trace, ModuleId module);  // with descendants, all calls

// For questions about many ops of one trace: looks up once which ops have a recorded inside. The
// trace must outlive it.
class CostIndex {
 public:
  explicit CostIndex(const Trace& trace);

  std::optional<int64_t> Flops(OpId op) const;
  Cost OfOp(OpId op) const;
  Cost OfModule(ModuleId module) const;
  std::vector<Cost> OfModules() const;  // of every module, in one pass over the ops
  Cost Total() const;

  // The op opened a region, so that what it did is recorded op by op.
  bool is_container(OpId op) const { return container_[op]; }

 private:
  const Trace& trace_;
  std::vector<bool> container_;
};

Cost& operator+=(Cost& total, const Cost& part);

// The op stands for a value that was there; it did not run.
bool IsSource(OpKind kind);

// Op types that have a formula, with the formula's one-line text and where it comes from.
struct FlopFormula {
  std::string type;
  std::string text;
  std::string source;
};
// Sorted by type.
std::vector<FlopFormula> FlopFormulas();

}  // namespace flowscope
