// What a Trace says of its own standing: how much it kept, and whether it has been proved.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "trace_binding.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

struct ValidationReport {
  std::string state;
  std::string reason;
  std::map<std::string, int64_t> coverage;
  std::vector<std::string> failures;
  std::vector<std::string> unverified;
};

ValidationReport NotBuilt() {
  return {"unavailable",
          "this version records and cannot replay yet: no op of the trace has been proved",
          {},
          {},
          {}};
}

int64_t NumKept(const TraceHandle& self) {
  int64_t kept = 0;
  for (const TensorRecord& tensor : self.trace().tables().tensors) {
    if (tensor.state != PayloadState::kKept || tensor.producer == kNoId) continue;
    if (self.trace().op(tensor.producer).run_counter != 0) ++kept;
  }
  return kept;
}

}  // namespace

void RegisterValidationReport(nb::module_& m) {
  nb::class_<ValidationReport>(m, "ValidationReport",
                               "Whether replaying the record gave the same values.")
      .def_ro("state", &ValidationReport::state, "passed, failed, unverified or unavailable.")
      .def_ro("reason", &ValidationReport::reason)
      .def_ro("coverage", &ValidationReport::coverage, "Ops by kind of proof.")
      .def_ro("failures", &ValidationReport::failures)
      .def_ro("unverified", &ValidationReport::unverified)
      .def("__bool__", [](const ValidationReport& self) { return self.state == "passed"; })
      .def("__repr__", [](const ValidationReport& self) {
        return "ValidationReport(" + self.state + ": " + self.reason + ")";
      });
}

void DefTraceStatus(nb::class_<TraceHandle>& type) {
  type.def_prop_ro(
          "validation_replay_status", [](const TraceHandle&) { return NotBuilt(); },
          "The trace's proof by replay, as a ValidationReport.")
      .def_prop_ro("num_kept", &NumKept, "Output tensors of executed ops whose value is kept.");
}

}  // namespace flowscope::python
