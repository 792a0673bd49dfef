// A recorded run: what ran, in which layer, from which values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/payload.h"
#include "base/status.h"

namespace flowscope {
class Trace;
}

namespace flowscope::api {

struct SummaryOptions {
  std::string level = "auto";     // auto, module, op
  std::string view = "overview";  // overview, compute
  int64_t max_rows = 60;          // 0: all
  int64_t depth = 0;              // of modules; 0: all
  bool fold_repeats = true;
  bool color = false;
};

// What Op is in Python: one execution of one op, or a source.
struct OpInfo {
  std::string label;   // "matmul_1_3:1"
  std::string type;    // "MatMul"
  std::string kind;    // "compute", "input", "variable_read", ...
  std::string module;  // address of the innermost module; "self" outside of all
  std::string region;  // path of functions, iterations and branches; empty at the root
  std::string dtype;   // of the first output; empty where there is none
  Dims dims;           // of the first output; empty where unknown
  bool shape_known = false;
  std::string opaque_reason;  // what ran inside is not recorded, because
};

struct LayerInfo {
  std::string label;  // "matmul_1_3"
  std::string type;
  std::string module;
  uint32_t num_passes = 0;
};

struct VariableInfo {
  std::string address;
  std::string name;
  std::string dtype;
  Dims dims;
  bool trainable = false;
  uint32_t num_reads = 0;
  uint32_t num_writes = 0;
};

// Immutable; copies share the record. Values live as long as a copy, or a Payload that was read,
// does. Safe to use from several threads.
class Trace {
 public:
  explicit Trace(std::shared_ptr<const flowscope::Trace> trace);

  size_t num_ops() const;  // that were executed
  std::string name() const;
  std::string root_kind() const;
  std::string tensorflow_version() const;
  std::string error() const;  // what the model raised; empty where it did not

  std::vector<OpInfo> ops() const;
  std::vector<LayerInfo> layers() const;
  std::vector<VariableInfo> variables() const;
  // Of the recorded call, by path: "output['prob']". An output whose value was not kept is left
  // out.
  std::vector<std::pair<std::string, Payload>> outputs() const;

  // The value of an op, a layer with one pass, or a variable before the run, by label, short label
  // or address, as trace[key] in Python. NotFound with near names, Ambiguous with the candidates,
  // Unavailable where the value was not kept.
  Result<Payload> Value(std::string_view key) const;

  // As print(trace) in Python. InvalidArgument for an unknown level or view.
  Result<std::string> Summary(const SummaryOptions& options = {}) const;
  // What print(trace[key]) says of an op, a layer, a module, a call or a variable.
  Result<std::string> Describe(std::string_view key) const;
  // "ops", "layers", "modules", "module_calls", "variables": as text columns or as a JSON list.
  Result<std::string> Table(std::string_view kind) const;
  Result<std::string> TableJson(std::string_view kind) const;
  // Name, counts, versions and outputs as a JSON object.
  std::string SummaryJson() const;

  // Statistics of every kept value, and where the first NaN or infinity began.
  std::string Stats() const;
  std::string StatsJson() const;
  std::string FirstNonFinite() const;      // empty where every kept value is finite
  std::string FirstNonFiniteJson() const;  // "null" where every kept value is finite

  // For the library itself.
  const std::shared_ptr<const flowscope::Trace>& record() const { return trace_; }

 private:
  std::shared_ptr<const flowscope::Trace> trace_;
};

}  // namespace flowscope::api
