// Op: one execution.
#include <algorithm>

#include <fmt/format.h>

#include "analyze/cost.h"
#include "analyze/summary.h"
#include "errors.h"
#include "records.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

using SiteKey = std::tuple<std::string, std::string, std::string, uint32_t>;

std::string WhatOf(const Op& op, uint32_t index) {
  if (op.row().outputs.count < 2) return op.Label();
  return fmt::format("output {} of {}", index, op.Label());
}

std::string NoOutputText(const Op& op) {
  if (op.row().error != 0) {
    return fmt::format("{} gave nothing: it failed with: {}", op.Label(),
                       op.trace().str(op.row().error));
  }
  if (!op.trace().AccessesOfOp(op.id).empty()) {
    return fmt::format(
        "{} has no outputs: it acts on a variable. Its .variables has it, and the variable's "
        ".versions what was written",
        op.Label());
  }
  return fmt::format("{} has no outputs ({}): its inputs tell what it was given", op.Label(),
                     OpKindName(op.row().kind));
}

TensorId OutputTensor(const Op& op, uint32_t index) {
  if (op.row().outputs.count == 0) Check(Unavailable(NoOutputText(op)));
  return op.trace().output(op.id, index);
}

// kNoId where the op has no output.
TensorId FirstTensor(const Op& op) {
  return op.row().outputs.count == 0 ? kNoId : op.trace().output(op.id);
}

std::vector<Input> InputsOf(const Op& op) {
  std::vector<Input> inputs;
  for (uint32_t i = 0; i < op.row().inputs.count; ++i) inputs.emplace_back(op.owner, op.id, i);
  return inputs;
}

nb::dict LiteralsOf(const Op& op) {
  nb::dict literals;
  const auto edges = op.trace().inputs(op.id);
  for (size_t i = 0; i < edges.size(); ++i) {
    if (edges[i].edge_class != EdgeClass::kLiteral) continue;
    literals[nb::int_(i)] = ScalarOf(op.trace(), edges[i].tensor);
  }
  return literals;
}

std::optional<Module> ModuleOf(const Op& op) {
  const ModuleCallId call = op.row().module_call;
  if (call == kNoId) return std::nullopt;
  return Module(op.owner, op.trace().module_call(call).module);
}

std::optional<Module> GradientOf(const Op& op) {
  const std::vector<GradientRecord>& gradients = op.trace().tables().gradients;
  const auto found = std::ranges::lower_bound(gradients, op.id, {}, &GradientRecord::op);
  if (found == gradients.end() || found->op != op.id) return std::nullopt;
  return Module(op.owner, found->module);
}

std::vector<std::string> ModulesOf(const Op& op) {
  std::vector<std::string> labels;
  for (const ModuleCallId call : op.trace().ModuleStack(op.row().module_call)) {
    labels.push_back(op.trace().CallLabel(call));
  }
  std::reverse(labels.begin(), labels.end());
  return labels;
}

std::optional<uint32_t> IterationOf(const Op& op) {
  for (RegionId id = op.row().region; id != kNoId; id = op.trace().region(id).parent) {
    if (op.trace().region(id).kind == RegionKind::kIteration) return op.trace().region(id).index;
  }
  return std::nullopt;
}

std::vector<Variable> VariablesOf(const Op& op) {
  std::vector<uint32_t> ids;
  for (const AccessRecord& access : op.trace().AccessesOfOp(op.id)) ids.push_back(access.variable);
  RemoveRepeats(ids);
  return MakeRecords<Variable>(op.owner, ids);
}

std::vector<CodeLocation> CodeContextOf(const Op& op) {
  const Trace& trace = op.trace();
  if (op.row().location == kNoId) return {};
  const LocationRecord& at = trace.tables().locations[op.row().location];
  return {CodeLocation{std::string(trace.str(at.file)), at.line,
                       std::string(trace.str(at.function)), std::string(trace.str(at.text))}};
}

