#include <algorithm>

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "accessor.h"
#include "bindings.h"
#include "errors.h"
#include "records.h"
#include "tables.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

constexpr size_t kShownByRepr = 5;

const Trace& TraceOf(const Accessor& accessor) { return *accessor.owner->trace; }

size_t Count(const Accessor& accessor) { return CountRecords(TraceOf(accessor), accessor.kind); }

nb::object At(const Accessor& accessor, uint32_t id) {
  return MakeRecord(accessor.owner, accessor.kind, id);
}

nb::list Several(const Accessor& accessor, const std::vector<uint32_t>& ids) {
  nb::list records;
  for (const uint32_t id : ids) records.append(At(accessor, id));
  return records;
}

nb::list FirstFew(const Accessor& accessor, size_t n) {
  nb::list records;
  for (uint32_t id = 0; id < std::min(n, Count(accessor)); ++id) records.append(At(accessor, id));
  return records;
}

nb::object AtPosition(const Accessor& accessor, int64_t index) {
  return At(accessor, CheckedIndex(index, Count(accessor), TableName(accessor.kind)));
}

nb::object AtName(const Accessor& accessor, const std::string& key) {
  return At(accessor, Unwrap(FindRecord(*accessor.owner, accessor.kind, key)));
}

nb::list AtSlice(const Accessor& accessor, const nb::slice& slice) {
  nb::list records;
  const auto [start, stop, step, length] = slice.compute(Count(accessor));
  for (size_t i = 0; i < length; ++i) {
    records.append(At(accessor, static_cast<uint32_t>(start + static_cast<Py_ssize_t>(i) * step)));
  }
  return records;
}

bool Contains(const Accessor& accessor, const nb::object& key) {
  if (nb::isinstance<nb::str>(key)) {
    return HasName(*accessor.owner, accessor.kind, nb::cast<std::string>(key));
  }
  const nb::object values = FirstFew(accessor, Count(accessor));
  return PySequence_Contains(values.ptr(), key.ptr()) == 1;
}

// One record at a time, so that a loop that stops early pays for no more.
nb::object Iterate(const nb::object& self) {
  const nb::module_ builtins = nb::module_::import_("builtins");
  return builtins.attr("map")(self.attr("__getitem__"), builtins.attr("range")(nb::len(self)));
}

std::vector<std::string> Keys(const Accessor& accessor) {
  std::vector<std::string> keys;
  for (uint32_t id = 0; id < Count(accessor); ++id) {
    keys.push_back(KeyOf(TraceOf(accessor), accessor.kind, id));
  }
  return keys;
}

nb::list Items(const Accessor& accessor) {
  nb::list items;
  for (uint32_t id = 0; id < Count(accessor); ++id) {
    items.append(nb::make_tuple(KeyOf(TraceOf(accessor), accessor.kind, id), At(accessor, id)));
  }
  return items;
}

std::string AccessorText(const Accessor& accessor) {
  const size_t count = Count(accessor);
  std::string text = fmt::format("{} ({})", TableName(accessor.kind), count);
  for (uint32_t id = 0; id < std::min(count, kShownByRepr); ++id) {
    text += "\n  " + nb::cast<std::string>(nb::repr(At(accessor, id)));
  }
  if (count > kShownByRepr) text += fmt::format("\n  ... {} more", count - kShownByRepr);
  return text;
}

nb::object Pandas(const Accessor& accessor) {
  return ToPandas(NamedTable(TraceOf(accessor), TableName(accessor.kind)));
}

void DefMapping(nb::class_<Accessor>& type) {
  type.def("keys", &Keys, "Labels, addresses or paths, in order.")
      .def(
          "values", [](const Accessor& accessor) { return FirstFew(accessor, Count(accessor)); },
          nb::sig("def values(self) -> list[typing.Any]"))
      .def("items", &Items, nb::sig("def items(self) -> list[tuple[str, typing.Any]]"))
      .def("head", &FirstFew, nb::arg("n") = kShownByRepr,
           nb::sig("def head(self, n: int = 5) -> list[typing.Any]"), "The first `n` records.")
      .def(
          "find",
          [](const Accessor& accessor, const std::string& text) {
            return Several(accessor, FindText(TraceOf(accessor), accessor.kind, text));
          },
          nb::arg("text"), nb::sig("def find(self, text: str) -> list[typing.Any]"),
          "Records with `text` in a name, case ignored; an empty list where there is none.")
      .def("to_pandas", &Pandas, nb::sig("def to_pandas(self) -> typing.Any"),
           "The records as a pandas.DataFrame.");
}

}  // namespace

nb::object MakeRecord(const TracePtr& owner, RecordKind kind, uint32_t id) {
  switch (kind) {
    case RecordKind::kOp:
      return nb::cast(Op(owner, id));
    case RecordKind::kLayer:
      return nb::cast(Layer(owner, id));
    case RecordKind::kModule:
      return nb::cast(Module(owner, id));
    case RecordKind::kModuleCall:
      return nb::cast(ModuleCall(owner, id));
    case RecordKind::kVariable:
      return nb::cast(Variable(owner, id));
    case RecordKind::kRegion:
      return nb::cast(Region(owner, id));
  }
  return nb::none();
}

nb::object MakeEntity(const TracePtr& owner, Entity entity) {
  switch (entity.kind) {
    case EntityKind::kOp:
      return MakeRecord(owner, RecordKind::kOp, entity.id);
    case EntityKind::kLayer:
      return MakeRecord(owner, RecordKind::kLayer, entity.id);
    case EntityKind::kModule:
      return MakeRecord(owner, RecordKind::kModule, entity.id);
    case EntityKind::kModuleCall:
      return MakeRecord(owner, RecordKind::kModuleCall, entity.id);
    case EntityKind::kVariable:
      return MakeRecord(owner, RecordKind::kVariable, entity.id);
  }
  return nb::none();
}

uint32_t CheckedIndex(int64_t index, size_t count, std::string_view what) {
  const auto size = static_cast<int64_t>(count);
  const int64_t at = index < 0 ? index + size : index;
  if (at < 0 || at >= size) {
    Check(NotFound(fmt::format("no position {}: this trace has {} {}", index, count, what)));
  }
  return static_cast<uint32_t>(at);
}

void RegisterAccessors(nb::module_& m) {
  nb::class_<Accessor> type(
      m, "Accessor",
      "Records of one kind. Index by position, slice or name; iterating gives the records.\n\n"
      "    >>> trace.ops[0], trace.ops[\"matmul_1\"], trace.ops[-3:]\n"
      "    >>> [module.address for module in trace.modules]\n"
      "    >>> trace.layers.find(\"conv\")");
  type.def("__len__", &Count)
      .def("__getitem__", &AtPosition, nb::arg("key"),
           nb::sig("def __getitem__(self, key: int, /) -> typing.Any"))
      .def("__getitem__", &AtName, nb::arg("key"),
           nb::sig("def __getitem__(self, key: str, /) -> typing.Any"))
      .def("__getitem__", &AtSlice, nb::arg("key"),
           nb::sig("def __getitem__(self, key: slice, /) -> list[typing.Any]"))
      .def("__contains__", &Contains, nb::arg("key").none(),
           nb::sig("def __contains__(self, key: object, /) -> bool"),
           "True for an exact name of a record, and for a record of this table.")
      .def(
          "__iter__", [](nb::handle self) { return Iterate(nb::borrow(self)); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[typing.Any]"))
      .def("__repr__", &AccessorText)
      .def("_ipython_key_completions_", &Keys);
  DefMapping(type);
}

}  // namespace flowscope::python
