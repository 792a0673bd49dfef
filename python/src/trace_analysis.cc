// Questions that a Trace answers by computing.
#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "accessor.h"
#include "analyze/cost.h"
#include "analyze/tables.h"
#include "errors.h"
#include "records.h"
#include "selectors.h"
#include "tables.h"
#include "trace/lint.h"
#include "trace_binding.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

nb::dict CostToDict(const Cost& cost) {
  nb::dict out;
  out["flops"] = cost.flops;
  out["bytes_read"] = cost.bytes_read;
  out["bytes_written"] = cost.bytes_written;
  out["ops"] = cost.ops;
  out["ops_without_formula"] = cost.ops_without_formula;
  return out;
}

nb::list TypesWithoutFormula(const Trace& trace, const CostIndex& index) {
  std::vector<std::string_view> types;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    if (index.OfOp(id).ops_without_formula != 0) types.push_back(trace.str(trace.op(id).type));
  }
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  nb::list names;
  for (const std::string_view type : types) names.append(nb::str(type.data(), type.size()));
  return names;
}

nb::dict CostOf(const TraceHandle& self) {
  const Trace& trace = self.trace();
  const CostIndex index(trace);
  nb::dict out = CostToDict(index.Total());
  nb::dict modules;
  for (ModuleId id = 0; id < trace.tables().modules.size(); ++id) {
    modules[nb::cast(KeyOf(trace, RecordKind::kModule, id))] = CostToDict(index.OfModule(id));
  }
  out["types_without_formula"] = TypesWithoutFormula(trace, index);
  out["modules"] = modules;
  return out;
}

TableObject StatsTable(const TraceHandle& self) {
  const nb::gil_scoped_release released;
  return MakeTable(StatsTable(self.trace()));
}

void AddOutputOps(const Trace& trace, ModuleCallId call, std::vector<OpId>& ops) {
  const Span outputs = trace.module_call(call).outputs;
  for (uint32_t i = 0; i < outputs.count; ++i) {
    const TensorId tensor = trace.tables().named_tensors[outputs.first + i].tensor;
    const OpId producer = tensor == kNoId ? kNoId : trace.tensor(tensor).producer;
    if (producer != kNoId) ops.push_back(producer);
  }
}

// The op itself; of a layer all passes, of a module or a call of it what made its outputs.
std::vector<OpId> OpsOf(const Trace& trace, Entity entity) {
  std::vector<OpId> ops;
  if (entity.kind == EntityKind::kOp) ops.push_back(entity.id);
  if (entity.kind == EntityKind::kLayer) {
    const auto passes = trace.OpsOfSite(entity.id);
    ops.assign(passes.begin(), passes.end());
  }
  if (entity.kind == EntityKind::kModuleCall) AddOutputOps(trace, entity.id, ops);
  if (entity.kind == EntityKind::kModule) {
    for (const ModuleCallId call : trace.CallsOfModule(entity.id)) AddOutputOps(trace, call, ops);
  }
  return ops;
}

template <typename T>
std::optional<Entity> AsRecord(const TraceHandle& self, nb::handle value, EntityKind kind) {
  if (!nb::isinstance<T>(value)) return std::nullopt;
  const auto& record = nb::cast<const T&>(value);
  if (record.owner == self.object) return Entity{kind, record.id};
  Check(InvalidArgument(
      fmt::format("{} belongs to another trace", nb::cast<std::string>(nb::repr(value)))));
  return std::nullopt;
}

// From a record or a key.
std::vector<OpId> OpsMeant(const TraceHandle& self, nb::handle value) {
  std::optional<Entity> entity = AsRecord<Op>(self, value, EntityKind::kOp);
  if (!entity) entity = AsRecord<Layer>(self, value, EntityKind::kLayer);
  if (!entity) entity = AsRecord<Module>(self, value, EntityKind::kModule);
  if (!entity) entity = AsRecord<ModuleCall>(self, value, EntityKind::kModuleCall);
  if (!entity && nb::isinstance<nb::str>(value)) {
    entity = Unwrap(self.object->lookup().Find(nb::cast<std::string>(value)));
  }
  std::vector<OpId> ops = entity ? OpsOf(self.trace(), *entity) : std::vector<OpId>();
  if (ops.empty()) {
    Check(InvalidArgument(
        "an op, layer, module or call that ran, or the key of one, is needed here"));
  }
  return ops;
}

// Every op reached by going from parent to parent, in order of execution.
std::vector<Op> AncestorsOf(const TraceHandle& self, nb::handle op) {
  std::vector<OpId> open = OpsMeant(self, op);
  std::vector<bool> wanted(self.trace().num_ops(), false);
  while (!open.empty()) {
    const OpId id = open.back();
    open.pop_back();
    for (const OpId parent : self.trace().Parents(id)) {
      if (wanted[parent]) continue;
      wanted[parent] = true;
      open.push_back(parent);
    }
  }
  std::vector<Op> ancestors;
  for (OpId id = 0; id < wanted.size(); ++id) {
    if (wanted[id]) ancestors.emplace_back(self.object, id);
  }
  return ancestors;
}

}  // namespace

void DefTraceAnalysis(nb::class_<TraceHandle>& type) {
  type.def("ancestors", &AncestorsOf, nb::arg("op").none(),
           nb::sig("def ancestors(self, op: Op | Layer | Module | ModuleCall | str) -> list[Op]"),
           "Ops and sources that the value of `op` depends on, in order of execution.")
      .def("stats", &StatsTable,
           "Statistics of every value, as a Table: one row per output of an op.")
      .def(
          "timeline",
          [](const TraceHandle& self) { return MakeTable(TimelineTable(self.trace())); },
          "When each executed op started and how long it took, as a Table.")
      .def("cost", &CostOf, nb::sig("def cost(self) -> dict[str, typing.Any]"),
           "Floating point operations by formula and bytes moved: the whole run's, and by module.")
      .def("first_nonfinite", &FirstNonFiniteOf,
           nb::sig("def first_nonfinite(self) -> NonFinite | None"),
           "Where the first NaN or Inf starts, why, and what it reaches; None where all values "
           "are finite.")
      .def(
          "lint", [](const TraceHandle& self) { return Lint(self.trace()); },
          "One sentence per broken invariant of the record; empty for a sound trace.");
}

}  // namespace flowscope::python