SiteKey SiteKeyOf(const Trace& trace, SiteId id) {
  const SiteRecord& site = trace.site(id);
  return {std::string(trace.str(site.region_path)), std::string(trace.str(site.module_address)),
          std::string(trace.str(site.type)), site.nth};
}

std::vector<Op> PossibleOriginsOf(const Op& op) {
  std::vector<uint32_t> ids;
  for (const OriginRecord& origin : op.trace().tables().origins) {
    if (origin.op != op.id || origin.possible_origin == kNoId) continue;
    const OpId producer = op.trace().tensor(origin.possible_origin).producer;
    if (producer != kNoId) ids.push_back(producer);
  }
  RemoveRepeats(ids);
  return MakeRecords<Op>(op.owner, ids);
}

int64_t BytesOf(const Op& op) {
  int64_t nbytes = 0;
  for (uint32_t i = 0; i < op.row().outputs.count; ++i) {
    nbytes += op.trace().tensor(op.trace().output(op.id, i)).nbytes;
  }
  return nbytes;
}

void DefNames(nb::class_<Op>& type) {
  type.def_prop_ro("label", &Op::Label, "Label with the pass: \"matmul_2_7:1\".")
      .def_prop_ro("layer_label", [](const Op& op) { return op.trace().LayerLabel(op.row().site); })
      .def_prop_ro("label_short", [](const Op& op) { return op.trace().OpLabelShort(op.id); })
      .def_prop_ro("type", [](const Op& op) { return std::string(op.trace().str(op.row().type)); })
      .def_prop_ro(
          "kind", [](const Op& op) { return std::string(OpKindName(op.row().kind)); },
          "compute, input, constant, literal_producer, variable_read, variable_write, random, "
          "iterator, from_python, call, backward, intervention or effect.")
      .def_prop_ro(
          "name", [](const Op& op) { return TextOrNone(op.trace(), op.row().name); },
          "Of sources: the argument's path or the constant's name.")
      .def_prop_ro(
          "site_key", [](const Op& op) { return SiteKeyOf(op.trace(), op.row().site); },
          "(region path, module address, op type, n): the same in every run of the same code.")
      .def_prop_ro("layer", [](const Op& op) { return Layer(op.owner, op.row().site); })
      .def_prop_ro("pass_index", [](const Op& op) { return op.row().pass; })
      .def_prop_ro("num_passes",
                   [](const Op& op) { return op.trace().OpsOfSite(op.row().site).size(); })
      .def_prop_ro(
          "index", [](const Op& op) { return op.id; },
          "Position in the trace: `trace[op.index] == op`.");
}

void DefValues(nb::class_<Op>& type) {
  type.def_prop_ro(
          "out", [](const Op& op) { return op.Output(0); },
          "The first output: a read-only NumPy view, no copy.")
      .def_prop_ro("outs", &Op::Outputs,
                   "All outputs; None for resource handles and variants, which have no value.")
      .def_prop_ro("num_outputs", [](const Op& op) { return op.row().outputs.count; })
      .def_prop_ro("shape", [](const Op& op) { return ShapeOf(op.trace(), FirstTensor(op)); })
      .def_prop_ro("dtype", [](const Op& op) { return DTypeOf(op.trace(), FirstTensor(op)); })
      .def_prop_ro(
          "stats",
          [](const Op& op) { return StatsOf(op.trace(), OutputTensor(op, 0), WhatOf(op, 0)); },
          nb::sig("def stats(self) -> dict[str, typing.Any]"),
          "Statistics of the first output, over its finite elements.")
      .def_prop_ro("nbytes", &BytesOf, "Bytes of all outputs.")
      .def_prop_ro("inputs", &InputsOf)
      .def_prop_ro("literals", &LiteralsOf, nb::sig("def literals(self) -> dict[int, typing.Any]"),
                   "Rank-zero values wrapped for this call, by input index.")
      .def_prop_ro(
          "attrs",
          [](const Op& op) { return AttrsToDict(op.trace().tables().attrs.View(op.row().attrs)); },
          nb::sig("def attrs(self) -> dict[str, typing.Any]"), "Attributes by name, decoded.");
}

