// Python's record objects. Each is a light value: the row of a table and the trace that it belongs
// to, which it keeps alive. Two of them are equal when they mean the same row of the same trace.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "record_values.h"
#include "trace_object.h"

namespace flowscope::python {

struct Record {
  Record(TracePtr trace, uint32_t row) : owner(std::move(trace)), id(row) {}

  const Trace& trace() const { return *owner->trace; }
  bool operator==(const Record& other) const { return owner == other.owner && id == other.id; }

  TracePtr owner;
  uint32_t id;
};

struct Op : Record {
  using Record::Record;
  const OpRecord& row() const { return trace().op(id); }
  std::string Label() const { return trace().OpLabel(id); }
  NumpyArray Output(uint32_t index) const;
  // nullopt for handles and variants, which have no value by nature; an error where one was lost.
  std::vector<std::optional<NumpyArray>> Outputs() const;
};

struct Layer : Record {
  using Record::Record;
  std::span<const OpId> ops() const { return trace().OpsOfSite(id); }
};

struct ModuleCall : Record {
  using Record::Record;
  const ModuleCallRecord& row() const { return trace().module_call(id); }
  std::string Label() const { return trace().CallLabel(id); }
  std::vector<NumpyArray> Inputs() const;
  std::vector<NumpyArray> Outputs() const;
  NumpyArray Output() const;
  // Ops that ran inside, those of modules called inside included.
  std::vector<OpId> Ops() const;
};

struct Module : Record {
  using Record::Record;
  const ModuleRecord& row() const { return trace().module(id); }
  std::string Address() const { return std::string(trace().str(row().address)); }
  std::span<const ModuleCallId> calls() const { return trace().CallsOfModule(id); }
};

struct Variable : Record {
  using Record::Record;
  const VariableRecord& row() const { return trace().variable(id); }
  std::string Address() const { return std::string(trace().str(row().address)); }
};

struct Region : Record {
  using Record::Record;
  const RegionRecord& row() const { return trace().region(id); }
};

// One input of one op; `id` is the op's.
struct Input : Record {
  Input(TracePtr trace, OpId op, uint32_t position)
      : Record(std::move(trace), op), index(position) {}
  bool operator==(const Input&) const = default;
  const EdgeRecord& edge() const { return trace().inputs(id)[index]; }

  uint32_t index;
};

// One value in the history of a variable; `id` is the variable's.
struct VariableVersion : Record {
  VariableVersion(TracePtr trace, const VersionRecord& version)
      : Record(std::move(trace), version.variable), row(version) {}
  NumpyArray Value() const;

  VersionRecord row;
};

// A line of the user's code.
struct CodeLocation {
  std::string file;
  uint32_t line_number = 0;
  std::string func_name;
  std::string code;
  bool operator==(const CodeLocation&) const = default;
};

template <typename T, typename Ids>
std::vector<T> MakeRecords(const TracePtr& owner, const Ids& ids) {
  std::vector<T> records;
  records.reserve(std::size(ids));
  for (const uint32_t id : ids) records.emplace_back(owner, id);
  return records;
}

template <typename T>
std::optional<T> RecordOrNone(const TracePtr& owner, uint32_t id) {
  if (id == kNoId) return std::nullopt;
  return T(owner, id);
}

// The strings of a span of string_lists.
std::vector<std::string> StringsOf(const Trace& trace, Span span);

// Keeps the first of each id, in order.
void RemoveRepeats(std::vector<uint32_t>& ids);

// The part before the first line break: what a list of records shows of each.
std::string FirstLine(const std::string& text);
std::string WithoutLastBreak(std::string text);

// Sites of the ops, each once, in order.
std::vector<Layer> LayersOf(const TracePtr& owner, std::span<const OpId> ops);

// Equality and hash, repr as one line, str as `describe` writes it.
template <typename T, typename Describe>
void DefIdentity(nanobind::class_<T>& type, Describe describe) {
  type.def(
      "__eq__", [](const T& a, const T& b) { return a == b; }, nanobind::is_operator(),
      nanobind::sig("def __eq__(self, other: object, /) -> bool"));
  type.def("__hash__", [](const T& a) {
    return static_cast<Py_ssize_t>(std::hash<const void*>()(a.owner.get()) * 31 + a.id);
  });
  type.def("__repr__", [describe](const T& a) { return FirstLine(describe(a)); });
  type.def("__str__", [describe](const T& a) { return WithoutLastBreak(describe(a)); });
}

void RegisterOp(nanobind::module_& m);
void RegisterInput(nanobind::module_& m);
void RegisterLayer(nanobind::module_& m);
void RegisterModule(nanobind::module_& m);
void RegisterModuleCall(nanobind::module_& m);
void RegisterVariable(nanobind::module_& m);
void RegisterRegion(nanobind::module_& m);

}  // namespace flowscope::python
