// What Python code may give where a selector is meant.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "errors.h"
#include "records.h"
#include "selectors.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

// Any of the items; none where there are no items.
SelectorObject AnyOf(nb::handle items) {
  SelectorObject any = Wrap(nullptr);
  for (const nb::handle item : items) {
    SelectorObject one = ToSelectorObject(item);
    any.selector = any.selector == nullptr ? one.selector : Or(any.selector, one.selector);
    any.functions.insert(any.functions.end(), one.functions.begin(), one.functions.end());
  }
  if (any.selector == nullptr) any.selector = SelectNone();
  return any;
}

// Null where the value is no record.
SelectorPtr FromRecord(nb::handle value) {
  if (nb::isinstance<Op>(value)) return SelectLabel(nb::cast<const Op&>(value).Label());
  if (nb::isinstance<Layer>(value)) {
    const auto& layer = nb::cast<const Layer&>(value);
    return SelectLabel(layer.trace().LayerLabel(layer.id));
  }
  if (nb::isinstance<Module>(value)) {
    return SelectModuleOutput(nb::cast<const Module&>(value).Address());
  }
  if (nb::isinstance<ModuleCall>(value)) {
    return SelectModuleOutput(nb::cast<const ModuleCall&>(value).Label());
  }
  return nullptr;
}

SelectorPtr FromPosition(nb::handle value) {
  const OpId position = SmallNumber(value, 0, "position in a trace");
  return SelectWhere([position](const OpFacts& facts) { return facts.id == position; },
                     fmt::format("position {}", position));
}

// A layer is callable and would be asked as a predicate.
void RefuseModule(nb::handle value) {
  if (!nb::hasattr(value, "trainable_variables")) return;
  Check(InvalidArgument(
      fmt::format("a {} is no selector: give its address in the model, or its name: \"{}\"",
                  nb::cast<std::string>(nb::str(nb::inst_name(value))),
                  nb::cast<std::string>(nb::str(nb::getattr(value, "name", nb::str("?")))))));
}

}  // namespace

std::string NameOfCallable(nb::handle callable) {
  return nb::cast<std::string>(nb::str(nb::getattr(callable, "__name__", nb::str("predicate"))));
}

bool IsCollection(nb::handle value) {
  return PyList_Check(value.ptr()) || PyTuple_Check(value.ptr()) || PyAnySet_Check(value.ptr());
}

uint32_t SmallNumber(nb::handle value, uint32_t least, std::string_view what) {
  int64_t number = -1;
  if (PyLong_Check(value.ptr()) && nb::try_cast(value, number) && number >= least &&
      number < kNoId) {
    return static_cast<uint32_t>(number);
  }
  Check(InvalidArgument(fmt::format("{} is no {}: these are whole numbers from {}",
                                    nb::cast<std::string>(nb::repr(value)), what, least)));
  return 0;
}

SelectorPtr SelectorFromText(const std::string& text) {
  if (text == "all") return SelectAll();
  if (text == "none") return SelectNone();
  if (text.empty()) Check(InvalidArgument("an empty string selects nothing; say \"none\""));
  return SelectText(text);
}

SelectorObject ToSelectorObject(nb::handle value) {
  PyObject* p = value.ptr();
  if (p == Py_None) return Wrap(SelectNone());
  if (nb::isinstance<SelectorObject>(value)) return nb::cast<const SelectorObject&>(value);
  if (PyUnicode_Check(p)) return Wrap(SelectorFromText(nb::cast<std::string>(value)));
  if (SelectorPtr selector = FromRecord(value)) return Wrap(std::move(selector));
  if (IsCollection(value)) return AnyOf(value);
  if (PyLong_Check(p) && !PyBool_Check(p)) return Wrap(FromPosition(value));
  if (PyCallable_Check(p) != 0 && !PyType_Check(p)) {
    RefuseModule(value);
    return SelectWherePython(nb::borrow<nb::callable>(value), NameOfCallable(value));
  }
  Check(InvalidArgument(fmt::format(
      "a {} is no selector: give \"all\", \"none\", an address, a label, a glob, a selector such "
      "as fs.func(\"relu\"), a record, a predicate, or a list of these",
      nb::cast<std::string>(nb::str(nb::inst_name(value))))));
  return {};
}

}  // namespace flowscope::python
