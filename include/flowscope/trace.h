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

// Which ops are meant: those that fit all that is given here. All of them where nothing is.
struct OpFilter {
  std::string sites;  // as a text in trace.find_sites of Python: an address of a module, then the
                      // ops that made its outputs, or a label; globs
  std::string layer;  // address; ops in that module or inside of it; globs
  std::string type;   // of the op, case ignored; globs
  int64_t limit = 0;  // the first so many; 0: all
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
  bool interrupted() const;   // the recording was cut off: it holds what was committed

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
  // The same as JSON: everything that the trace has of it, an op's values up to `max_values` of
  // each output.
  Result<std::string> DescribeJson(std::string_view key, int64_t max_values = 64) const;
  // The first `count` elements of the value that Value(key) gives, in row-major order.
  Result<std::string> Elements(std::string_view key, int64_t count) const;
  // "ops", "layers", "modules", "module_calls", "variables", "regions", "stats" or "timeline", as
  // text columns or as a JSON list of rows.
  Result<std::string> Table(std::string_view kind) const;
  Result<std::string> TableJson(std::string_view kind) const;
  // The tables of ops and of their values' statistics, of some ops. NotFound with near names where
  // none fits the filter.
  Result<std::string> Ops(const OpFilter& filter) const;
  Result<std::string> OpsJson(const OpFilter& filter) const;
  Result<std::string> Stats(const OpFilter& filter = {}) const;
  Result<std::string> StatsJson(const OpFilter& filter = {}) const;
  // Name, counts, versions and outputs as a JSON object.
  std::string SummaryJson() const;

  // Where the first NaN or infinity began, why, and what it reached. Unavailable where no value was
  // kept, so that nothing can be said.
  struct NonFinite {
    bool found = false;
    std::string text;
    std::string json;  // "null" where none was found
  };
  Result<NonFinite> FirstNonFinite() const;

  // For the library itself.
  const std::shared_ptr<const flowscope::Trace>& record() const { return trace_; }

 private:
  std::shared_ptr<const flowscope::Trace> trace_;
};

}  // namespace flowscope::api
