// Fields of records as cells of rows, and back.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "store/columns.h"
#include "store/tables.h"

namespace flowscope::store {

inline std::string_view NameOf(OpKind value) { return OpKindName(value); }
inline std::string_view NameOf(EdgeClass value) { return EdgeClassName(value); }
inline std::string_view NameOf(PayloadState value) { return PayloadStateName(value); }
inline std::string_view NameOf(RegionKind value) { return RegionKindName(value); }
inline std::string_view NameOf(DType value) { return DTypeName(value); }

// Enums stand by name: a number could change its meaning.
template <typename Enum>
std::optional<Enum> FromName(std::string_view name) {
  static const auto* names = [] {
    auto* all = new std::unordered_map<std::string_view, Enum>();
    for (int i = 0; i < 64; ++i) all->emplace(NameOf(static_cast<Enum>(i)), static_cast<Enum>(i));
    all->erase("unknown");
    return all;
  }();
  const auto it = names->find(name);
  return it == names->end() ? std::nullopt : std::optional(it->second);
}

// The columns of a record type.
class ColumnLister {
 public:
  explicit ColumnLister(TableShape& shape) : shape_(shape) {}

  template <typename Field>
  void operator()(const std::string& name, const Field&) {
    if constexpr (std::is_same_v<Field, Span>) {
      shape_.columns.push_back({name + "_first", "INTEGER"});
      shape_.columns.push_back({name + "_count", "INTEGER"});
    } else {
      const char* const type = std::is_enum_v<Field>             ? "TEXT"
                               : std::is_floating_point_v<Field> ? ""  // as it is, NaN as NULL
                                                                 : "INTEGER";
      shape_.columns.push_back({name, type});
    }
  }

 private:
  TableShape& shape_;
};

template <typename Record>
TableShape ShapeOfTable(std::string name) {
  TableShape shape{std::move(name), {{"id", "INTEGER"}}};
  Record record;
  VisitFields(record, ColumnLister(shape));
  return shape;
}

// A record's fields as cells. Text of enums lives for ever.
class FieldWriter {
 public:
  explicit FieldWriter(std::vector<Cell>& cells) : cells_(cells) {}

  template <typename Field>
  void operator()(const char*, const Field& field) {
    if constexpr (std::is_same_v<Field, Span>) {
      cells_.push_back(IntegerCell(field.first));
      cells_.push_back(IntegerCell(field.count));
    } else if constexpr (std::is_enum_v<Field>) {
      Cell cell;
      cell.type = Cell::Type::kText;
      cell.text = NameOf(field);
      cells_.push_back(cell);
    } else if constexpr (std::is_floating_point_v<Field>) {
      cells_.push_back(RealCell(field));
    } else if constexpr (std::is_same_v<Field, uint32_t>) {
      cells_.push_back(field == kNoId ? Cell() : IntegerCell(field));
    } else {
      cells_.push_back(IntegerCell(static_cast<int64_t>(field)));
    }
  }

 private:
  std::vector<Cell>& cells_;
};

// Fills a record from the current row of a table. Columns that the file does not have leave their
// field as it is. Two passes: Prepare once per table, then one run per row.
class FieldReader {
 public:
  explicit FieldReader(const TableReader& table) : table_(table) {}

  void Prepare(const std::vector<std::string>& names) {
    for (const std::string& name : names) positions_.push_back(table_.Find(name));
  }
  void StartRow() { at_ = 0; }

  template <typename Field>
  void operator()(const char* name, Field& field) {
    if constexpr (std::is_same_v<Field, Span>) {
      Read(name, field.first);
      Read(name, field.count);
    } else {
      Read(name, field);
    }
  }
  const Status& status() const { return status_; }

 private:
  template <typename Field>
  void Read(const char* name, Field& field) {
    const int position = positions_[at_++];
    if (position < 0 || !status_.ok()) return;
    const Cell& cell = table_.cells()[static_cast<size_t>(position)];
    if constexpr (std::is_enum_v<Field>) {
      const auto value = FromName<Field>(cell.text);
      if (!value) return Fail(name, "has a name that this version does not know");
      field = *value;
    } else if constexpr (std::is_floating_point_v<Field>) {
      // SQLite has no NaN: it becomes NULL.
      field = cell.type == Cell::Type::kReal ? cell.real : std::numeric_limits<Field>::quiet_NaN();
    } else if (cell.type == Cell::Type::kNull && std::is_same_v<Field, uint32_t>) {
      field = static_cast<Field>(kNoId);
    } else {
      if (cell.type != Cell::Type::kInteger) return Fail(name, "is no whole number");
      ReadInteger(name, cell.integer, field);
    }
  }

  template <typename Field>
  void ReadInteger(const char* name, int64_t value, Field& field) {
    if constexpr (sizeof(Field) < sizeof(int64_t)) {
      using Limits = std::numeric_limits<Field>;
      if (value < static_cast<int64_t>(Limits::min()) ||
          value > static_cast<int64_t>(Limits::max())) {
        return Fail(name, "is out of range");
      }
    }
    field = static_cast<Field>(value);
  }

  void Fail(const char* name, std::string_view what) { status_ = table_.Wrong(name, what); }

  const TableReader& table_;
  std::vector<int> positions_;
  size_t at_ = 0;
  Status status_;
};

}  // namespace flowscope::store
