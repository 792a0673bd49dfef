#include "analyze/trace_facts.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analyze/flop_formulas.h"
#include "base/units.h"

namespace flowscope {
namespace {

constexpr int64_t kDiffers = -2;  // of a size: beside -1, which is unknown

std::set<VariableId> ModuleVariables(const Trace& trace) {
  std::set<VariableId> found;
  for (const ModuleRecord& module : trace.tables().modules) {
    for (uint32_t i = 0; i < module.variables.count; ++i) {
      found.insert(trace.tables().variable_lists[module.variables.first + i]);
    }
  }
  return found;
}

std::set<VariableId> AllVariables(const Trace& trace) {
  std::set<VariableId> all;
  for (VariableId id = 0; id < trace.tables().variables.size(); ++id) all.insert(id);
  return all;
}

// What Keras does not count as parameters: what an object that is no module keeps in a module
// (seeds, metrics, optimizers), such as dropout.seed_generator.state. An item of a list, as
// gru.states.0, is the module's own.
bool IsSideState(const Trace& trace, VariableId id) {
  const VariableRecord& variable = trace.variable(id);
  if (variable.trainable || variable.module == kNoId) return false;
  const std::string_view module = trace.str(trace.module(variable.module).address);
  std::string_view rest = trace.str(variable.address);
  if (rest.starts_with(module) && rest.substr(module.size()).starts_with('.')) {
    rest.remove_prefix(module.size() + 1);
  }
  const size_t dot = rest.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view held = rest.substr(dot + 1);
  return held.substr(0, held.find('.')).find_first_not_of("0123456789") != std::string_view::npos;
}

std::set<VariableId> WithoutSideState(const Trace& trace, std::set<VariableId> variables) {
  std::erase_if(variables, [&](VariableId id) { return IsSideState(trace, id); });
  return variables;
}

void AddTo(std::optional<int64_t>& sum, std::optional<int64_t> part) {
  sum = sum && part ? std::optional(*sum + *part) : std::nullopt;
}

ParamCounts CountVariables(const Trace& trace, const std::set<VariableId>& variables) {
  ParamCounts counts{0, 0, 0};
  for (const VariableId id : variables) {
    AddTo(counts.total, VariableElements(trace, id));
    AddTo(counts.nbytes, VariableBytes(trace, id));
    if (trace.variable(id).trainable) AddTo(counts.trainable, VariableElements(trace, id));
  }
  return counts;
}

bool IsActivation(const OpRecord& op) {
  return !IsSource(op.kind) && op.kind != OpKind::kVariableRead &&
         op.kind != OpKind::kVariableWrite;
}

// The largest first, equal ones by name.
std::vector<std::pair<std::string, int64_t>> Sorted(const std::map<std::string, int64_t>& counts) {
  std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return sorted;
}

}  // namespace

ModuleId RootModule(const Trace& trace) {
  for (ModuleId id = 0; id < trace.tables().modules.size(); ++id) {
    const ModuleRecord& module = trace.module(id);
    if (module.parent == kNoId && trace.str(module.address) == "self") return id;
  }
  return kNoId;
}

bool RootIsCalled(const Trace& trace) {
  const ModuleId root = RootModule(trace);
  if (root == kNoId || !trace.CallsOfModule(root).empty()) return false;
  const std::string& kind = trace.info().root_kind;
  return kind != "keras" && kind != "tf_module" && kind != "block";
}

ParamCounts CountParams(const Trace& trace) {
  const bool no_modules = trace.tables().modules.empty();
  const std::set<VariableId> variables = no_modules ? AllVariables(trace) : ModuleVariables(trace);
  ParamCounts counts = CountVariables(trace, variables);
  const ModuleId root = RootModule(trace);
  if (root == kNoId) return counts;
  const ModuleRecord& module = trace.module(root);
  if (counts.total != module.num_params) {
    counts = CountVariables(trace, WithoutSideState(trace, variables));
  }
  const bool all_known = counts.total == module.num_params;
  return {module.num_params, module.num_trainable_params, all_known ? counts.nbytes : std::nullopt};
}

bool IsOutermostCall(const Trace& trace, ModuleCallId id) {
  const ModuleId module = trace.module_call(id).module;
  for (id = trace.module_call(id).parent; id != kNoId; id = trace.module_call(id).parent) {
    if (trace.module_call(id).module == module) return false;
  }
  return true;
}

int64_t ModuleDuration(const Trace& trace, ModuleId module) {
  int64_t total = 0;
  for (const ModuleCallId call : trace.CallsOfModule(module)) {
    if (IsOutermostCall(trace, call)) total += trace.module_call(call).duration_ns;
  }
  return total;
}

MemoryFacts CountMemory(const Trace& trace, const CostIndex& costs) {
  MemoryFacts facts;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    if (!IsActivation(trace.op(id)) || costs.is_container(id)) continue;
    for (uint32_t i = 0; i < trace.op(id).outputs.count; ++i) {
      const TensorId tensor = trace.output(id, i);
      const TensorRecord& record = trace.tensor(tensor);
      ++facts.activations;
      facts.nbytes += record.nbytes;
      if (record.state == PayloadState::kKept) facts.kept_nbytes += record.nbytes;
      facts.stats_only += record.state == PayloadState::kStats ? 1 : 0;
      facts.not_kept += record.state == PayloadState::kNotKept ? 1 : 0;
      const bool larger =
          facts.largest == kNoId || record.nbytes > trace.tensor(facts.largest).nbytes;
      if (larger) facts.largest = tensor;
    }
  }
  return facts;
}

