#include "live_op.h"

#include <algorithm>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "record_values.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

std::optional<std::string> InnermostModule(const OpFacts& facts) {
  if (facts.module_addresses.empty()) return std::nullopt;
  return std::string(facts.module_addresses.front());
}

std::vector<std::string> CallLabels(const OpFacts& facts) {
  std::vector<std::string> labels;
  if (facts.tables == nullptr) return labels;
  const TraceTables& tables = *facts.tables;
  for (ModuleCallId id = tables.ops[facts.id].module_call; id != kNoId;
       id = tables.module_calls[id].parent) {
    const ModuleCallRecord& call = tables.module_calls[id];
    labels.push_back(fmt::format("{}:{}", tables.strings.View(tables.modules[call.module].address),
                                 call.call_index));
  }
  std::reverse(labels.begin(), labels.end());
  return labels;
}

// Asked only for what the class does not have.
void RefuseAttribute(const LiveOp& op, const std::string& name) {
  throw nb::attribute_error(
      fmt::format(
          "a predicate is shown {} without {:?}: it has label, layer_label, type, kind, "
          "module, modules, pass_index, iteration, region and attrs, and no value. By "
          "values, ask the trace: [op for op in trace if op.stats and op.stats[\"max\"] > 1]",
          op.label, name)
          .c_str());
}

std::string LiveOpText(const LiveOp& op) {
  return fmt::format("{} ({} {}) in {}", op.label, op.kind, op.type, op.module.value_or("self"));
}

}  // namespace

LiveOp::LiveOp(const OpFacts& facts)
    : label(facts.label),
      layer_label(facts.layer_label),
      type(facts.type),
      kind(OpKindName(facts.kind)),
      module(InnermostModule(facts)),
      modules(CallLabels(facts)),
      pass_index(facts.pass),
      iteration(facts.iteration),
      region(facts.region_path),
      attrs(facts.attrs) {}

void RegisterLiveOp(nb::module_& m) {
  nb::class_<LiveOp>(m, "LiveOp",
                     "What a predicate is shown of an op that has just run. Its value is not "
                     "there: whether to keep it is what the predicate decides.\n\n"
                     "    >>> fs.where(lambda op: op.type == \"MatMul\" and op.pass_index == 1)\n\n"
                     "By values, ask the finished trace: ``[op for op in trace if op.stats]``.")
      .def_ro("label", &LiveOp::label, "With the pass; the same during the run and after.")
      .def_ro("layer_label", &LiveOp::layer_label)
      .def_ro("type", &LiveOp::type)
      .def_ro("kind", &LiveOp::kind)
      .def_ro("module", &LiveOp::module,
              "Address of the innermost module; None outside every module.")
      .def_ro("modules", &LiveOp::modules,
              "Labels of the open module calls, from the outermost in.")
      .def_ro("pass_index", &LiveOp::pass_index)
      .def_ro("iteration", &LiveOp::iteration, "Number of the innermost loop iteration, from 0.")
      .def_ro("region", &LiveOp::region, "Region path without iteration numbers.")
      .def_prop_ro(
          "attrs", [](const LiveOp& op) { return AttrsToDict(op.attrs); },
          nb::sig("def attrs(self) -> dict[str, typing.Any]"))
      .def("__getattr__", &RefuseAttribute)
      .def("__repr__", &LiveOpText);
}

}  // namespace flowscope::python
