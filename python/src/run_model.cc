// The call of the model between a recording's start and its end.
#include <nanobind/nanobind.h>

#include "bindings.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

// The exception in flight with its traceback, which is no longer in flight then.
nb::object TakeException() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return nb::steal(value);
}

// In C++, so that no Python frame stands here: TensorFlow looks up the line of each at every op.
nb::object RunModel(const nb::callable& model, const nb::callable& returned,
                    const nb::callable& raised) {
  PyObject* output = PyObject_CallNoArgs(model.ptr());
  if (output == nullptr) return raised(TakeException());
  return returned(nb::steal(output));
}

}  // namespace

void RegisterRunModel(nb::module_& m) {
  m.def("run_model", &RunModel, nb::arg("model"), nb::arg("returned"), nb::arg("raised"));
}

}  // namespace flowscope::python
