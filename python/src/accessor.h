// Tables of records of one kind, indexed by position or by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include "base/status.h"
#include "trace_object.h"

namespace flowscope::python {

enum class RecordKind { kOp, kLayer, kModule, kModuleCall, kVariable, kRegion };

struct Accessor {
  TracePtr owner;
  RecordKind kind = RecordKind::kOp;
};

// "op", and the attribute of the trace that holds them: "ops".
std::string_view KindName(RecordKind kind);
std::string_view TableName(RecordKind kind);

size_t CountRecords(const Trace& trace, RecordKind kind);
nanobind::object MakeRecord(const TracePtr& owner, RecordKind kind, uint32_t id);

// The record's own key: label, address or path. NamesOf adds what else means it exactly.
std::string KeyOf(const Trace& trace, RecordKind kind, uint32_t id);
std::vector<std::string> NamesOf(const Trace& trace, RecordKind kind, uint32_t id);

// The record of that kind that `key` means: its own key, another exact name, or a unique part of a
// name. Ambiguous and NotFound as Lookup::Find, told of this kind.
Result<uint32_t> FindRecord(const TraceObject& object, RecordKind kind, std::string_view key);

// True where the key is an exact name of a record of that kind.
bool HasName(const TraceObject& object, RecordKind kind, std::string_view key);

// Records with `text` in one of their names, case ignored.
std::vector<uint32_t> FindText(const Trace& trace, RecordKind kind, std::string_view text);

// What trace[key] gives for what a key means.
nanobind::object MakeEntity(const TracePtr& owner, Entity entity);

// Position `index` of `count`, counted from the end where negative; LookupFailedError outside.
uint32_t CheckedIndex(int64_t index, size_t count, std::string_view what);

}  // namespace flowscope::python
