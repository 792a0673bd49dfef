// What a file could claim to make a walk over the trace endless.
#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "store/structure.h"
#include "store/trace_format.h"

namespace flowscope::store {
namespace {

// No element has more bytes than this, so that a size in bytes never overflows either.
constexpr int64_t kMaxElements = std::numeric_limits<int64_t>::max() / 64;

bool HasSize(std::string_view dims_bytes) {
  Dims dims(dims_bytes.size() / sizeof(int64_t));
  if (!dims.empty()) std::memcpy(dims.data(), dims_bytes.data(), dims_bytes.size());
  int64_t elements = 1;
  for (const int64_t dim : dims) {
    if (dim < 0 || (dim > 0 && elements > kMaxElements / dim)) return false;
    elements *= dim;
  }
  return true;
}

class BoundsCheck {
 public:
  BoundsCheck(const TraceTables& tables, const std::string& path) : t_(tables), path_(path) {}

  Status Run() {
    CheckSpans();
    CheckDepths();
    for (uint32_t id = 0; id < t_.dims_pool.size(); ++id) {
      Require(HasSize(t_.dims_pool.View(id)), "a shape has no size in bytes");
    }
    for (const TensorRecord& tensor : t_.tensors) {
      Require(tensor.nbytes >= 0, "a tensor has a negative size");
    }
    const auto by_op = [](const AccessRecord& a, const AccessRecord& b) { return a.op < b.op; };
    Require(std::is_sorted(t_.accesses.begin(), t_.accesses.end(), by_op),
            "accesses do not stand in the order of the ops");
    return status_;
  }

 private:
  void Require(bool holds, std::string_view what) {
    if (holds || !status_.ok()) return;
    status_ = Corruption(fmt::format("{} contradicts itself: {}", path_, what));
  }

  void CheckSpans() {
    uint64_t inputs = 0;
    uint64_t outputs = 0;
    for (const OpRecord& op : t_.ops) {
      inputs += op.inputs.count;
      outputs += op.outputs.count;
    }
    Require(inputs <= t_.edges.size(), "two ops share inputs");
    Require(outputs <= t_.tensors.size(), "two ops share outputs");
    uint64_t named = 0;
    for (const ModuleCallRecord& call : t_.module_calls) {
      named += uint64_t{call.inputs.count} + call.outputs.count;
    }
    Require(named <= t_.named_tensors.size(), "two module calls share tensors");
    uint64_t addresses = 0;
    uint64_t variables = 0;
    for (const ModuleRecord& module : t_.modules) {
      addresses += module.addresses.count;
      variables += module.variables.count;
    }
    for (const VariableRecord& variable : t_.variables) addresses += variable.addresses.count;
    Require(addresses <= t_.string_lists.size(), "two modules or variables share addresses");
    Require(variables <= t_.variable_lists.size(), "two modules share variables");
  }

  // Parents stand before their children here; LintTables has seen to it.
  template <typename Record>
  std::vector<uint32_t> Depths(const std::vector<Record>& rows) {
    std::vector<uint32_t> depths(rows.size(), 1);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].parent != kNoId) depths[i] = depths[rows[i].parent] + 1;
      Require(depths[i] <= kMaxDepth, "scopes are nested too deeply");
    }
    return depths;
  }

  void CheckDepths() {
    Depths(t_.regions);
    const std::vector<uint32_t> depths = Depths(t_.module_calls);
    uint64_t ops = 0;
    uint64_t deepest = 0;
    for (size_t i = 0; i < depths.size(); ++i) {
      ops += t_.module_calls[i].end_op - t_.module_calls[i].first_op;
      deepest = std::max<uint64_t>(deepest, depths[i]);
    }
    Require(ops <= deepest * t_.ops.size(), "module calls overlap");
    CheckModules();
  }

  // Modules may stand in any order; there is no circle.
  void CheckModules() {
    std::vector<uint32_t> depths(t_.modules.size(), 0);
    std::vector<ModuleId> chain;
    for (ModuleId start = 0; start < t_.modules.size(); ++start) {
      ModuleId at = start;
      while (at != kNoId && depths[at] == 0) {
        chain.push_back(at);
        at = t_.modules[at].parent;
      }
      uint32_t depth = at == kNoId ? 0 : depths[at];
      for (; !chain.empty(); chain.pop_back()) depths[chain.back()] = ++depth;
      Require(depths[start] <= kMaxDepth, "modules are nested too deeply");
    }
  }

  const TraceTables& t_;
  const std::string& path_;
  Status status_;
};

}  // namespace

Status CheckBounds(const TraceTables& tables, const std::string& path) {
  return BoundsCheck(tables, path).Run();
}

}  // namespace flowscope::store
