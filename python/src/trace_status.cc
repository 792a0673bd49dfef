// What a Trace says of its own standing: how much it kept, and whether it has been proved.
#include <functional>

#include <fmt/format.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "errors.h"
#include "records.h"
#include "replay/validate.h"
#include "trace_binding.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

constexpr const char* kReport = "_report";
constexpr const char* kCapsuleName = nullptr;  // TensorFlow gives its context's capsule none

// What Python knows of the user's context: settings, and where functions are.
replay::SandboxOptions SandboxOf(const nb::object& context) {
  replay::SandboxOptions options;
  if (context.is_none()) return options;
  const auto config = nb::cast<nb::bytes>(context[nb::int_(0)]);
  options.config.assign(config.c_str(), config.size());
  const nb::object capsule = context[nb::int_(1)];
  options.functions = static_cast<TFE_Context*>(PyCapsule_GetPointer(capsule.ptr(), kCapsuleName));
  if (options.functions == nullptr) throw nb::python_error();
  return options;
}

struct Call {
  replay::ValidateOptions options;
  nb::object progress;
  std::optional<nb::python_error> raised;  // by the progress callback

  bool Progress(size_t done, size_t total) {
    const nb::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!progress.is_none()) progress(done, total);
      return true;
    } catch (nb::python_error& error) {
      raised.emplace(std::move(error));
      return false;
    }
  }
};

replay::Report RunValidation(
    const TraceObject& object, const nb::object& context, bool perturb,
    const std::optional<std::map<std::string, std::vector<double>>>& bounds, nb::object progress) {
  Call call;
  call.progress = std::move(progress);
  call.options.perturb = perturb;
  call.options.sandbox = SandboxOf(context);
  call.options.progress = [&call](size_t done, size_t total) { return call.Progress(done, total); };
  if (bounds) {
    call.options.tolerance = [&bounds](DType dtype) -> std::optional<replay::Tolerance> {
      const auto found = bounds->find(std::string(DTypeName(dtype)));
      if (found == bounds->end()) return std::nullopt;
      return replay::Tolerance{found->second[0], found->second[1]};
    };
  }
  Result<replay::Report> report = [&] {
    const nb::gil_scoped_release released;
    return replay::Validate(*object.trace, call.options);
  }();
  if (call.raised) throw nb::python_error(std::move(*call.raised));
  return Unwrap(std::move(report));
}

std::string TextOf(const replay::Report& report) {
  return replay::FormatReport(replay::StateName(report.state), report.reason, report.coverage);
}

void RegisterFinding(nb::module_& m) {
  nb::class_<replay::Finding>(m, "ValidationFinding", "One thing that is wrong or not proved.")
      .def_ro("check", &replay::Finding::check, "The check that found it.")
      .def_prop_ro(
          "label",
          [](const replay::Finding& self) -> std::optional<std::string> {
            if (self.label.empty()) return std::nullopt;
            return self.label;
          },
          "Label of the op; None where it is about the whole trace.")
      .def_ro("message", &replay::Finding::message)
      .def("__str__", [](const replay::Finding& self) { return self.message; })
      .def("__repr__", [](const replay::Finding& self) {
        return fmt::format("ValidationFinding({}: {})", self.check, self.message);
      });
}

}  // namespace

void RegisterValidationReport(nb::module_& m) {
  RegisterFinding(m);
  using replay::Report;
  nb::class_<Report>(m, "ValidationReport",
                     "Whether running the record again gave the same values.\n\n"
                     "True where the state is passed.")
      .def_prop_ro(
          "state", [](const Report& self) { return std::string(replay::StateName(self.state)); },
          "passed, failed, unverified or unavailable.")
      .def_ro("reason", &Report::reason, "Why the state is what it is, in one sentence.")
      .def_ro("coverage", &Report::coverage, "Rows of the trace by kind of proof.")
      .def_ro("failures", &Report::failures, "What contradicts the record.")
      .def_ro("unverified", &Report::unverified, "What could not be proved, and why.")
      .def_ro("declared", &Report::declared,
              "Ops that ran and whose values are taken as they stand: look-ups in tables, draws of "
              "stateful kernels, elements of datasets.")
      .def_prop_ro(
          "first_difference",
          [](const Report& self) -> std::optional<std::string> {
            if (self.first_difference.empty()) return std::nullopt;
            return self.first_difference;
          },
          "The first op that is equal only within the tolerance, and how far; None where all bits "
          "are equal.")
      .def("__bool__", [](const Report& self) { return self.state == replay::State::kPassed; })
      .def("__str__", &TextOf)
      .def("__repr__", [](const Report& self) {
        return fmt::format("ValidationReport({}: {})", replay::StateName(self.state), self.reason);
      });
}

