// Variable: what TensorFlow keeps between ops, with its history in this run.
#include <fmt/format.h>

#include "analyze/summary.h"
#include "errors.h"
#include "records.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

std::vector<VariableVersion> VersionsOf(const Variable& variable) {
  std::vector<VariableVersion> versions;
  for (const VersionRecord& version : variable.trace().VersionsOfVariable(variable.id)) {
    versions.emplace_back(variable.owner, version);
  }
  return versions;
}

std::string UntouchedText(const Trace& trace, VariableId id) {
  return fmt::format(
      "variable {} was not read or written in this run, so no value of it was recorded",
      trace.str(trace.variable(id).address));
}

NumpyArray ValueAt(const Variable& variable, int64_t index) {
  const std::vector<VariableVersion> versions = VersionsOf(variable);
  const auto count = static_cast<int64_t>(versions.size());
  if (count == 0) Check(Unavailable(UntouchedText(variable.trace(), variable.id)));
  const int64_t at = index < 0 ? index + count : index;
  if (at < 0 || at >= count) {
    Check(
        NotFound(fmt::format("variable {} has {} version{} in this run, 0 to {}; there is no {}",
                             variable.Address(), count, count == 1 ? "" : "s", count - 1, index)));
  }
  return versions[static_cast<size_t>(at)].Value();
}

std::vector<Op> AccessesOf(const Variable& variable, bool write) {
  std::vector<uint32_t> ids;
  for (const AccessRecord& access : variable.trace().tables().accesses) {
    if (access.variable == variable.id && access.write == write) ids.push_back(access.op);
  }
  RemoveRepeats(ids);
  return MakeRecords<Op>(variable.owner, ids);
}

OptionalShape ShapeOfVariable(const Variable& variable) {
  const std::vector<int64_t>& dims = variable.trace().dims(variable.row().dims);
  if (!variable.row().shape_known && dims.empty()) return std::nullopt;
  return ToTuple(dims);
}

std::optional<Op> WriterOf(const VariableVersion& version) {
  return RecordOrNone<Op>(version.owner, version.row.writer);
}

std::string DescribeVersion(const VariableVersion& version) {
  const Trace& trace = version.trace();
  const std::string_view address = trace.str(trace.variable(version.id).address);
  if (version.row.writer != kNoId) {
    return fmt::format("{} version {}, written by {}", address, version.row.index,
                       trace.OpLabel(version.row.writer));
  }
  return fmt::format("{} version {}, {}", address, version.row.index,
                     version.row.index == 0 ? "from before the run" : "made outside this run");
}

void RegisterVersion(nb::module_& m) {
  nb::class_<VariableVersion>(m, "VariableVersion",
                              "One value in a variable's history.\n\n"
                              "    >>> [(v.index, v.writer) for v in variable.versions]")
      .def_prop_ro(
          "index", [](const VariableVersion& version) { return version.row.index; },
          "0 is the value from before the run.")
      .def_prop_ro("writer", &WriterOf, "The op that wrote it; None where it came from outside.")
      .def_prop_ro("value", &VariableVersion::Value)
      .def_prop_ro(
          "variable",
          [](const VariableVersion& version) { return Variable(version.owner, version.id); })
      .def(
          "__eq__",
          [](const VariableVersion& a, const VariableVersion& b) {
            return static_cast<const Record&>(a) == b && a.row.index == b.row.index;
          },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const VariableVersion& version) {
             return static_cast<Py_ssize_t>(std::hash<const void*>()(version.owner.get()) * 31 +
                                            version.id * 7919 + version.row.index);
           })
      .def("__repr__", &DescribeVersion);
}

}  // namespace

NumpyArray VariableVersion::Value() const {
  if (row.value == kNoId) Check(Unavailable(UntouchedText(trace(), id)));
  return ValueOf(trace(), row.value,
                 fmt::format("version {} of variable {}", row.index,
                             trace().str(trace().variable(id).address)));
}

void RegisterVariable(nb::module_& m) {
  RegisterVersion(m);
  nb::class_<Variable> type(m, "Variable",
                            "A variable and its history in this run.\n\n"
                            "    >>> kernel = trace[\"dense.kernel\"]\n"
                            "    >>> kernel.value.mean(), len(kernel.versions), kernel.writes");
  DefIdentity(type, [](const Variable& variable) {
    return DescribeVariable(variable.trace(), variable.id);
  });
  type.def_prop_ro("address", &Variable::Address)
      .def_prop_ro(
          "addresses",
          [](const Variable& variable) {
            return StringsOf(variable.trace(), variable.row().addresses);
          },
          "Every address by which it can be reached, the chosen one first.")
      .def_prop_ro("name",
                   [](const Variable& variable) {
                     return std::string(variable.trace().str(variable.row().name));
                   })
      .def_prop_ro("shape", &ShapeOfVariable)
      .def_prop_ro(
          "dtype",
          [](const Variable& variable) { return std::string(DTypeName(variable.row().dtype)); })
      .def_prop_ro("trainable", [](const Variable& variable) { return variable.row().trainable; })
      .def_prop_ro(
          "module",
          [](const Variable& variable) {
            return RecordOrNone<Module>(variable.owner, variable.row().module);
          },
          "The module that owns it.")
      .def_prop_ro("versions", &VersionsOf, "Every value it had, in order.")
      .def("value_at", &ValueAt, nb::arg("index"), "The value of a version; negative from the end.")
      .def_prop_ro(
          "value", [](const Variable& variable) { return ValueAt(variable, -1); },
          "The value at the end of the run.")
      .def_prop_ro(
          "initial_value", [](const Variable& variable) { return ValueAt(variable, 0); },
          "The value from before the run.")
      .def_prop_ro(
          "reads", [](const Variable& variable) { return AccessesOf(variable, false); },
          "Ops that read it.")
      .def_prop_ro(
          "writes", [](const Variable& variable) { return AccessesOf(variable, true); },
          "Ops that wrote it.");
}

}  // namespace flowscope::python
