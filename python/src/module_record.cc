// Module: a Keras layer or operation, or a tf.Module.
#include <algorithm>

#include <fmt/format.h>

#include "analyze/summary.h"
#include "errors.h"
#include "records.h"
#include "trace/lookup_hints.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

// The module's one call; the error otherwise names all of them.
ModuleCall OnlyCall(const Module& module, std::string_view attribute) {
  const auto calls = module.calls();
  const std::string address = module.Address();
  if (calls.empty()) {
    const std::string hint = NotRunHint(module.trace(), module.id);
    Check(Unavailable(fmt::format("module {} did not run in this recording, so it has no .{}; {}",
                                  address, attribute,
                                  hint.empty() ? "trace.module_calls lists what ran" : hint)));
  }
  if (calls.size() > 1) {
    Check(Ambiguous(fmt::format(
        "module {} ran {} times: ask trace[...].{} for \"{}:1\" .. \"{}:{}\", or .calls for all",
        address, calls.size(), attribute, address, address, calls.size())));
  }
  return {module.owner, calls.front()};
}

std::vector<NumpyArray> CallOutsOf(const Module& module) {
  std::vector<NumpyArray> outs;
  for (const ModuleCallId call : module.calls()) {
    outs.push_back(ModuleCall(module.owner, call).Output());
  }
  return outs;
}

// Of the first call.
OptionalShape OutShapeOf(const Module& module) {
  if (module.calls().empty()) OnlyCall(module, "out_shape");
  const Span outputs = module.trace().module_call(module.calls().front()).outputs;
  if (outputs.count == 0) return std::nullopt;
  return ShapeOf(module.trace(), module.trace().tables().named_tensors[outputs.first].tensor);
}

std::vector<OpId> OpsOf(const Module& module) {
  std::vector<OpId> ops;
  for (const ModuleCallId call : module.calls()) {
    const std::vector<OpId> inside = ModuleCall(module.owner, call).Ops();
    ops.insert(ops.end(), inside.begin(), inside.end());
  }
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return ops;
}

std::vector<ModuleId> ChildrenOf(const Module& module) {
  std::vector<ModuleId> children;
  const auto& modules = module.trace().tables().modules;
  for (ModuleId id = 0; id < modules.size(); ++id) {
    if (modules[id].parent == module.id) children.push_back(id);
  }
  return children;
}

bool IsInside(const Trace& trace, ModuleId id, ModuleId ancestor) {
  for (; id != kNoId; id = trace.module(id).parent) {
    if (id == ancestor) return true;
  }
  return false;
}

// Those of its list, which may be shared with other modules, and those that name it as their owner.
std::vector<VariableId> OwnVariables(const Module& module) {
  const TraceTables& tables = module.trace().tables();
  const Span span = module.row().variables;
  const auto first = tables.variable_lists.begin() + span.first;
  std::vector<VariableId> variables(first, first + span.count);
  for (VariableId id = 0; id < tables.variables.size(); ++id) {
    if (tables.variables[id].module == module.id) variables.push_back(id);
  }
  RemoveRepeats(variables);
  return variables;
}

std::vector<VariableId> AllVariables(const Module& module) {
  std::vector<VariableId> variables = OwnVariables(module);
  for (ModuleId id = 0; id < module.trace().tables().modules.size(); ++id) {
    if (id == module.id || !IsInside(module.trace(), id, module.id)) continue;
    for (const VariableId variable : OwnVariables({module.owner, id})) {
      variables.push_back(variable);
    }
  }
  RemoveRepeats(variables);
  return variables;
}

nb::dict ConfigOf(const Module& module) {
  std::string text(module.trace().str(module.row().config));
  if (text.empty() && module.owner->config_source.is_valid()) {
    text = nb::cast<std::string>(module.owner->config_source(module.id));
  }
  if (text.empty()) return {};
  return nb::cast<nb::dict>(nb::module_::import_("json").attr("loads")(text));
}

void DefNames(nb::class_<Module>& type) {
  type.def_prop_ro("address", &Module::Address, "Attribute path from the root: \"encoder.norm\".")
      .def_prop_ro(
          "addresses",
          [](const Module& module) { return StringsOf(module.trace(), module.row().addresses); },
          "Every address by which it can be reached, the chosen one first.")
      .def_prop_ro("class_name",
                   [](const Module& module) {
                     return std::string(module.trace().str(module.row().class_name));
                   })
      .def_prop_ro(
          "name",
          [](const Module& module) { return std::string(module.trace().str(module.row().name)); },
          "The object's own name.")
      .def_prop_ro("config", &ConfigOf, nb::sig("def config(self) -> dict[str, typing.Any]"),
                   "Its configuration; empty where it gives none.")
      .def_prop_ro(
          "children",
          [](const Module& module) {
            return MakeRecords<Module>(module.owner, ChildrenOf(module));
          },
          "Modules that it holds directly.")
      .def_prop_ro("parent",
                   [](const Module& module) {
                     return RecordOrNone<Module>(module.owner, module.row().parent);
                   })
      .def_prop_ro(
          "variables",
          [](const Module& module) {
            return MakeRecords<Variable>(module.owner, AllVariables(module));
          },
          "Its variables and those of the modules inside, its own first.")
      .def_prop_ro(
          "own_variables",
          [](const Module& module) {
            return MakeRecords<Variable>(module.owner, OwnVariables(module));
          },
          "Without those of the modules inside.")
      .def_prop_ro("num_params", [](const Module& module) { return module.row().num_params; })
      .def_prop_ro("num_trainable_params",
                   [](const Module& module) { return module.row().num_trainable_params; });
}

void DefCalls(nb::class_<Module>& type) {
  type.def_prop_ro("calls",
                   [](const Module& module) {
                     return MakeRecords<ModuleCall>(module.owner, module.calls());
                   })
      .def_prop_ro("num_calls", [](const Module& module) { return module.calls().size(); })
      .def_prop_ro(
          "out", [](const Module& module) { return OnlyCall(module, "out").Output(); },
          "The first output of its one call.")
      .def_prop_ro("outs", &CallOutsOf, "The first output of each call.")
      .def_prop_ro("out_shape", &OutShapeOf, "Shape of the first call's first output.")
      .def_prop_ro(
          "inputs", [](const Module& module) { return OnlyCall(module, "inputs").Inputs(); },
          "Values that its one call got.")
      .def_prop_ro(
          "outputs", [](const Module& module) { return OnlyCall(module, "outputs").Outputs(); },
          "Values that its one call gave back.")
      .def_prop_ro(
          "ops", [](const Module& module) { return MakeRecords<Op>(module.owner, OpsOf(module)); },
          "Ops of all calls, those of modules called inside included.")
      .def_prop_ro(
          "layers", [](const Module& module) { return LayersOf(module.owner, OpsOf(module)); },
          "The layers of `ops`, each once.");
}

}  // namespace

void RegisterModule(nb::module_& m) {
  nb::class_<Module> type(m, "Module",
                          "A Keras layer or operation, or a tf.Module.\n\n"
                          "    >>> module = trace[\"encoder.blocks.3\"]\n"
                          "    >>> module.class_name, module.num_params, module.out.shape\n\n"
                          "A module that ran several times has no single `out`: ask its calls.");
  DefIdentity(type, [](const Module& module) { return DescribeModule(module.trace(), module.id); });
  DefNames(type);
  DefCalls(type);
}

}  // namespace flowscope::python
