// Input: what one op took at one position; CodeLocation: a line of the user's code.
#include <fmt/format.h>

#include "analyze/text.h"
#include "records.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

std::string WhatOf(const Input& input) {
  return fmt::format("input {} of {}", input.index, input.trace().OpLabel(input.id));
}

NumpyArray ValueOfInput(const Input& input) {
  return ValueOf(input.trace(), input.edge().tensor, WhatOf(input));
}

std::optional<Op> ProducerOf(const Input& input) {
  const TensorId tensor = input.edge().tensor;
  if (tensor == kNoId) return std::nullopt;
  return RecordOrNone<Op>(input.owner, input.trace().tensor(tensor).producer);
}

// Accesses tell the op's variables in the order of its handles.
std::optional<Variable> VariableOf(const Input& input) {
  if (input.edge().edge_class != EdgeClass::kVariable) return std::nullopt;
  std::vector<uint32_t> variables;
  for (const AccessRecord& access : input.trace().AccessesOfOp(input.id)) {
    variables.push_back(access.variable);
  }
  RemoveRepeats(variables);
  size_t handles = 0;
  size_t before = 0;
  const auto edges = input.trace().inputs(input.id);
  for (uint32_t i = 0; i < edges.size(); ++i) {
    if (edges[i].edge_class != EdgeClass::kVariable) continue;
    ++handles;
    if (i < input.index) ++before;
  }
  if (variables.size() == 1) return Variable(input.owner, variables.front());
  if (variables.size() != handles) return std::nullopt;
  return Variable(input.owner, variables[before]);
}

std::optional<uint32_t> OutputIndexOf(const Input& input) {
  if (!ProducerOf(input)) return std::nullopt;
  return input.trace().tensor(input.edge().tensor).output_index;
}

// NumPy's protocol: copy=False asks for the memory itself.
nb::object ToArray(const Input& input, nb::object dtype, nb::object copy) {
  const NumpyArray value = ValueOfInput(input);
  const bool converts = !dtype.is_none() && !value.attr("dtype").equal(dtype);
  if (!converts) return nb::bool_(copy) ? value.attr("copy")() : nb::object(value);
  if (!copy.is_none() && !nb::cast<bool>(nb::bool_(copy))) {
    throw nb::value_error("another dtype needs a copy, and copy=False forbids one");
  }
  return value.attr("astype")(dtype);
}

std::string DescribeInput(const Input& input) {
  const EdgeRecord& edge = input.edge();
  const std::string_view edge_class = EdgeClassName(edge.edge_class);
  if (edge.tensor == kNoId) return fmt::format("{} [{}]", WhatOf(input), edge_class);
  if (const auto variable = VariableOf(input)) {
    return fmt::format("{} [{}] {}", WhatOf(input), edge_class, variable->Address());
  }
  return fmt::format("{} [{}] {} {}", WhatOf(input), edge_class,
                     ProducerText(input.trace(), edge.tensor),
                     TensorText(input.trace(), edge.tensor));
}

std::string DescribeLocation(const CodeLocation& location) {
  return fmt::format("{}:{} in {}{}{}", location.file, location.line_number, location.func_name,
                     location.code.empty() ? "" : ": ", location.code);
}

void RegisterCodeLocation(nb::module_& m) {
  nb::class_<CodeLocation>(
      m, "CodeLocation",
      "The line of the user's code that asked for an op.\n\n"
      "    >>> at = op.code_context[0]\n    >>> print(at.file, at.line_number, at.code)")
      .def_ro("file", &CodeLocation::file)
      .def_ro("line_number", &CodeLocation::line_number)
      .def_ro("func_name", &CodeLocation::func_name)
      .def_ro("code", &CodeLocation::code, "The text of the line; empty where it is not known.")
      .def(
          "__eq__", [](const CodeLocation& a, const CodeLocation& b) { return a == b; },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const CodeLocation& at) {
             return static_cast<Py_ssize_t>(std::hash<std::string>()(at.file) + at.line_number);
           })
      .def("__repr__", &DescribeLocation);
}

}  // namespace

void RegisterInput(nb::module_& m) {
  RegisterCodeLocation(m);
  nb::class_<Input> type(m, "Input",
                         "What an op took at one position.\n\n"
                         "    >>> first = trace[\"matmul_1\"].inputs[0]\n"
                         "    >>> first.edge_class, first.op, first.value");
  DefIdentity(type, &DescribeInput);
  type.def_prop_ro("value", &ValueOfInput, "The value, read-only and without a copy.")
      .def_prop_ro(
          "edge_class",
          [](const Input& input) { return std::string(EdgeClassName(input.edge().edge_class)); },
          "Where the value comes from: op, input, constant, literal, from_python, variable, "
          "resource or unexplained.")
      .def_prop_ro("op", &ProducerOf,
                   "The op or source that made it; None for literals and handles.")
      .def_prop_ro("variable", &VariableOf, "The variable that a handle names; None for others.")
      .def_ro("index", &Input::index, "Position among the op's inputs.")
      .def_prop_ro("output_index", &OutputIndexOf, "Which output of `op` it is.")
      .def_prop_ro("shape",
                   [](const Input& input) { return ShapeOf(input.trace(), input.edge().tensor); })
      .def_prop_ro("dtype",
                   [](const Input& input) { return DTypeOf(input.trace(), input.edge().tensor); })
      .def_prop_ro(
          "handle", [](const Input& input) { return input.edge().handle; },
          "Identity of the handle that TensorFlow passed, for telling two values apart.")
      .def("__array__", &ToArray, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none());
}

}  // namespace flowscope::python
