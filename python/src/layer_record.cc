// Layer: one site of the code, with every time that it ran.
#include <fmt/format.h>

#include "analyze/summary.h"
#include "errors.h"
#include "records.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

std::string Label(const Layer& layer) { return layer.trace().LayerLabel(layer.id); }

std::string PassesText(const Layer& layer) {
  const std::string label = Label(layer);
  return fmt::format("\"{}:1\" .. \"{}:{}\"", label, label, layer.ops().size());
}

Op FirstOp(const Layer& layer) { return {layer.owner, layer.ops().front()}; }

NumpyArray OutOf(const Layer& layer) {
  if (layer.ops().size() > 1) {
    Check(Ambiguous(fmt::format("layer {} ran {} times: ask trace[...] for {}, or .outs for all",
                                Label(layer), layer.ops().size(), PassesText(layer))));
  }
  return FirstOp(layer).Output(0);
}

std::vector<NumpyArray> PassOutsOf(const Layer& layer) {
  std::vector<NumpyArray> outs;
  for (const OpId op : layer.ops()) outs.push_back(Op(layer.owner, op).Output(0));
  return outs;
}

template <typename Neighbours>
std::vector<Op> OverPasses(const Layer& layer, Neighbours neighbours) {
  std::vector<uint32_t> ids;
  for (const OpId op : layer.ops()) {
    for (const OpId id : neighbours(op)) ids.push_back(id);
  }
  RemoveRepeats(ids);
  return MakeRecords<Op>(layer.owner, ids);
}

std::vector<Op> ParentsOf(const Layer& layer) {
  return OverPasses(layer, [&](OpId op) { return layer.trace().Parents(op); });
}

std::vector<Op> ChildrenOf(const Layer& layer) {
  return OverPasses(layer, [&](OpId op) { return layer.trace().Children(op); });
}

TensorId FirstTensor(const Layer& layer) {
  const Op op = FirstOp(layer);
  return op.row().outputs.count == 0 ? kNoId : op.trace().output(op.id);
}

std::optional<Module> ModuleOf(const Layer& layer) {
  const ModuleCallId call = FirstOp(layer).row().module_call;
  if (call == kNoId) return std::nullopt;
  return Module(layer.owner, layer.trace().module_call(call).module);
}

// A layer that ran once answers like its op.
nb::object AttributeOfOp(const Layer& layer, const std::string& name) {
  const nb::object op = nb::cast(FirstOp(layer));
  const bool known = !name.starts_with('_') && nb::hasattr(op.type(), name.c_str());
  if (known && layer.ops().size() == 1) return op.attr(name.c_str());
  const std::string text =
      known
          ? fmt::format("layer {} ran {} times, and {} belongs to one pass: ask trace[...] for {}",
                        Label(layer), layer.ops().size(), name, PassesText(layer))
          : fmt::format("'Layer' object has no attribute '{}'", name);
  throw nb::attribute_error(text.c_str());
}

}  // namespace

void RegisterLayer(nb::module_& m) {
  nb::class_<Layer> type(m, "Layer",
                         "One place in the code, with all its passes.\n\n"
                         "    >>> layer = trace.layers[\"matmul_1\"]\n"
                         "    >>> layer.num_passes, [op.out for op in layer.ops]\n\n"
                         "A layer with one pass has its op's attributes too.");
  DefIdentity(type, [](const Layer& layer) { return DescribeLayer(layer.trace(), layer.id); });
  type.def_prop_ro("label", &Label)
      .def_prop_ro("label_short",
                   [](const Layer& layer) { return layer.trace().LayerLabelShort(layer.id); })
      .def_prop_ro("type",
                   [](const Layer& layer) {
                     return std::string(layer.trace().str(layer.trace().site(layer.id).type));
                   })
      .def_prop_ro("ops",
                   [](const Layer& layer) { return MakeRecords<Op>(layer.owner, layer.ops()); })
      .def_prop_ro("num_passes", [](const Layer& layer) { return layer.ops().size(); })
      .def_prop_ro("module", &ModuleOf, "The innermost module; None outside every module.")
      .def_prop_ro(
          "module_address",
          [](const Layer& layer) {
            const SiteRecord& site = layer.trace().site(layer.id);
            return std::string(layer.trace().str(site.module_address));
          },
          "Address of that module; \"self\" outside every module.")
      .def_prop_ro("out", &OutOf, "The value, where the layer ran once.")
      .def_prop_ro("outs", &PassOutsOf, "The value of each pass.")
      .def_prop_ro(
          "shape", [](const Layer& layer) { return ShapeOf(layer.trace(), FirstTensor(layer)); },
          "Of the first pass.")
      .def_prop_ro(
          "dtype", [](const Layer& layer) { return DTypeOf(layer.trace(), FirstTensor(layer)); },
          "Of the first pass.")
      .def_prop_ro("parents", &ParentsOf, "Over all passes, each op once.")
      .def_prop_ro("children", &ChildrenOf, "Over all passes, each op once.")
      .def("__getattr__", &AttributeOfOp,
           nb::sig("def __getattr__(self, name: str) -> typing.Any"));
}

}  // namespace flowscope::python
