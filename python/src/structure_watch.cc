#include "structure_watch.h"

#include <algorithm>
#include <string_view>

#include "bindings.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

constexpr int kMaxWatchedDepth = 32;

nb::object TypeOf(PyObject* value) {
  return nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(value)));
}

nb::object InstanceDict(PyObject* object) {
  PyObject* dict = PyObject_GenericGetDict(object, nullptr);
  if (dict == nullptr) PyErr_Clear();
  return nb::steal(dict);
}

bool IsAtom(PyObject* value) {
  return value == Py_None || PyUnicode_CheckExact(value) || PyLong_CheckExact(value) ||
         PyBool_Check(value) || PyFloat_CheckExact(value);
}

// A number that no dictionary has had before, given anew whenever something is set; 0 where Python
// does not tell.
uint64_t VersionOf(PyObject* container) {
#if PY_VERSION_HEX < 0x030C0000
  if (PyDict_Check(container)) return reinterpret_cast<PyDictObject*>(container)->ma_version_tag;
#endif
  static_cast<void>(container);
  return 0;
}

// Strings, numbers and tuples of them: nothing that could keep a model alive.
bool IsPlain(PyObject* value) {
  if (!PyTuple_CheckExact(value)) return IsAtom(value);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
    if (!IsAtom(PyTuple_GET_ITEM(value, i))) return false;
  }
  return true;
}

// Calls `see(key, value)` for each item until it answers false; `key` is null outside dictionaries.
// Only built-in iteration runs.
template <typename See>
bool ForEachItem(PyObject* container, const See& see) {
  if (PyDict_Check(container)) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(container, &position, &key, &value)) {
      if (!see(key, value)) return false;
    }
    return true;
  }
  if (PyList_Check(container)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(container); ++i) {
      if (!see(nullptr, PyList_GET_ITEM(container, i))) return false;
    }
    return true;
  }
  if (PyTuple_Check(container)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(container); ++i) {
      if (!see(nullptr, PyTuple_GET_ITEM(container, i))) return false;
    }
    return true;
  }
  // A set: the iteration of the built-in type, whatever a subclass says.
  const getiterfunc iterate =
      PySet_Check(container) ? PySet_Type.tp_iter : PyFrozenSet_Type.tp_iter;
  const nb::object items = nb::steal(iterate(container));
  while (PyObject* item = PyIter_Next(items.ptr())) {
    const nb::object owned = nb::steal(item);
    if (!see(nullptr, item)) return false;
  }
  return true;
}

}  // namespace

int StructureWatch::KindOf(PyObject* value) const {
  PyObject* kind = PyDict_GetItem(rules_.kinds.ptr(), reinterpret_cast<PyObject*>(Py_TYPE(value)));
  return kind == nullptr ? -1 : static_cast<int>(PyLong_AsLong(kind));
}

bool StructureWatch::IsContainer(PyObject* value) const {
  return PyDict_Check(value) || PyList_Check(value) || PyTuple_Check(value) ||
         PyAnySet_Check(value);
}

bool StructureWatch::Add(nb::handle object, nb::handle ignored, bool containers) {
  nb::object reference = nb::steal(PyWeakref_NewRef(object.ptr(), nullptr));
  if (!reference.is_valid()) {
    PyErr_Clear();
    return false;
  }
  const nb::object dict = InstanceDict(object.ptr());
  uint32_t content = 0;
  const Looked looked{ignored, containers};
  if (!dict.is_valid() || !AddContent(dict.ptr(), &looked, 0, content)) return false;
  watched_.push_back({std::move(reference), TypeOf(object.ptr()), content});
  return true;
}

bool StructureWatch::Ignores(PyObject* key, PyObject* value, const Looked& looked) const {
  if (PySet_Contains(looked.ignored.ptr(), key) == 1) return true;
  const char* name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : nullptr;
  if (name == nullptr) PyErr_Clear();
  if (name != nullptr && std::string_view(name).starts_with("_self_")) return true;
  return !looked.containers && (IsContainer(value) || KindOf(value) == rules_.stored) &&
         !IsPlain(value);
}

// `top`: the container is the instance dictionary of an object that is looked at so.
bool StructureWatch::AddContent(PyObject* container, const Looked* top, int depth,
                                uint32_t& index) {
  if (depth > kMaxWatchedDepth) return false;
  Content content;
  if (PyTuple_Check(container)) content.shape = Shape::kTuple;
  content.all_leaves = depth > 0;
  const bool added = ForEachItem(container, [&](PyObject* key, PyObject* value) {
    content.all_leaves = content.all_leaves && KindOf(value) == rules_.leaf;
    if (top == nullptr || !Ignores(key, value, *top)) return AddSlot(key, value, depth, content);
    content.slots.push_back({nb::borrow(key), {}, {}, nullptr, 0, Mode::kIgnored});
    return true;
  });
  if (!added) return false;
  if (content.all_leaves) content.slots.clear();
  for (uint32_t i = 0; i < content.slots.size(); ++i) {
    if (content.slots[i].mode == Mode::kInside) content.inside.push_back(i);
  }
  index = static_cast<uint32_t>(contents_.size());
  contents_.push_back(std::move(content));
  return true;
}

