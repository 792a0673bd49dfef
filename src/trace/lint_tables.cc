// Ranges: what has to hold before anybody may follow an id.
#include <vector>

#include "trace/lint.h"
#include "trace/lint_findings.h"

namespace flowscope {
namespace {

// Checks the fields of one row after the other.
class RangeCheck {
 public:
  RangeCheck(const TraceTables& tables, Findings& findings)
      : tables_(tables), findings_(findings) {}

  void StartTable(std::string_view table) {
    table_ = table;
    row_ = 0;
    findings_.StartRule(fmt::format("rows of {} that are out of range", table));
  }
  void EndRow() { ++row_; }

  void Id(std::string_view field, uint32_t id, size_t size) {
    if (id >= size) Report(field, id, size);
  }
  void IdOrNone(std::string_view field, uint32_t id, size_t size) {
    if (id != kNoId) Id(field, id, size);
  }
  // A parent stands before its child, so that no chain runs in a circle.
  void Earlier(std::string_view field, uint32_t id) { IdOrNone(field, id, row_); }
  void InSpan(std::string_view field, Span span, size_t size) {
    if (span.first > size || span.count > size - span.first) {
      findings_.Add("row {} of {}: {} [{}, +{}) does not lie in {} rows", row_, table_, field,
                    span.first, span.count, size);
    }
  }
  template <typename... Ids>
  void Strings(Ids... ids) {
    for (StringId id : {ids...}) Id("a string", id, tables_.strings.size());
  }
  void Shape(uint32_t dims) {
    Id("shape", dims, tables_.dims_pool.size());
    if (dims >= tables_.dims_pool.size()) return;
    if (tables_.dims_pool.View(dims).size() % sizeof(int64_t) != 0) {
      findings_.Add("row {} of {}: shape {} is no list of dimensions", row_, table_, dims);
    }
  }
  // An enum as it came from a file.
  template <typename Enum>
  void Kind(std::string_view field, Enum value, Enum last) {
    Id(field, static_cast<uint32_t>(value), static_cast<size_t>(last) + 1);
  }

 private:
  void Report(std::string_view field, uint32_t id, size_t size) {
    findings_.Add("row {} of {}: {} is {}, but there are {}", row_, table_, field, id, size);
  }

