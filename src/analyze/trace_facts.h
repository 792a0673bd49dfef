// Facts about a whole trace or module that several printed forms and tables show.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/cost.h"
#include "trace/trace.h"

namespace flowscope {

// The module that was recorded; kNoId where something else was: a function, a block.
ModuleId RootModule(const Trace& trace);

// The root is a raw callable or a function: its one call is the recording itself, and no row.
bool RootIsCalled(const Trace& trace);

// Of the root module, else of the variables of all modules, else (no modules) of all variables.
struct ParamCounts {
  std::optional<int64_t> total;  // nullopt where a shape is unknown
  std::optional<int64_t> trainable;
  std::optional<int64_t> nbytes;  // known where the variables account for all parameters
};
ParamCounts CountParams(const Trace& trace);

// False for a call inside another call of the same module.
bool IsOutermostCall(const Trace& trace, ModuleCallId call);

// Time in the module's calls; a call inside a call of the same module is in the outer one.
int64_t ModuleDuration(const Trace& trace, ModuleId module);

// What ops computed: outputs of ops that are no source, no variable access and no container.
struct MemoryFacts {
  int64_t activations = 0;
  int64_t nbytes = 0;
  int64_t kept_nbytes = 0;
  int64_t stats_only = 0;  // activations of which only statistics were kept
  int64_t not_kept = 0;
  TensorId largest = kNoId;
};
MemoryFacts CountMemory(const Trace& trace, const CostIndex& costs);

// Dtype and shape of several tensors as one: "f32 (*, 4)", "varies", "?".
class MergedShape {
 public:
  void Add(const Trace& trace, TensorId tensor);
  // `outputs` beyond the first are told as "+1".
  std::string ToString(size_t outputs) const;

 private:
  bool any_ = false;
  bool varies_ = false;
  DType dtype_ = DType::kInvalid;
  std::optional<Dims> dims_;  // -1 where tensors differ
};

// "f32 (1, 4)", "f32 (1, 4) +1" for the outputs of the recorded call; "?" for none.
std::string TensorsText(const Trace& trace, const std::vector<NamedTensor>& tensors);

// What the calls of a module gave: the first output of each as one shape.
std::string CallsOutputText(const Trace& trace, const std::vector<Span>& outputs_of_calls);

// "MatMul x3, Relu x2, Exp, ...": the largest counts first.
std::string TopCounts(const std::map<std::string, int64_t>& counts, size_t limit);

// "3 op, 2 variable": the largest counts first.
std::string CountsText(const std::map<std::string, int64_t>& counts);

// A variable's elements; nullopt where its shape is unknown.
std::optional<int64_t> VariableElements(const Trace& trace, VariableId variable);
std::optional<int64_t> VariableBytes(const Trace& trace, VariableId variable);

}  // namespace flowscope