bool StructureWatch::HoldKey(PyObject* key, Slot& slot) const {
  if (key == nullptr) return true;
  // A class among keys, or an enum member, is of the program; another object may be of the model.
  if (!IsPlain(key) && KindOf(key) != rules_.leaf) return false;
  slot.key = nb::borrow(key);
  return true;
}

bool StructureWatch::AddSlot(PyObject* key, PyObject* value, int depth, Content& content) {
  Slot slot;
  slot.value = value;
  if (!HoldKey(key, slot)) return false;
  const int kind = KindOf(value);
  const bool named = key != nullptr && PySet_Contains(rules_.held.ptr(), key) == 1;
  // What holds plain values alone cannot come to hold anything else where it cannot change.
  const bool fixed = PyTuple_CheckExact(value) && IsPlain(value);
  if (fixed || (named && (kind == rules_.leaf || IsPlain(value)))) {
    slot.mode = Mode::kHeld;
    slot.owned = nb::borrow(value);
  } else if (kind == rules_.leaf) {
    slot.mode = Mode::kType;
    slot.owned = TypeOf(value);
  } else if (IsContainer(value)) {
    slot.mode = Mode::kInside;
    if (!AddContent(value, nullptr, depth + 1, slot.inside)) return false;
  } else if (kind == rules_.stored) {
    const nb::object dict = InstanceDict(value);
    slot.mode = Mode::kInside;
    if (!dict.is_valid() || !AddContent(dict.ptr(), nullptr, depth + 1, slot.inside)) return false;
    contents_[slot.inside].shape = Shape::kStored;
  } else if (kind >= rules_.containers_from) {
    return false;
  }
  content.slots.push_back(std::move(slot));
  return true;
}

bool StructureWatch::Unchanged() const {
  for (const Watched& watched : watched_) {
    PyObject* object = PyWeakref_GetObject(watched.reference.ptr());
    if (object == nullptr || object == Py_None) return false;
    if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != watched.type.ptr()) return false;
    const nb::object dict = InstanceDict(object);
    if (!dict.is_valid() || !SameContent(dict.ptr(), contents_[watched.content])) return false;
  }
  return true;
}

bool StructureWatch::SameContent(PyObject* container, const Content& content) const {
  const uint64_t version = VersionOf(container);
  if (version != 0 && version == content.version) return SameBelow(content);
  if (!SameItems(container, content)) return false;
  content.version = version;
  return true;
}

// Of a container that holds what it held: its values live, so they need not be asked what they are.
bool StructureWatch::SameBelow(const Content& content) const {
  return std::ranges::all_of(content.inside, [&](uint32_t index) {
    const Slot& slot = content.slots[index];
    const Content& below = contents_[slot.inside];
    if (below.shape == Shape::kTuple) return SameBelow(below);
    if (below.shape == Shape::kStored) return SameInside(slot.value, slot);
    return SameContent(slot.value, below);
  });
}

bool StructureWatch::SameItems(PyObject* container, const Content& content) const {
  if (content.all_leaves) {
    return ForEachItem(container,
                       [this](PyObject*, PyObject* value) { return KindOf(value) == rules_.leaf; });
  }
  size_t seen = 0;
  const bool same = ForEachItem(container, [&](PyObject* key, PyObject* value) {
    if (seen == content.slots.size()) return false;
    const Slot& slot = content.slots[seen++];
    return SameSlot(key, value, slot);
  });
  return same && seen == content.slots.size();
}

bool StructureWatch::SameSlot(PyObject* key, PyObject* value, const Slot& slot) const {
  if (key != slot.key.ptr()) return false;
  if (slot.mode == Mode::kIgnored || value == slot.passed.ptr()) return true;
  const bool same =
      slot.mode == Mode::kType
          ? reinterpret_cast<PyObject*>(Py_TYPE(value)) == slot.owned.ptr()
          : value == slot.value && (slot.mode != Mode::kInside || SameInside(value, slot));
  if (same && IsPlain(value)) slot.passed = nb::borrow(value);
  return same;
}

bool StructureWatch::SameInside(PyObject* value, const Slot& slot) const {
  if (IsContainer(value)) return SameContent(value, contents_[slot.inside]);
  const nb::object dict = KindOf(value) == rules_.stored ? InstanceDict(value) : nb::object();
  return dict.is_valid() && SameContent(dict.ptr(), contents_[slot.inside]);
}

void RegisterStructureWatch(nb::module_& m) {
  nb::class_<StructureWatch>(m, "StructureWatch")
      .def(
          "__init__",
          [](StructureWatch* self, nb::dict kinds, nb::object held, int leaf, int containers_from,
             int stored) {
            new (self)
                StructureWatch({std::move(kinds), std::move(held), leaf, containers_from, stored});
          },
          nb::arg("kinds"), nb::arg("held"), nb::arg("leaf"), nb::arg("containers_from"),
          nb::arg("stored"))
      .def("add", &StructureWatch::Add, nb::arg("object"), nb::arg("ignored"),
           nb::arg("containers"))
      .def("unchanged", &StructureWatch::Unchanged);
}

}  // namespace flowscope::python
