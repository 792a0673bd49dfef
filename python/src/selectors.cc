#include "selectors.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "errors.h"
#include "live_op.h"
#include "records.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

using Combine = SelectorPtr (*)(SelectorPtr, SelectorPtr);

SelectorObject Combined(Combine combine, SelectorObject a, const SelectorObject& b) {
  a.selector = combine(a.selector, b.selector);
  a.functions.insert(a.functions.end(), b.functions.begin(), b.functions.end());
  return a;
}

// The same with another selector around it.
SelectorObject Around(SelectorPtr (*make)(SelectorPtr), SelectorObject inner) {
  inner.selector = make(inner.selector);
  return inner;
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  for (const nb::object& function : nb::inst_ptr<SelectorObject>(self)->functions) {
    Py_VISIT(function.ptr());
  }
  return 0;
}

int Clear(PyObject* self) {
  auto* object = nb::inst_ptr<SelectorObject>(self);
  object->selector = SelectNone();  // the old one borrows what goes now
  std::vector<nb::object>().swap(object->functions);
  return 0;
}

PyType_Slot kCollectedSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
                                 {Py_tp_clear, reinterpret_cast<void*>(Clear)},
                                 {0, nullptr}};

// What Python code wrote for an attribute's value, as FormatAttr writes it.
std::string AttrText(nb::handle value) {
  PyObject* p = value.ptr();
  if (PyUnicode_Check(p)) return nb::cast<std::string>(value);
  if (PyBytes_Check(p)) return nb::cast<std::string>(value.attr("decode")("utf-8", "replace"));
  if (PyBool_Check(p)) return p == Py_True ? "true" : "false";
  if (p == Py_None) return "?";
  if (IsCollection(value)) {
    std::vector<std::string> items;
    for (const nb::handle item : value) items.push_back(AttrText(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  if (nb::hasattr(value, "name") && !PyType_Check(p)) return AttrText(value.attr("name"));
  return nb::cast<std::string>(nb::str(value));
}

std::vector<uint32_t> PassNumbers(const nb::args& numbers) {
  std::vector<uint32_t> passes;
  for (const nb::handle number : numbers) {
    if (IsCollection(number) || PyRange_Check(number.ptr())) {
      for (const nb::handle item : number) passes.push_back(SmallNumber(item, 1, "pass"));
    } else {
      passes.push_back(SmallNumber(number, 1, "pass"));
    }
  }
  if (passes.empty()) Check(InvalidArgument("passes() needs at least one number, counted from 1"));
  return passes;
}

SelectorObject MakeOutput(const std::optional<std::string>& address) {
  return Wrap(address ? SelectModuleOutput(*address) : SelectOutput());
}

SelectorObject MakeWhere(nb::callable predicate, const std::optional<std::string>& name_hint) {
  std::string name = name_hint ? *name_hint : NameOfCallable(predicate);
  return SelectWherePython(std::move(predicate), name);
}

bool NoTruthValue(const SelectorObject&) {
  throw nb::type_error(
      "a selector is neither true nor false: combine selectors with & | ~ - instead of and, or, "
      "not");
}

void RegisterSelectorClass(nb::module_& m) {
  nb::class_<SelectorObject> type(
      m, "Selector", nb::type_slots(kCollectedSlots),
      "Says which ops are meant; made by the functions of flowscope.sites.\n\n"
      "    >>> scores = fs.func(\"softmax\") & fs.in_module(\"encoder.*\")\n"
      "    >>> trace = fs.trace(model, x, save=scores)\n"
      "    >>> trace.find_sites(scores)");
  const auto def = [&type](const char* name, const char* reflected, Combine combine) {
    const auto forward = [combine](const SelectorObject& a, nb::handle b) {
      return Combined(combine, a, ToSelectorObject(b));
    };
    const auto backward = [combine](const SelectorObject& a, nb::handle b) {
      return Combined(combine, ToSelectorObject(b), a);
    };
    type.def(name, forward, nb::arg("other").none());
    type.def(reflected, backward, nb::arg("other").none());
  };
  def("__and__", "__rand__", &And);
  def("__or__", "__ror__", &Or);
  def("__sub__", "__rsub__", &Minus);
  type.def("__invert__", [](const SelectorObject& a) { return Around(&Not, a); })
      .def("__bool__", &NoTruthValue)
      .def("__repr__", [](const SelectorObject& a) { return a.selector->ToString(); })
      .def_prop_ro(
          "answers_live", [](const SelectorObject& a) { return a.selector->AnswersLive(); },
          "False for what can only be told of a finished trace.");
}

void RegisterByName(nb::module_& m) {
  m.def("select_all", [] { return Wrap(SelectAll()); }, "Every op.");
  m.def(
      "label", [](std::string text) { return Wrap(SelectLabel(std::move(text))); }, nb::arg("text"),
      "The op or layer with that label: \"matmul_2_7:1\", \"matmul_2\".");
  m.def(
      "func", [](std::string type) { return Wrap(SelectFunc(std::move(type))); }, nb::arg("type"),
      "Ops of a type, case ignored; globs: \"conv*\".");
  m.def(
      "module", [](std::string address) { return Wrap(SelectModule(std::move(address))); },
      nb::arg("address"), "Ops whose innermost module it is; globs, \"address:call\".");
  m.def(
      "in_module", [](std::string address) { return Wrap(SelectInModule(std::move(address))); },
      nb::arg("address"), "Ops in a module or in one inside it; globs, \"address:call\".");
  m.def(
      "contains", [](std::string text) { return Wrap(SelectContains(std::move(text))); },
      nb::arg("text"), "Ops with the text in their label or module address.");
  m.def(
      "regex", [](std::string pattern) { return Wrap(Unwrap(SelectRegex(std::move(pattern)))); },
      nb::arg("pattern"), "Ops whose label or module address has a match.");
  m.def(
      "text", [](const std::string& text) { return Wrap(SelectorFromText(text)); }, nb::arg("text"),
      "What a plain string means: a module's output or a label; globs.");
}

void RegisterByRole(nb::module_& m) {
  m.def("where", &MakeWhere, nb::arg("predicate"), nb::arg("name_hint") = nb::none(),
        "Ops for which a function of a LiveOp says true.");
  m.def("output", &MakeOutput, nb::arg("address") = nb::none(),
        "Ops that made an output of the recorded call, or of the module at an address.");
  m.def(
      "module_output",
      [](std::string address) { return Wrap(SelectModuleOutput(std::move(address))); },
      nb::arg("address"), "Ops that made an output of a module.");
  m.def(
      "followed_by",
      [](nb::handle next) { return Around(&SelectFollowedBy, ToSelectorObject(next)); },
      nb::arg("next").none(), "Ops with a child that matches.");
  m.def(
      "preceded_by",
      [](nb::handle previous) { return Around(&SelectPrecededBy, ToSelectorObject(previous)); },
      nb::arg("previous").none(), "Ops with a parent that matches.");
  m.def(
      "iteration",
      [](nb::handle index) { return Wrap(SelectIteration(SmallNumber(index, 0, "iteration"))); },
      nb::arg("index"), nb::sig("def iteration(index: int) -> Selector"),
      "Ops of one iteration of their innermost loop, counted from 0.");
  m.def(
      "passes", [](const nb::args& numbers) { return Wrap(SelectPasses(PassNumbers(numbers))); },
      nb::arg("numbers"),
      nb::sig("def passes(*numbers: int | collections.abc.Iterable[int]) -> Selector"),
      "Those passes of every layer, counted from 1.");
  m.def(
      "line",
      [](nb::handle number, std::string file) {
        return Wrap(SelectLine(std::move(file), SmallNumber(number, 1, "line number")));
      },
      nb::arg("number"), nb::arg("file") = "",
      nb::sig("def line(number: int, file: str = '') -> Selector"),
      "Ops that a line of the user's code asked for; `file` may be the end of a path.");
  m.def(
      "attr",
      [](std::string name, nb::handle value) {
        return Wrap(SelectAttr(std::move(name), AttrText(value)));
      },
      nb::arg("name"), nb::arg("value").none() = "*",
      "Ops with that attribute value, given as it is or as printed; globs. Without a value, ops "
      "that have the attribute.");
}

}  // namespace

void RegisterSelectors(nb::module_& m) {
  RegisterLiveOp(m);
  RegisterSelectorClass(m);
  RegisterByName(m);
  RegisterByRole(m);
  m.def("raise_predicate_error", &RaisePredicateError,
        "Raises the exception that a predicate raised on this thread, if any.");
}

}  // namespace flowscope::python
