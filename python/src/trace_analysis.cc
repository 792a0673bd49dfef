// Questions that a Trace answers by computing.
#include <algorithm>

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

TableObject Stats(const TraceHandle& self) {
  const nb::gil_scoped_release released;
  return MakeTable(StatsTable(self.trace()));
}

// One op from a record or a key.
OpId OneOp(const TraceHandle& self, nb::handle op) {
  if (nb::isinstance<Op>(op)) {
    const auto& record = nb::cast<const Op&>(op);
    if (record.owner == self.object) return record.id;
    Check(InvalidArgument(fmt::format("{} belongs to another trace", record.Label())));
  }
  if (!nb::isinstance<nb::str>(op)) {
    Check(InvalidArgument("an op, or the label of one, is needed here"));
  }
  return Unwrap(FindRecord(*self.object, RecordKind::kOp, nb::cast<std::string>(op)));
}

// Every op reached by going from parent to parent, in order of execution.
std::vector<Op> AncestorsOf(const TraceHandle& self, nb::handle op) {
  const OpId last = OneOp(self, op);
  std::vector<bool> wanted(self.trace().num_ops(), false);
  std::vector<OpId> open{last};
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
           nb::sig("def ancestors(self, op: Op | str) -> list[Op]"),
           "Ops and sources that the value of `op` depends on, in order of execution.")
      .def("stats", &Stats, "Statistics of every value, as a Table: one row per output of an op.")
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