void MergedShape::Add(const Trace& trace, TensorId tensor) {
  const TensorRecord& record = trace.tensor(tensor);
  std::optional<Dims> dims;
  if (record.shape_known || !trace.dims(record.dims).empty()) dims = trace.dims(record.dims);
  if (!any_) {
    any_ = true;
    dtype_ = record.dtype;
    dims_ = std::move(dims);
    return;
  }
  const bool same_rank =
      dims.has_value() == dims_.has_value() && (!dims || dims->size() == dims_->size());
  if (record.dtype != dtype_ || !same_rank) varies_ = true;
  if (varies_ || !dims) return;
  for (size_t i = 0; i < dims->size(); ++i) {
    if ((*dims)[i] != (*dims_)[i]) (*dims_)[i] = kDiffers;
  }
}

std::string MergedShape::ToString(size_t outputs) const {
  if (!any_) return "?";
  std::string text = "varies";
  if (!varies_) {
    text = std::string(DTypeShortName(dtype_)) + (dims_ ? " (" : " ?");
    for (size_t i = 0; dims_ && i < dims_->size(); ++i) {
      text += i > 0 ? ", " : "";
      const int64_t size = (*dims_)[i];
      text += size == kDiffers ? "*" : size < 0 ? "?" : std::to_string(size);
    }
    if (dims_) text += dims_->size() == 1 ? ",)" : ")";
  }
  return outputs > 1 ? fmt::format("{} +{}", text, outputs - 1) : text;
}

std::string TensorsText(const Trace& trace, const std::vector<NamedTensor>& tensors) {
  MergedShape merged;
  if (!tensors.empty()) merged.Add(trace, tensors.front().tensor);
  return merged.ToString(tensors.size());
}

std::string CallsOutputText(const Trace& trace, const std::vector<Span>& outputs_of_calls) {
  MergedShape merged;
  uint32_t count = 0;
  for (const Span& outputs : outputs_of_calls) {
    if (outputs.count > 0) merged.Add(trace, trace.tables().named_tensors[outputs.first].tensor);
    count = std::max(count, outputs.count);
  }
  return merged.ToString(count);
}

std::string TopCounts(const std::map<std::string, int64_t>& counts, size_t limit) {
  const auto sorted = Sorted(counts);
  std::string text;
  for (size_t i = 0; i < std::min(limit, sorted.size()); ++i) {
    if (i > 0) text += ", ";
    text += sorted[i].first;
    if (sorted[i].second > 1) text += " x" + FormatCount(sorted[i].second);
  }
  return sorted.size() > limit ? text + ", ..." : text;
}

std::string CountsText(const std::map<std::string, int64_t>& counts) {
  std::string text;
  for (const auto& [name, count] : Sorted(counts)) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", FormatCount(count), name);
  }
  return text;
}

std::optional<int64_t> VariableElements(const Trace& trace, VariableId variable) {
  const VariableRecord& record = trace.variable(variable);
  return record.shape_known ? CheckedProduct(trace.dims(record.dims)) : std::nullopt;
}

std::optional<int64_t> VariableBytes(const Trace& trace, VariableId variable) {
  const std::optional<int64_t> count = VariableElements(trace, variable);
  const auto size = static_cast<int64_t>(DTypeSize(trace.variable(variable).dtype));
  return count && size > 0 ? std::optional(*count * size) : std::nullopt;
}

}  // namespace flowscope
