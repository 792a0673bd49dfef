#include "call_wrapper.h"

#include <exception>

#include "errors.h"
#include "session.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

struct CallWrapper {
  PyObject_HEAD PyObject* wrapped;
  PyObject* training_default;
  int training_position;
  bool is_body;
};

// What a class attribute gives when read through an instance, where it is more than a function: a
// tf.function as a method, for example.
struct BoundCall {
  PyObject_HEAD PyObject* wrapper;
  PyObject* instance;
  PyObject* inner;
};

PyTypeObject* g_wrapper_type = nullptr;
PyTypeObject* g_bound_type = nullptr;

// Runs `work`; what fails in it becomes a note of the trace, never an error of the model.
template <typename F>
auto Guarded(Session* session, F&& work) -> decltype(work()) {
  try {
    return work();
  } catch (nb::python_error& error) {
    if (!PassOnInterrupt(error)) {
      session->recorder().AddNote(std::string("a module call could not be recorded: ") +
                                  error.what());
    }
  } catch (const std::exception& error) {
    session->recorder().AddNote(std::string("a module call could not be recorded: ") +
                                error.what());
  }
  return decltype(work())();
}

PyObject* TrainingArgument(const CallWrapper* self, PyObject* args, PyObject* kwargs) {
  if (self->training_position < 0) return nullptr;
  if (kwargs != nullptr) {
    if (PyObject* value = PyDict_GetItemString(kwargs, "training")) return value;
  }
  const Py_ssize_t position = self->training_position;
  if (position < PyTuple_GET_SIZE(args)) return PyTuple_GET_ITEM(args, position);
  return self->training_default;
}

// True where a call record was opened that LeaveCall must close.
bool BeginCall(CallWrapper* self, Session* session, bool eager, PyObject* module, PyObject* args,
               PyObject* kwargs) {
  return Guarded(session, [&] {
    if (!self->is_body) return session->EnterCall(eager, module, self, args, kwargs, "__call__");
    const nb::handle training = TrainingArgument(self, args, kwargs);
    if (session->EnterBody(eager, module, self, training)) return false;
    if (!session->EnterCall(eager, module, self, args, kwargs, "call")) return false;
    session->EnterBody(eager, module, self, training);
    return true;
  });
}

// The exception in flight, if any, is left as it is.
void LeaveCall(Session* session, PyObject* result) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  Guarded(session, [&] {
    session->ExitCall(result, result == nullptr);
    return true;
  });
  PyErr_Restore(type, value, trace);
}

// `inner(*args, **kwargs)` recorded as a call of `module`; `rest` are the arguments without self.
PyObject* RecordedCall(CallWrapper* self, PyObject* module, PyObject* inner, PyObject* args,
                       PyObject* rest, PyObject* kwargs) {
  Session* session = Session::Current();
  if (session == nullptr || !session->recording()) return PyObject_Call(inner, args, kwargs);
  const bool eager = Guarded(session, [&] { return session->Eager(); });
  const bool opened = BeginCall(self, session, eager, module, rest, kwargs);
  nb::object callee = nb::borrow(inner);
  if (!self->is_body && PyFunction_Check(inner)) {
    const nb::object found =
        Guarded(session, [&] { return session->Callee(eager, module, inner); });
    if (found.is_valid()) callee = found;
  }
  PyObject* result = PyObject_Call(callee.ptr(), args, kwargs);
  if (opened && Session::Current() == session && session->recording()) LeaveCall(session, result);
  return result;
}

PyObject* WrapperCall(PyObject* object, PyObject* args, PyObject* kwargs) {
  auto* self = reinterpret_cast<CallWrapper*>(object);
  if (PyTuple_GET_SIZE(args) == 0) return PyObject_Call(self->wrapped, args, kwargs);
  PyObject* rest = PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args));
  if (rest == nullptr) return nullptr;
  PyObject* result =
      RecordedCall(self, PyTuple_GET_ITEM(args, 0), self->wrapped, args, rest, kwargs);
  Py_DECREF(rest);
  return result;
}

PyObject* WrapperGet(PyObject* object, PyObject* instance, PyObject* owner) {
  auto* self = reinterpret_cast<CallWrapper*>(object);
  if (instance == nullptr || instance == Py_None) return Py_NewRef(object);
  if (PyFunction_Check(self->wrapped)) return PyMethod_New(object, instance);
  const auto get = Py_TYPE(self->wrapped)->tp_descr_get;
  PyObject* inner = get == nullptr ? Py_NewRef(self->wrapped) : get(self->wrapped, instance, owner);
  if (inner == nullptr) return nullptr;
  auto* bound = PyObject_GC_New(BoundCall, g_bound_type);
  if (bound == nullptr) {
    Py_DECREF(inner);
    return nullptr;
  }
  bound->wrapper = Py_NewRef(object);
  bound->instance = Py_NewRef(instance);
  bound->inner = inner;
  PyObject_GC_Track(reinterpret_cast<PyObject*>(bound));
  return reinterpret_cast<PyObject*>(bound);
}

