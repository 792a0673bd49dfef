#include "declarations.h"

#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "eager_tensor.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace flowscope::python {
namespace {

nb::object WeakReference(nb::handle object) {
  nb::object reference = nb::steal(PyWeakref_NewRef(object.ptr(), nullptr));
  if (!reference.is_valid()) nb::raise_python_error();
  return reference;
}

// None where the object is gone.
nb::object Referred(const nb::object& reference) {
  return reference.is_none() ? nb::none() : nb::borrow(PyWeakref_GetObject(reference.ptr()));
}

ModuleId ModuleOrNone(int64_t number) { return number < 0 ? kNoId : static_cast<ModuleId>(number); }

}  // namespace

void Declarations::AddVariable(nb::handle resource, capture::VariableTracker::Declared declared) {
  variables_.push_back({WeakReference(resource), nb::none(), std::move(declared), {}});
}

void Declarations::DeclareTo(Session& session, const nb::list& objects) {
  if (objects.size() != modules_.size()) {
    throw nb::value_error("one object is needed for each module that was added");
  }
  for (size_t i = 0; i < modules_.size(); ++i) {
    const Module& module = modules_[i];
    session.DeclareModule(nb::borrow(objects[i]), module.addresses, module.class_name, module.name,
                          "", module.parent, module.num_params, module.num_trainable);
  }
  for (Variable& variable : variables_) Declare(session, variable);
}

void Declarations::Declare(Session& session, Variable& variable) {
  const nb::object handle = nb::getattr(Referred(variable.resource), "handle", nb::none());
  TFE_TensorHandle* raw = HandleOf(handle);
  if (raw == nullptr) return;
  if (Referred(variable.handle).ptr() != handle.ptr()) {
    Result<capture::ResourceInfo> info = capture::ResourceInfoOf(raw);
    if (!info.ok()) return;
    variable.info = std::move(*info);
    variable.handle = WeakReference(handle);
  }
  session.recorder().DeclareVariable(raw, variable.info, variable.declared);
}

void RegisterDeclarations(nb::module_& m) {
  nb::class_<Declarations>(m, "Declarations")
      .def(nb::init<>())
      .def_prop_ro("empty", &Declarations::empty)
      .def(
          "add_module",
          [](Declarations& self, std::vector<std::string> addresses, std::string class_name,
             std::string name, int64_t parent, int64_t num_params, int64_t num_trainable) {
            self.AddModule({std::move(addresses), std::move(class_name), std::move(name),
                            ModuleOrNone(parent), num_params, num_trainable});
          },
          "addresses"_a, "class_name"_a, "name"_a, "parent"_a, "num_params"_a, "num_trainable"_a)
      .def(
          "add_variable",
          [](Declarations& self, nb::handle resource, std::vector<std::string> addresses,
             std::string name, bool trainable, int64_t module) {
            self.AddVariable(
                resource, {std::move(addresses), std::move(name), trainable, ModuleOrNone(module)});
          },
          "resource"_a, "addresses"_a, "name"_a, "trainable"_a, "module"_a)
      .def("declare_to", &Declarations::DeclareTo, "session"_a, "objects"_a);
}

}  // namespace flowscope::python
