#include "eager_tensor.h"

#include <dlfcn.h>

namespace nb = nanobind;

namespace flowscope::python {
namespace {

struct Symbols {
  bool (*check)(const PyObject*) = nullptr;
  TFE_TensorHandle* (*handle)(const PyObject*) = nullptr;
  PyObject* (*from_handle)(TFE_TensorHandle*, bool) = nullptr;
};
Symbols g_symbols;

// Up to TensorFlow 2.19 the extension is _pywrap_tensorflow_internal.so, later the common library.
constexpr const char* kLibraries[] = {"/python/lib_pywrap_tensorflow_common.so",
                                      "/python/_pywrap_tensorflow_internal.so"};
constexpr int kMaxDepth = 64;

template <typename F>
bool LoadSymbol(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

bool LoadFrom(void* library) {
  Symbols symbols;
  if (!LoadSymbol(library, "_Z22EagerTensor_CheckExactPK7_object", symbols.check) ||
      !LoadSymbol(library, "_Z18EagerTensor_HandlePK7_object", symbols.handle) ||
      !LoadSymbol(library, "_Z21EagerTensorFromHandleP16TFE_TensorHandleb", symbols.from_handle)) {
    return false;
  }
  g_symbols = symbols;
  return true;
}

std::string KeyText(nb::handle key) { return nb::cast<std::string>(nb::repr(key)); }

std::string Child(const std::string& path, const std::string& key) {
  return path + "[" + key + "]";
}

void CollectAt(nb::handle object, const std::string& path, int depth, NamedHandles& found,
               std::vector<nb::object>& keep_alive);

void CollectSequence(nb::handle object, const std::string& path, int depth, NamedHandles& found,
                     std::vector<nb::object>& keep_alive) {
  size_t index = 0;
  for (nb::handle item : object) {
    CollectAt(item, Child(path, std::to_string(index++)), depth, found, keep_alive);
  }
}

// Dataclasses by field; ragged, sparse and other composites by their component tensors.
void CollectObject(nb::handle object, const std::string& path, int depth, NamedHandles& found,
                   std::vector<nb::object>& keep_alive) {
  if (nb::hasattr(object, "__dataclass_fields__") && !PyType_Check(object.ptr())) {
    for (nb::handle name : nb::object(object.attr("__dataclass_fields__"))) {
      nb::object value = nb::getattr(object, name, nb::none());
      CollectAt(value, path + "." + nb::cast<std::string>(name), depth, found, keep_alive);
      keep_alive.push_back(std::move(value));
    }
    return;
  }
  if (!nb::hasattr(object, "_type_spec")) return;
  const nb::object parts =
      nb::module_::import_("flowscope._structure").attr("composite_parts")(object);
  for (nb::handle part : parts) {
    const std::string name = nb::cast<std::string>(part[0]);
    CollectAt(nb::object(part[1]), path + "." + name, depth, found, keep_alive);
  }
  keep_alive.push_back(parts);
}

bool IsPlain(nb::handle object) {
  PyObject* p = object.ptr();
  return p == Py_None || PyBool_Check(p) || PyLong_Check(p) || PyFloat_Check(p) ||
         PyUnicode_Check(p) || PyBytes_Check(p);
}

void CollectAt(nb::handle object, const std::string& path, int depth, NamedHandles& found,
               std::vector<nb::object>& keep_alive) {
  if (IsPlain(object) || depth > kMaxDepth) return;
  if (TFE_TensorHandle* handle = HandleOf(object)) {
    found.emplace_back(path, handle);
  } else if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
    CollectSequence(object, path, depth + 1, found, keep_alive);
  } else if (PyDict_Check(object.ptr())) {
    for (auto [key, value] : nb::borrow<nb::dict>(object)) {
      CollectAt(value, Child(path, KeyText(key)), depth + 1, found, keep_alive);
    }
  } else {
    CollectObject(object, path, depth + 1, found, keep_alive);
  }
}

}  // namespace

Status LoadEagerTensorSymbols(const std::string& tensorflow_dir) {
  if (g_symbols.check != nullptr) return Status::Ok();
  for (const char* name : kLibraries) {
    void* library = dlopen((tensorflow_dir + name).c_str(), RTLD_NOLOAD | RTLD_LAZY);
    if (library != nullptr && LoadFrom(library)) return Status::Ok();
  }
  return Unavailable("TensorFlow under " + tensorflow_dir +
                     " does not export EagerTensor_Handle; expected TensorFlow 2.16 or newer, "
                     "imported before recording");
}

TFE_Context* ContextOf(nb::handle capsule) {
  const char* name = PyCapsule_CheckExact(capsule.ptr()) ? PyCapsule_GetName(capsule.ptr()) : "";
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), name);
  if (pointer == nullptr) throw nb::python_error();
  return static_cast<TFE_Context*>(pointer);
}

TFE_TensorHandle* HandleOf(nb::handle object) {
  if (g_symbols.check == nullptr || !g_symbols.check(object.ptr())) return nullptr;
  return g_symbols.handle(object.ptr());
}

nb::object EagerTensorFrom(TFE_TensorHandle* handle) {
  return nb::steal(g_symbols.from_handle(handle, false));
}

void CollectTensors(nb::handle object, const std::string& path, NamedHandles& found,
                    std::vector<nb::object>& keep_alive) {
  CollectAt(object, path, 0, found, keep_alive);
}

}  // namespace flowscope::python