PyObject* WrapperGetAttr(PyObject* object, PyObject* name) {
  auto* self = reinterpret_cast<CallWrapper*>(object);
  if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) return Py_NewRef(self->wrapped);
  if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0) {
    return PyObject_GenericGetAttr(object, name);
  }
  PyObject* value = PyObject_GetAttr(self->wrapped, name);
  if (value != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
  PyErr_Clear();
  return PyObject_GenericGetAttr(object, name);
}

int WrapperTraverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<CallWrapper*>(object);
  Py_VISIT(self->wrapped);
  Py_VISIT(self->training_default);
  Py_VISIT(Py_TYPE(object));
  return 0;
}

int WrapperClear(PyObject* object) {
  auto* self = reinterpret_cast<CallWrapper*>(object);
  Py_CLEAR(self->wrapped);
  Py_CLEAR(self->training_default);
  return 0;
}

void WrapperDealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  WrapperClear(object);
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* BoundCallCall(PyObject* object, PyObject* args, PyObject* kwargs) {
  auto* self = reinterpret_cast<BoundCall*>(object);
  return RecordedCall(reinterpret_cast<CallWrapper*>(self->wrapper), self->instance, self->inner,
                      args, args, kwargs);
}

PyObject* BoundGetAttr(PyObject* object, PyObject* name) {
  auto* self = reinterpret_cast<BoundCall*>(object);
  PyObject* value = PyObject_GetAttr(self->inner, name);
  if (value != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
  PyErr_Clear();
  return PyObject_GenericGetAttr(object, name);
}

int BoundTraverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<BoundCall*>(object);
  Py_VISIT(self->wrapper);
  Py_VISIT(self->instance);
  Py_VISIT(self->inner);
  Py_VISIT(Py_TYPE(object));
  return 0;
}

int BoundClear(PyObject* object) {
  auto* self = reinterpret_cast<BoundCall*>(object);
  Py_CLEAR(self->wrapper);
  Py_CLEAR(self->instance);
  Py_CLEAR(self->inner);
  return 0;
}

void BoundDealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  BoundClear(object);
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

template <typename F>
void* Slot(F function) {
  return reinterpret_cast<void*>(function);
}

PyTypeObject* NewType(const char* name, size_t size, PyType_Slot* slots) {
  PyType_Spec spec{name, static_cast<int>(size), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

}  // namespace

nb::object MakeCallWrapper(nb::object wrapped, bool is_body, int training_position,
                           nb::object training_default) {
  auto* self = PyObject_GC_New(CallWrapper, g_wrapper_type);
  if (self == nullptr) throw nb::python_error();
  self->wrapped = wrapped.release().ptr();
  self->training_default = training_default.release().ptr();
  self->training_position = training_position;
  self->is_body = is_body;
  PyObject_GC_Track(reinterpret_cast<PyObject*>(self));
  return nb::steal(reinterpret_cast<PyObject*>(self));
}

bool IsCallWrapper(nb::handle object) { return Py_TYPE(object.ptr()) == g_wrapper_type; }

void RegisterCallWrapper(nb::module_& m) {
  static PyType_Slot wrapper_slots[] = {{Py_tp_call, Slot(WrapperCall)},
                                        {Py_tp_descr_get, Slot(WrapperGet)},
                                        {Py_tp_getattro, Slot(WrapperGetAttr)},
                                        {Py_tp_traverse, Slot(WrapperTraverse)},
                                        {Py_tp_clear, Slot(WrapperClear)},
                                        {Py_tp_dealloc, Slot(WrapperDealloc)},
                                        {0, nullptr}};
  static PyType_Slot bound_slots[] = {
      {Py_tp_call, Slot(BoundCallCall)},     {Py_tp_getattro, Slot(BoundGetAttr)},
      {Py_tp_traverse, Slot(BoundTraverse)}, {Py_tp_clear, Slot(BoundClear)},
      {Py_tp_dealloc, Slot(BoundDealloc)},   {0, nullptr}};
  g_wrapper_type = NewType("flowscope._core.CallWrapper", sizeof(CallWrapper), wrapper_slots);
  g_bound_type = NewType("flowscope._core.BoundCall", sizeof(BoundCall), bound_slots);
  if (g_wrapper_type == nullptr || g_bound_type == nullptr) throw nb::python_error();
  m.def("make_call_wrapper", &MakeCallWrapper, nb::arg("wrapped"), nb::arg("is_body"),
        nb::arg("training_position"), nb::arg("training_default").none());
  m.def("is_call_wrapper", &IsCallWrapper);
}

}  // namespace flowscope::python
