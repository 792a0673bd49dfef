// Whether objects still hold what they held when they were looked at. Runs none of their code.
#pragma once

#include <cstdint>
#include <utility>
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

  // `ignored`: names of attributes that may hold anything, as those that begin with "_self_" may.
  // Without `containers` none of the object's counts. False where the object cannot be watched: it
  // takes no weak reference, or holds a container that has no cheap view.
  bool Add(nanobind::handle object, nanobind::handle ignored, bool containers);
  bool Unchanged() const;

 private:
  enum class Mode : uint8_t { kIgnored, kType, kSame, kHeld, kInside };
  enum class Shape : uint8_t { kTuple, kStored, kOther };
  struct Slot {
    nanobind::object key;    // null in sequences and sets
    nanobind::object owned;  // the type, or the value that is held
    // A plain value that passed when it was last looked at. It lives, so nothing else has its
    // address, and none of it can change.
    mutable nanobind::object passed;
    PyObject* value = nullptr;
    uint32_t inside = 0;  // an index into contents_
    Mode mode = Mode::kSame;
  };
  // The items of one container. `all_leaves`: any number of leaves. `version`: of a dictionary that
  // had these items when it was last looked at; nothing was set in it while it has that still.
  // `inside`: the slots of what has items of its own. `shape`: of a stored one the items are those
  // of its instance dictionary.
  struct Content {
    std::vector<Slot> slots;
    std::vector<uint32_t> inside;
    Shape shape = Shape::kOther;
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
  struct Looked {
    nanobind::handle ignored;
    bool containers;
  };
  bool Ignores(PyObject* key, PyObject* value, const Looked& looked) const;
  bool AddContent(PyObject* container, const Looked* top, int depth, uint32_t& index);
  bool AddSlot(PyObject* key, PyObject* value, int depth, Content& content);
  bool HoldKey(PyObject* key, Slot& slot) const;
  bool SameContent(PyObject* container, const Content& content) const;
  bool SameItems(PyObject* container, const Content& content) const;
  bool SameInside(PyObject* value, const Slot& slot) const;
  bool SameBelow(const Content& content) const;
  bool SameSlot(PyObject* key, PyObject* value, const Slot& slot) const;

  Rules rules_;
  std::vector<Content> contents_;
  std::vector<Watched> watched_;
};

}  // namespace flowscope::python