namespace {

int64_t NumKept(const TraceHandle& self) {
  int64_t kept = 0;
  for (const TensorRecord& tensor : self.trace().tables().tensors) {
    if (tensor.state != PayloadState::kKept || tensor.producer == kNoId) continue;
    if (self.trace().op(tensor.producer).run_counter != 0) ++kept;
  }
  return kept;
}

nb::object ReportOf(nb::handle self) {
  const nb::object known = nb::getattr(self, kReport, nb::none());
  return known.is_none() ? self.attr("validate")() : known;
}

}  // namespace

void DefTraceStatus(nb::class_<TraceHandle>& type) {
  type.def(
          "_validate",
          [](nb::handle self, nb::object context, bool perturb,
             const std::optional<std::map<std::string, std::vector<double>>>& bounds,
             nb::object progress) {
            nb::object report =
                nb::cast(RunValidation(*nb::cast<const TraceHandle&>(self).object, context, perturb,
                                       bounds, std::move(progress)));
            nb::setattr(self, kReport, report);
            return report;
          },
          nb::arg("context").none(), nb::arg("perturb"), nb::arg("bounds").none(),
          nb::arg("progress").none())
      .def(
          "validate",
          [](nb::handle self, bool perturb, nb::object tolerance, nb::object progress) {
            const nb::object run = nb::module_::import_("flowscope._validation").attr("run");
            return run(self, perturb, tolerance, progress);
          },
          nb::arg("perturb") = false, nb::arg("tolerance") = nb::none(),
          nb::arg("progress") = nb::none(),
          nb::sig("def validate(self, perturb: bool = False, tolerance: typing.Any = None, "
                  "progress: typing.Any = None) -> ValidationReport"),
          "Run every op again from the record and compare, and check what the record says "
          "twice.\n\n"
          "Runs in a TensorFlow context of its own: variables, seeds, datasets and kernels of the\n"
          "program stay as they are. perturb: move each input and see that the outputs move.\n"
          "tolerance: None compares bits where the trace comes from this TensorFlow, else within\n"
          "the bounds of docs/validation.md; a number is the relative difference that is allowed,\n"
          "a dict gives (relative, absolute) by dtype. progress: True shows a bar, or a callable\n"
          "that is given the ops done and all.\n\n"
          "    >>> trace.validate().state\n"
          "    'passed'")
      .def(
          "run",
          [](nb::handle self, nb::args args, nb::kwargs kwargs) {
            const nb::object run = nb::module_::import_("flowscope._rerun").attr("run");
            return run(self, *args, **kwargs);
          },
          nb::sig("def run(self, model: typing.Any, input_args: typing.Any = None, "
                  "input_kwargs: dict[str, typing.Any] | None = None, rng: str = 'recorded', "
                  "**options: typing.Any) -> Trace"),
          "Record the model again, with the draws of this trace in place of new ones.\n\n"
          "rng: 'recorded' exchanges what every random op gives, in compiled functions too; the\n"
          "ops run all the same, so generators stand afterwards where a plain run leaves them.\n"
          "'fresh' draws anew. Everything else is as in fs.trace.\n\n"
          "    >>> trace.run(model, x).num_ops == trace.num_ops\n"
          "    True")
      .def_prop_ro("validation_replay_status", &ReportOf,
                   nb::sig("def validation_replay_status(self) -> ValidationReport"),
                   "The report of the last validate(); validates on first use.")
      .def_prop_ro("num_kept", &NumKept, "Output tensors of executed ops whose value is kept.");
}

}  // namespace flowscope::python
