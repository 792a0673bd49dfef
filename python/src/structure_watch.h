// Whether objects still hold what they held when they were looked at. Runs none of their code.
#pragma once

#include <cstdint>
#include <vector>

#include <nanobind/nanobind.h>

namespace flowscope::python {

// Instance dictionaries and the built-in containers in them, item by item. What a value is to a
// search is told by its type: of a leaf only the type counts, a container is looked into, and any
// other value has to be the same object. No object is kept alive, only types, keys and plain
// values. Needs the GIL.
class StructureWatch {
 public:
  // `kinds`: type -> kind, for all types that the search has met. `leaf` and `containers_from` are
  // kinds; a type of kind `stored` keeps its items in its instance dictionary. The values of the
  // keys `held` count themselves, not only by their type.
  struct Rules {
    nanobind::dict kinds;
    nanobind::object held;
    int leaf, containers_from, stored;
  };
  explicit StructureWatch(Rules rules) : rules_(std::move(rules)) {}

  // False where the object cannot be watched: it takes no weak reference, or holds a container
  // that has no cheap view.
  bool Add(nanobind::handle object);
  bool Unchanged() const;

 private:
  enum class Mode : uint8_t { kType, kSame, kHeld, kInside };
  struct Slot {
    nanobind::object key;    // null in sequences and sets
    nanobind::object owned;  // the type, or the value that is held
    PyObject* value = nullptr;
    uint32_t inside = 0;  // an index into contents_
    Mode mode = Mode::kSame;
  };
  // The items of one container. `all_leaves`: any number of leaves. `version`: of a dictionary that
  // had these items when it was last looked at; nothing was set in it while it has that still.
  struct Content {
    std::vector<Slot> slots;
    bool all_leaves = false;
    mutable uint64_t version = 0;
  };
  struct Watched {
    nanobind::object reference;  // weak
    nanobind::object type;
    uint32_t content;
  };

  int KindOf(PyObject* value) const;  // -1: not met
  bool IsContainer(PyObject* value) const;
  bool AddContent(PyObject* container, int depth, uint32_t& index);
  bool AddSlot(PyObject* key, PyObject* value, int depth, Content& content);
  bool HoldKey(PyObject* key, Slot& slot) const;
  bool SameContent(PyObject* container, const Content& content) const;
  bool SameItems(PyObject* container, const Content& content) const;
  bool SameInside(PyObject* value, const Slot& slot) const;
  bool SameSlot(PyObject* key, PyObject* value, const Slot& slot) const;

  Rules rules_;
  std::vector<Content> contents_;
  std::vector<Watched> watched_;
};

}  // namespace flowscope::python
