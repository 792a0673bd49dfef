// ModuleCall: one call of one module.
#include <fmt/format.h>

#include "analyze/summary.h"
#include "errors.h"
#include "records.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

std::span<const NamedTensor> Named(const ModuleCall& call, Span span) {
  return std::span(call.trace().tables().named_tensors).subspan(span.first, span.count);
}

std::vector<std::string> PathsOf(const ModuleCall& call, Span span) {
  std::vector<std::string> paths;
  for (const NamedTensor& named : Named(call, span)) {
    paths.emplace_back(call.trace().str(named.path));
  }
  return paths;
}

// Ops and sources that made the tensors, each once.
std::vector<Op> ProducersOf(const ModuleCall& call, Span span) {
  std::vector<uint32_t> ids;
  for (const NamedTensor& named : Named(call, span)) {
    if (named.tensor == kNoId) continue;
    const OpId producer = call.trace().tensor(named.tensor).producer;
    if (producer != kNoId) ids.push_back(producer);
  }
  RemoveRepeats(ids);
  return MakeRecords<Op>(call.owner, ids);
}

std::optional<bool> TrainingOf(const ModuleCall& call) {
  const std::string_view text = call.trace().str(call.row().training);
  if (text == "True") return true;
  if (text == "False") return false;
  return std::nullopt;
}

std::string NoOutputText(const ModuleCall& call) {
  return fmt::format("module call {} {}", call.Label(),
                     call.row().failed ? "failed before it gave anything back: trace.error has the "
                                         "model's error"
                                       : "gave back no tensors");
}

void DefCall(nb::class_<ModuleCall>& type) {
  type.def_prop_ro("call_label", &ModuleCall::Label, "\"encoder.attention:2\".")
      .def_prop_ro("call_index", [](const ModuleCall& call) { return call.row().call_index; })
      .def_prop_ro("module",
                   [](const ModuleCall& call) { return Module(call.owner, call.row().module); })
      .def_prop_ro(
          "parent",
          [](const ModuleCall& call) {
            return RecordOrNone<ModuleCall>(call.owner, call.row().parent);
          },
          "The call inside which this one ran.")
      .def_prop_ro("region",
                   [](const ModuleCall& call) { return Region(call.owner, call.row().region); })
      .def_prop_ro(
          "kwargs",
          [](const ModuleCall& call) { return std::string(call.trace().str(call.row().kwargs)); },
          "The arguments that are not tensors, as text.")
      .def_prop_ro("training", &TrainingOf,
                   "The flag that the call really got; None where it got None or has no such "
                   "argument (`training_text` tells which).")
      .def_prop_ro(
          "training_text",
          [](const ModuleCall& call) { return std::string(call.trace().str(call.row().training)); })
      .def_prop_ro(
          "method",
          [](const ModuleCall& call) { return std::string(call.trace().str(call.row().method)); },
          "\"__call__\", or \"call\" where only that ran.")
      .def_prop_ro(
          "duration", [](const ModuleCall& call) { return Seconds(call.row().duration_ns); },
          "Seconds.")
      .def_prop_ro(
          "start", [](const ModuleCall& call) { return Seconds(call.row().start_ns); },
          "Seconds since the recording began.")
      .def_prop_ro("failed", [](const ModuleCall& call) { return call.row().failed; });
}

void DefTensors(nb::class_<ModuleCall>& type) {
  type.def_prop_ro("inputs", &ModuleCall::Inputs, "Values of the tensors that the call got.")
      .def_prop_ro(
          "input_paths", [](const ModuleCall& call) { return PathsOf(call, call.row().inputs); },
          "Where in the arguments each input stands: \"args[0]\", \"args[1]['mask']\".")
      .def_prop_ro("input_ops",
                   [](const ModuleCall& call) { return ProducersOf(call, call.row().inputs); })
      .def_prop_ro("outputs", &ModuleCall::Outputs, "Values of the tensors that it gave back.")
      .def_prop_ro("outs", &ModuleCall::Outputs, "The same as `outputs`.")
      .def_prop_ro("output_paths",
                   [](const ModuleCall& call) { return PathsOf(call, call.row().outputs); })
      .def_prop_ro("output_ops",
                   [](const ModuleCall& call) { return ProducersOf(call, call.row().outputs); })
      .def_prop_ro("out", &ModuleCall::Output, "The first output.")
      .def_prop_ro(
          "ops", [](const ModuleCall& call) { return MakeRecords<Op>(call.owner, call.Ops()); },
          "Ops that ran inside, those of modules called inside included.");
}

}  // namespace

std::vector<NumpyArray> ModuleCall::Inputs() const {
  return ValuesOf(trace(), Named(*this, row().inputs), fmt::format("input of {}", Label()));
}

std::vector<NumpyArray> ModuleCall::Outputs() const {
  return ValuesOf(trace(), Named(*this, row().outputs), fmt::format("output of {}", Label()));
}

NumpyArray ModuleCall::Output() const {
  const auto outputs = Named(*this, row().outputs);
  if (outputs.empty()) Check(Unavailable(NoOutputText(*this)));
  return ValueOf(trace(), outputs.front().tensor, fmt::format("the output of {}", Label()));
}

std::vector<OpId> ModuleCall::Ops() const {
  std::vector<OpId> ops;
  for (OpId op = row().first_op; op < row().end_op; ++op) {
    if (trace().InModuleCall(op, id)) ops.push_back(op);
  }
  return ops;
}

void RegisterModuleCall(nb::module_& m) {
  nb::class_<ModuleCall> type(m, "ModuleCall",
                              "One call of a module.\n\n"
                              "    >>> call = trace[\"dense:2\"]\n"
                              "    >>> call.inputs[0].shape, call.out, call.training");
  DefIdentity(type,
              [](const ModuleCall& call) { return DescribeModuleCall(call.trace(), call.id); });
  DefCall(type);
  DefTensors(type);
}

}  // namespace flowscope::python