  const TraceTables& tables_;
  Findings& findings_;
  std::string_view table_;
  size_t row_ = 0;
};

void CheckOps(const TraceTables& t, RangeCheck& check) {
  check.StartTable("ops");
  for (const OpRecord& op : t.ops) {
    check.Strings(op.type, op.name, op.device, op.error, op.opaque_reason);
    check.Id("attributes", op.attrs, t.attrs.size());
    check.Id("region", op.region, t.regions.size());
    check.IdOrNone("module call", op.module_call, t.module_calls.size());
    check.IdOrNone("location", op.location, t.locations.size());
    check.Id("site", op.site, t.sites.size());
    check.InSpan("inputs", op.inputs, t.edges.size());
    check.InSpan("outputs", op.outputs, t.tensors.size());
    check.Kind("kind", op.kind, OpKind::kEffect);
    check.EndRow();
  }
}

void CheckValues(const TraceTables& t, RangeCheck& check) {
  check.StartTable("edges");
  for (const EdgeRecord& edge : t.edges) {
    check.IdOrNone("tensor", edge.tensor, t.tensors.size());
    check.Kind("class", edge.edge_class, EdgeClass::kUnexplained);
    check.EndRow();
  }
  check.StartTable("tensors");
  for (const TensorRecord& tensor : t.tensors) {
    check.IdOrNone("producer", tensor.producer, t.ops.size());
    check.Shape(tensor.dims);
    check.Kind("state", tensor.state, PayloadState::kNoValue);
    check.EndRow();
  }
  for (const auto* named : {&t.named_tensors, &t.outputs}) {
    check.StartTable(named == &t.outputs ? "outputs" : "named tensors");
    for (const NamedTensor& entry : *named) {
      check.Strings(entry.path);
      check.IdOrNone("tensor", entry.tensor, t.tensors.size());
      check.EndRow();
    }
  }
}

void CheckPlaces(const TraceTables& t, RangeCheck& check) {
  check.StartTable("sites");
  for (const SiteRecord& site : t.sites) {
    check.Strings(site.type, site.region_path, site.module_address);
    check.EndRow();
  }
  check.StartTable("regions");
  for (const RegionRecord& region : t.regions) {
    check.Strings(region.name);
    check.Earlier("parent", region.parent);
    check.IdOrNone("op", region.op, t.ops.size());
    check.IdOrNone("predicate", region.predicate, t.tensors.size());
    check.Kind("kind", region.kind, RegionKind::kTracing);
    check.EndRow();
  }
  check.StartTable("locations");
  for (const LocationRecord& location : t.locations) {
    check.Strings(location.file, location.function, location.text);
    check.EndRow();
  }
}

// Modules may stand in any order, so a circle has to be looked for.
void CheckModuleParents(const TraceTables& t, Findings& findings) {
  findings.StartRule("parents of modules");
  // Every module is walked over once: the walk from `start` stops at what an earlier one has seen.
  std::vector<ModuleId> seen_from(t.modules.size(), kNoId);
  for (ModuleId start = 0; start < t.modules.size(); ++start) {
    ModuleId at = start;
    while (at < t.modules.size() && seen_from[at] == kNoId) {
      seen_from[at] = start;
      at = t.modules[at].parent;
    }
    if (at < t.modules.size() && seen_from[at] == start) {
      findings.Add("the parents of module {} run in a circle", at);
    }
  }
}

void CheckModules(const TraceTables& t, RangeCheck& check) {
  check.StartTable("modules");
  for (const ModuleRecord& module : t.modules) {
    check.Strings(module.address, module.class_name, module.name, module.config);
    check.IdOrNone("parent", module.parent, t.modules.size());
    check.InSpan("addresses", module.addresses, t.string_lists.size());
    check.InSpan("variables", module.variables, t.variable_lists.size());
    check.EndRow();
  }
  check.StartTable("module calls");
  for (const ModuleCallRecord& call : t.module_calls) {
    check.Strings(call.training, call.kwargs, call.method);
    check.Id("module", call.module, t.modules.size());
    check.Earlier("parent", call.parent);
    check.Id("region", call.region, t.regions.size());
    check.InSpan("inputs", call.inputs, t.named_tensors.size());
    check.InSpan("outputs", call.outputs, t.named_tensors.size());
    check.Id("end of ops", call.end_op, t.ops.size() + 1);
    check.Id("first op", call.first_op, size_t{call.end_op} + 1);
    check.EndRow();
  }
  check.StartTable("string lists");
  for (StringId id : t.string_lists) {
    check.Strings(id);
    check.EndRow();
  }
}

void CheckVariables(const TraceTables& t, RangeCheck& check) {
  check.StartTable("variables");
  for (const VariableRecord& variable : t.variables) {
    check.Strings(variable.address, variable.name, variable.key);
    check.InSpan("addresses", variable.addresses, t.string_lists.size());
    check.Shape(variable.dims);
    check.IdOrNone("module", variable.module, t.modules.size());
    check.EndRow();
  }
  check.StartTable("variable lists");
  for (VariableId id : t.variable_lists) {
    check.Id("variable", id, t.variables.size());
    check.EndRow();
  }
  check.StartTable("versions");
  for (const VersionRecord& version : t.versions) {
    check.Id("variable", version.variable, t.variables.size());
    check.IdOrNone("value", version.value, t.tensors.size());
    check.IdOrNone("writer", version.writer, t.ops.size());
    check.EndRow();
  }
  check.StartTable("accesses");
  for (const AccessRecord& access : t.accesses) {
    check.Id("op", access.op, t.ops.size());
    check.Id("variable", access.variable, t.variables.size());
    check.EndRow();
  }
  check.StartTable("origins");
  for (const OriginRecord& origin : t.origins) {
    check.Id("op", origin.op, t.ops.size());
    check.Id("possible origin", origin.possible_origin, t.tensors.size());
    check.EndRow();
  }
  check.StartTable("gradients");
  for (const GradientRecord& gradient : t.gradients) {
    check.Id("op", gradient.op, t.ops.size());
    check.Id("module", gradient.module, t.modules.size());
    check.EndRow();
  }
  check.StartTable("compiled differences");
  for (const CompiledDifference& difference : t.compiled_differences) {
    check.Id("call", difference.call, t.ops.size());
    check.EndRow();
  }
  check.StartTable("functions");
  for (const FunctionRecord& function : t.functions) {
    check.Strings(function.name);
    check.Id("definition", function.definition, t.attrs.size());
    check.EndRow();
  }
}

}  // namespace

std::vector<std::string> LintTables(const TraceTables& tables) {
  Findings findings;
  RangeCheck check(tables, findings);
  CheckOps(tables, check);
  CheckValues(tables, check);
  CheckPlaces(tables, check);
  CheckModules(tables, check);
  CheckVariables(tables, check);
  findings.StartRule("the root region");
  if (tables.regions.empty()) findings.Add("there is no root region");
  CheckModuleParents(tables, findings);
  return std::move(findings).Take();
}

}  // namespace flowscope
