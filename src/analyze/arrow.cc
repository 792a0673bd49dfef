#include "analyze/arrow.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "analyze/arrow_abi.h"

namespace flowscope {
namespace {

// Every struct handed out owns what it points to through private_data, and a child owns its part by
// itself: consumers may move children away and release the parent.

struct SchemaOwner {
  std::string format;
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> child_pointers;
};

struct ArrayOwner {
  std::shared_ptr<const Table> table;  // numbers are read from it in place
  std::vector<uint8_t> validity;
  std::vector<uint8_t> bits;
  std::vector<int32_t> offsets32;
  std::vector<int64_t> offsets64;
  std::string text;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;
};

struct StreamOwner {
  std::shared_ptr<const Table> table;
  bool done = false;
};

template <typename Struct, typename Owner>
void Release(Struct* released) {
  for (int64_t i = 0; i < released->n_children; ++i) {
    Struct* child = released->children[i];
    if (child->release != nullptr) child->release(child);
  }
  delete static_cast<Owner*>(released->private_data);
  released->release = nullptr;
}

template <typename Owner, typename Struct>
void PointToChildren(Owner& owner, Struct& parent) {
  for (auto& child : owner.children) owner.child_pointers.push_back(&child);
  parent.n_children = static_cast<int64_t>(owner.children.size());
  parent.children = owner.child_pointers.data();
}

size_t TextBytes(const Column::Strings& rows) {
  size_t bytes = 0;
  for (const std::string& row : rows) bytes += row.size();
  return bytes;
}

// Arrow's "u" has 32-bit offsets.
bool NeedsLargeOffsets(const Column::Strings& rows) {
  return TextBytes(rows) > static_cast<size_t>(std::numeric_limits<int32_t>::max());
}

std::string FormatOf(const Column& column) {
  if (const auto* rows = std::get_if<Column::Strings>(&column.values)) {
    return NeedsLargeOffsets(*rows) ? "U" : "u";
  }
  if (std::holds_alternative<Column::Ints>(column.values)) return "l";
  return std::holds_alternative<Column::Doubles>(column.values) ? "g" : "b";
}

ArrowSchema MakeSchema(std::unique_ptr<SchemaOwner> owner) {
  ArrowSchema schema{};
  schema.format = owner->format.c_str();
  schema.name = owner->name.c_str();
  PointToChildren(*owner, schema);
  schema.release = &Release<ArrowSchema, SchemaOwner>;
  schema.private_data = owner.release();
  return schema;
}

ArrowSchema TableSchema(const Table& table) {
  auto owner = std::make_unique<SchemaOwner>();
  owner->format = "+s";
  for (const Column& column : table.columns) {
    auto child = std::make_unique<SchemaOwner>();
    child->format = FormatOf(column);
    child->name = column.name;
    owner->children.push_back(MakeSchema(std::move(child)));
    owner->children.back().flags = kArrowFlagNullable;
  }
  return MakeSchema(std::move(owner));
}

std::vector<uint8_t> PackBits(const std::vector<uint8_t>& flags) {
  std::vector<uint8_t> packed((flags.size() + 7) / 8, 0);
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] != 0) packed[i / 8] |= static_cast<uint8_t>(1u << (i % 8));
  }
  return packed;
}

template <typename Offset>
void JoinStrings(const Column::Strings& rows, std::vector<Offset>& offsets, std::string& text) {
  offsets.reserve(rows.size() + 1);
  text.reserve(TextBytes(rows));
  offsets.push_back(0);
  for (const std::string& row : rows) {
    text += row;
    offsets.push_back(static_cast<Offset>(text.size()));
  }
}

void AddStringBuffers(const Column::Strings& rows, ArrayOwner& owner) {
  if (NeedsLargeOffsets(rows)) {
    JoinStrings(rows, owner.offsets64, owner.text);
    owner.buffers.push_back(owner.offsets64.data());
  } else {
    JoinStrings(rows, owner.offsets32, owner.text);
    owner.buffers.push_back(owner.offsets32.data());
  }
  owner.buffers.push_back(owner.text.data());
}

void AddValueBuffers(const Column& column, ArrayOwner& owner) {
  if (const auto* rows = std::get_if<Column::Strings>(&column.values)) {
    AddStringBuffers(*rows, owner);
  } else if (const auto* flags = std::get_if<Column::Bools>(&column.values)) {
    owner.bits = PackBits(*flags);
    owner.buffers.push_back(owner.bits.data());
  } else if (const auto* ints = std::get_if<Column::Ints>(&column.values)) {
    owner.buffers.push_back(ints->data());
  } else {
    owner.buffers.push_back(std::get<Column::Doubles>(column.values).data());
  }
}

ArrowArray MakeArray(std::unique_ptr<ArrayOwner> owner, size_t length, int64_t null_count) {
  ArrowArray array{};
  array.length = static_cast<int64_t>(length);
  array.null_count = null_count;
  array.n_buffers = static_cast<int64_t>(owner->buffers.size());
  array.buffers = owner->buffers.data();
  PointToChildren(*owner, array);
  array.release = &Release<ArrowArray, ArrayOwner>;
  array.private_data = owner.release();
  return array;
}

ArrowArray ColumnArray(const std::shared_ptr<const Table>& table, const Column& column) {
  auto owner = std::make_unique<ArrayOwner>();
  owner->table = table;
  owner->validity = PackBits(column.valid);
  owner->buffers.push_back(column.valid.empty() ? nullptr : owner->validity.data());
  AddValueBuffers(column, *owner);
  const auto nulls = std::count(column.valid.begin(), column.valid.end(), 0);
  return MakeArray(std::move(owner), column.size(), nulls);
}

ArrowArray TableArray(const std::shared_ptr<const Table>& table) {
  auto owner = std::make_unique<ArrayOwner>();
  owner->buffers.push_back(nullptr);
  for (const Column& column : table->columns) {
    owner->children.push_back(ColumnArray(table, column));
  }
  return MakeArray(std::move(owner), table->num_rows(), 0);
}

StreamOwner& OwnerOf(ArrowArrayStream* stream) {
  return *static_cast<StreamOwner*>(stream->private_data);
}

int GetSchema(ArrowArrayStream* stream, ArrowSchema* out) {
  *out = TableSchema(*OwnerOf(stream).table);
  return 0;
}

// A released array marks the end of a stream.
int GetNext(ArrowArrayStream* stream, ArrowArray* out) {
  StreamOwner& owner = OwnerOf(stream);
  *out = owner.done ? ArrowArray{} : TableArray(owner.table);
  owner.done = true;
  return 0;
}

const char* GetLastError(ArrowArrayStream*) { return nullptr; }

void ReleaseStream(ArrowArrayStream* stream) {
  delete static_cast<StreamOwner*>(stream->private_data);
  stream->private_data = nullptr;
  stream->release = nullptr;
}

}  // namespace

ArrowArrayStream* NewArrowStream(std::shared_ptr<const Table> table) {
  auto owner = std::make_unique<StreamOwner>();
  owner->table = std::move(table);
  auto stream = std::make_unique<ArrowArrayStream>();
  stream->get_schema = &GetSchema;
  stream->get_next = &GetNext;
  stream->get_last_error = &GetLastError;
  stream->release = &ReleaseStream;
  stream->private_data = owner.release();
  return stream.release();
}

void DeleteArrowStream(ArrowArrayStream* stream) {
  if (stream == nullptr) return;
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}

}  // namespace flowscope
