// NonFinite: where the first NaN or Inf starts.
#include "analyze/nonfinite.h"

#include <fmt/format.h>

#include "errors.h"
#include "records.h"
#include "trace_binding.h"
#include "values.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

struct NonFiniteRecord {
  TracePtr owner;
  NonFiniteReport report;
  const Trace& trace() const { return *owner->trace; }
};

struct ParentRecord {
  TracePtr owner;
  ParentValue parent;
};

nb::tuple ElementOf(const NonFiniteRecord& record) { return ToTuple(record.report.first.element); }

// The element itself where the value is there, else the number that its text says.
nb::object ElementValue(const NonFiniteRecord& record) {
  const NonFiniteStep& step = record.report.first;
  const Trace& trace = record.trace();
  const Result<Payload> payload = trace.ReadTensor(step.tensor);
  if (payload.ok() && payload->dims.size() == step.element.size()) {
    return ToNumpy(*payload)[ElementOf(record)].attr("item")();
  }
  const nb::object text = nb::cast(step.value);
  return nb::module_::import_("builtins").attr("float")(text);
}

std::vector<ParentRecord> ParentRecordsOf(const NonFiniteRecord& record) {
  std::vector<ParentRecord> parents;
  for (const ParentValue& parent : record.report.parents) parents.push_back({record.owner, parent});
  return parents;
}

std::vector<Op> ChainOf(const NonFiniteRecord& record) {
  std::vector<uint32_t> ids;
  for (const NonFiniteStep& step : record.report.chain) ids.push_back(step.op);
  RemoveRepeats(ids);
  return MakeRecords<Op>(record.owner, ids);
}

std::string NonFiniteText(const NonFiniteRecord& record) {
  return WithoutLastBreak(FormatNonFinite(record.trace(), record.report));
}

void RegisterParent(nb::module_& m) {
  nb::class_<ParentRecord>(m, "NonFiniteParent",
                           "One input of the op in which the first NaN or Inf appeared.\n\n"
                           "    >>> [(p.name, p.element) for p in trace.first_nonfinite().parents]")
      .def_prop_ro(
          "op",
          [](const ParentRecord& self) { return RecordOrNone<Op>(self.owner, self.parent.op); },
          "None for literals and for a variable's value from before the run.")
      .def_prop_ro("name", [](const ParentRecord& self) { return self.parent.name; })
      .def_prop_ro(
          "glance", [](const ParentRecord& self) { return self.parent.glance; },
          "The value in one line.")
      .def_prop_ro(
          "element", [](const ParentRecord& self) { return self.parent.element; },
          "What stands at the same place; empty where the shapes do not match.")
      .def("__repr__", [](const ParentRecord& self) {
        return fmt::format("{}: {}", self.parent.name, self.parent.glance);
      });
}

void DefCounts(nb::class_<NonFiniteRecord>& type) {
  type.def_prop_ro("nan", [](const NonFiniteRecord& self) { return self.report.first.nan; })
      .def_prop_ro("pos_inf", [](const NonFiniteRecord& self) { return self.report.first.pos_inf; })
      .def_prop_ro("neg_inf", [](const NonFiniteRecord& self) { return self.report.first.neg_inf; })
      .def_prop_ro(
          "scanned", [](const NonFiniteRecord& self) { return self.report.scanned; },
          "Values that were looked at.")
      .def_prop_ro(
          "skipped", [](const NonFiniteRecord& self) { return self.report.skipped; },
          "Values that were not kept, so that nobody knows.");
}

}  // namespace

namespace {

// None must not be taken for "all is finite" where some values are not there.
void WarnOfSkipped(const NonFiniteSearch& search) {
  const std::string text = fmt::format(
      "flowscope: no NaN or infinity in the {} values that were kept; {} more were not kept, and "
      "nothing is known of them",
      search.scanned, search.skipped);
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) throw nb::python_error();
}

}  // namespace

nb::object FirstNonFiniteOf(const TraceHandle& self) {
  Result<NonFiniteSearch> search = NonFiniteSearch();
  {
    const nb::gil_scoped_release released;
    search = SearchNonFinite(self.trace());
  }
  NonFiniteSearch found = Unwrap(std::move(search));
  if (found.report) return nb::cast(NonFiniteRecord{self.object, std::move(*found.report)});
  if (found.skipped > 0) WarnOfSkipped(found);
  return nb::none();
}

void RegisterNonFinite(nb::module_& m) {
  RegisterParent(m);
  nb::class_<NonFiniteRecord> type(m, "NonFinite",
                                   "Where the first NaN or Inf starts.\n\n"
                                   "    >>> first = trace.first_nonfinite()\n"
                                   "    >>> print(first)\n"
                                   "    >>> first.op, first.element, first.cause");
  type.def_prop_ro(
          "op", [](const NonFiniteRecord& self) { return Op(self.owner, self.report.first.op); },
          "The first op to end with a NaN or Inf.")
      .def_prop_ro("element", &ElementOf, "Coordinates of the first bad element of its output.")
      .def_prop_ro("value", &ElementValue, nb::sig("def value(self) -> float | complex"),
                   "That element.")
      .def_prop_ro(
          "cause", [](const NonFiniteRecord& self) { return self.report.cause; },
          "Why, in one sentence.")
      .def_prop_ro("parents", &ParentRecordsOf, "The op's inputs.")
      .def_prop_ro("chain", &ChainOf, "Later ops that the bad values reach, in order.")
      .def_prop_ro(
          "first_nan",
          [](const NonFiniteRecord& self) {
            return RecordOrNone<Op>(self.owner, self.report.first_nan);
          },
          "The first op with a NaN; None where there are only infinities.")
      .def_prop_ro("nan_cause",
                   [](const NonFiniteRecord& self) {
                     return self.report.nan_cause.empty() ? self.report.cause
                                                          : self.report.nan_cause;
                   })
      .def("__repr__", [](const NonFiniteRecord& self) { return FirstLine(NonFiniteText(self)); })
      .def("__str__", &NonFiniteText);
  DefCounts(type);
}

}  // namespace flowscope::python