void DefPlace(nb::class_<Op>& type) {
  type.def_prop_ro(
          "parents",
          [](const Op& op) { return MakeRecords<Op>(op.owner, op.trace().Parents(op.id)); },
          "Ops and sources that made the inputs, each once.")
      .def_prop_ro(
          "children",
          [](const Op& op) { return MakeRecords<Op>(op.owner, op.trace().Children(op.id)); },
          "Ops that took an output.")
      .def_prop_ro("module", &ModuleOf, "The innermost module; None outside every module.")
      .def_prop_ro("gradient_of", &GradientOf,
                   "Of an op of a backward pass inside a function: the module whose op it "
                   "differentiates; None elsewhere.")
      .def_prop_ro(
          "module_call",
          [](const Op& op) { return RecordOrNone<ModuleCall>(op.owner, op.row().module_call); })
      .def_prop_ro("modules", &ModulesOf, "Labels of the open module calls, from the outermost in.")
      .def_prop_ro("region", [](const Op& op) { return Region(op.owner, op.row().region); })
      .def_prop_ro("iteration", &IterationOf, "Number of the innermost loop iteration, from 0.")
      .def_prop_ro("variables", &VariablesOf, "Variables that the op read or wrote.")
      .def_prop_ro("code_context", &CodeContextOf,
                   "The user's line, as a list of one; empty where it was not recorded.")
      .def_prop_ro("possible_origins", &PossibleOriginsOf,
                   "Of from_python: ops whose value, read into Python before, was equal.");
}

void DefRun(nb::class_<Op>& type) {
  type.def_prop_ro("device",
                   [](const Op& op) { return std::string(op.trace().str(op.row().device)); })
      .def_prop_ro(
          "duration", [](const Op& op) { return Seconds(op.row().duration_ns); }, "Seconds.")
      .def_prop_ro(
          "start", [](const Op& op) { return Seconds(op.row().start_ns); },
          "Seconds since the recording began.")
      .def_prop_ro("thread", [](const Op& op) { return op.row().thread; })
      .def_prop_ro(
          "run_counter", [](const Op& op) { return op.row().run_counter; },
          "1, 2, 3 ... over executed ops; 0 for sources.")
      .def_prop_ro("opaque", [](const Op& op) { return op.row().opaque_reason != 0; })
      .def_prop_ro(
          "opaque_reason",
          [](const Op& op) { return TextOrNone(op.trace(), op.row().opaque_reason); },
          "Why what ran inside is not recorded.")
      .def_prop_ro("error", [](const Op& op) { return TextOrNone(op.trace(), op.row().error); })
      .def_prop_ro(
          "flops", [](const Op& op) { return OpFlops(op.trace(), op.id); },
          "Floating point operations by formula; None where there is no formula.");
}

}  // namespace

NumpyArray Op::Output(uint32_t index) const {
  return ValueOf(trace(), OutputTensor(*this, index), WhatOf(*this, index));
}

std::vector<std::optional<NumpyArray>> Op::Outputs() const {
  std::vector<std::optional<NumpyArray>> outputs;
  for (uint32_t i = 0; i < row().outputs.count; ++i) {
    const bool is_handle = trace().tensor(trace().output(id, i)).state == PayloadState::kNoValue;
    outputs.push_back(is_handle ? std::nullopt : std::optional(Output(i)));
  }
  return outputs;
}

void RegisterOp(nb::module_& m) {
  nb::class_<Op> type(m, "Op",
                      "One execution of one op.\n\n"
                      "    >>> op = trace[\"relu_1\"]\n"
                      "    >>> print(op)            # glance of the value, parents, module, line\n"
                      "    >>> op.out.max(), op.parents, op.module.address");
  DefIdentity(type, [](const Op& op) { return DescribeOp(op.trace(), op.id); });
  DefNames(type);
  DefValues(type);
  DefPlace(type);
  DefRun(type);
}

}  // namespace flowscope::python
