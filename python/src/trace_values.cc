// Values of a Trace by site.
#include <algorithm>

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "accessor.h"
#include "base/glob.h"
#include "errors.h"
#include "records.h"
#include "selectors.h"
#include "trace_binding.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

constexpr size_t kMaxShownOps = 8;

// "matmul_1_3:1 (2, 4), matmul_2_7:1 (2, 8), 3 more"
std::string ShapesText(const std::vector<Op>& ops, const nb::list& values) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min(ops.size(), kMaxShownOps); ++i) {
    parts.push_back(ops[i].Label() + " " +
                    nb::cast<std::string>(nb::str(nb::object(values[i].attr("shape")))));
  }
  if (ops.size() > kMaxShownOps) parts.push_back(fmt::format("{} more", ops.size() - kMaxShownOps));
  return fmt::format("{}", fmt::join(parts, ", "));
}

NumpyArray Stack(const TraceHandle& self, nb::handle sites) {
  const std::vector<Op> ops =
      MakeRecords<Op>(self.object, SelectOps(self.trace(), ToSelector(sites)));
  nb::list values;
  for (const Op& op : ops) values.append(op.Output(0));
  for (const nb::handle value : values) {
    if (value.attr("shape").equal(values[0].attr("shape"))) continue;
    Check(
        InvalidArgument(fmt::format("values of different shapes do not stack: {}. Narrow the "
                                    "selection, or take them one by one from find_sites()",
                                    ShapesText(ops, values))));
  }
  return nb::borrow<NumpyArray>(nb::module_::import_("numpy").attr("stack")(values));
}

void AddOp(const Op& op, nb::dict& values) {
  const bool only = op.trace().OpsOfSite(op.row().site).size() == 1;
  const std::string key = only ? op.trace().LayerLabel(op.row().site) : op.Label();
  values[nb::cast(key)] = op.Output(0);
}

void AddCall(const ModuleCall& call, nb::dict& values) {
  const Module module(call.owner, call.row().module);
  const std::string key = module.calls().size() == 1 ? module.Address() : call.Label();
  values[nb::cast(key)] = call.Output();
}

bool CallMatches(const ModuleCall& call, std::string_view pattern) {
  const std::vector<std::string> names = NamesOf(call.trace(), RecordKind::kModuleCall, call.id);
  const std::vector<std::string> addresses =
      NamesOf(call.trace(), RecordKind::kModule, call.row().module);
  const auto matches = [&](const std::string& name) { return GlobMatch(pattern, name); };
  return std::any_of(names.begin(), names.end(), matches) ||
         std::any_of(addresses.begin(), addresses.end(), matches);
}

// As a plain string means it: modules of that address, else ops of that label.
void AddText(const TraceHandle& self, const std::string& text, nb::dict& values) {
  const size_t before = values.size();
  for (ModuleCallId id = 0; id < self.trace().tables().module_calls.size(); ++id) {
    const ModuleCall call(self.object, id);
    if (CallMatches(call, text)) AddCall(call, values);
  }
  if (values.size() > before) return;
  for (const OpId id : SelectOps(self.trace(), ToSelector(nb::cast(text)))) {
    AddOp(Op(self.object, id), values);
  }
}

bool IsList(nb::handle site) {
  return PyList_Check(site.ptr()) || PyTuple_Check(site.ptr()) || PyAnySet_Check(site.ptr());
}

void AddSite(const TraceHandle& self, nb::handle site, nb::dict& values) {
  if (nb::isinstance<nb::str>(site)) {
    AddText(self, nb::cast<std::string>(site), values);
  } else if (nb::isinstance<ModuleCall>(site)) {
    AddCall(nb::cast<const ModuleCall&>(site), values);
  } else if (nb::isinstance<Module>(site)) {
    AddText(self, nb::cast<const Module&>(site).Address(), values);
  } else if (IsList(site)) {
    for (const nb::handle item : site) AddSite(self, item, values);
  } else {
    for (const OpId id : SelectOps(self.trace(), ToSelector(site))) {
      AddOp(Op(self.object, id), values);
    }
  }
}

nb::dict ValuesAt(const TraceHandle& self, nb::handle sites) {
  nb::dict values;
  AddSite(self, sites, values);
  return values;
}

}  // namespace

void DefTraceValues(nb::class_<TraceHandle>& type) {
  type.def("stack", &Stack, nb::arg("sites").none(),
           nb::sig("def stack(self, sites: typing.Any) -> numpy.ndarray"),
           "Values of the ops that a selector means, stacked on a new first axis.")
      .def(
          "values_at", &ValuesAt, nb::arg("sites").none(),
          nb::sig("def values_at(self, sites: typing.Any) -> dict[str, numpy.ndarray]"),
          "Values by name: of a module what it gave back (of several calls \"address:1\", ...), of "
          "an op its output; a glob or selector gives one entry for each match.");
}

}  // namespace flowscope::python
