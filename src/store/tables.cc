#include "store/tables.h"

#include <fmt/format.h>

namespace flowscope::store {
namespace {

constexpr std::string_view kCreateTable = "CREATE TABLE ";

// Length of the UTF-8 sequence at `at`, 0 where there is none.
size_t Utf8Length(std::string_view text, size_t at) {
  const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(at + 1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool outside = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return overlong || outside ? 0 : length;
}

bool IsPlainText(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8Length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

}  // namespace

std::string ColumnNames(const TableShape& shape) {
  std::string names;
  for (const ColumnShape& column : shape.columns) {
    names.append(names.empty() ? "" : ",").append(column.name);
  }
  return names;
}

Cell TextCell(std::string_view text) {
  Cell cell = BytesCell(text);
  if (IsPlainText(text)) cell.type = Cell::Type::kText;
  return cell;
}

Result<Statement> PrepareTable(Database& database, const TableShape& shape) {
  std::string create = CreateTableText(shape);
  create.insert(kCreateTable.size(), "IF NOT EXISTS ");
  FLOWSCOPE_RETURN_IF_ERROR(database.Execute(create));
  std::string marks = "?";
  for (size_t i = 1; i < shape.columns.size(); ++i) marks += ", ?";
  return database.Prepare(
      fmt::format("INSERT OR REPLACE INTO \"{}\" VALUES({})", shape.name, marks));
}

Result<TableWriter> TableWriter::Create(Database& database, const TableShape& shape,
                                        const RowsBefore* before) {
  Result<Statement> insert = PrepareTable(database, shape);
  if (!insert.ok()) return insert.status();
  TableWriter writer;
  if (before != nullptr && before->contains(shape.name)) {
    writer.before_ = &before->find(shape.name)->second;
  }
  writer.insert_ = std::move(insert).value();
  writer.name_ = shape.name;
  writer.columns_ = ColumnNames(shape);
  return writer;
}

Status TableWriter::Add(int64_t id, const std::vector<Cell>& cells) {
  const Cell key = IntegerCell(id);
  const std::string_view row = row_.Of(key, cells);
  digest_.Add(row);
  ++num_rows_;
  end_ = id + 1;
  if (Stands(id, row)) return Status::Ok();
  insert_.Bind(0, key);
  for (size_t i = 0; i < cells.size(); ++i) insert_.Bind(static_cast<int>(i) + 1, cells[i]);
  return insert_.Run();
}

bool TableWriter::Stands(int64_t id, std::string_view row) const {
  const auto at = static_cast<size_t>(id);
  return before_ != nullptr && at < before_->size() && (*before_)[at] == HashOfRow(row);
}

Status TableWriter::End(Database& database) {
  if (before_ == nullptr || before_->size() <= static_cast<size_t>(end_)) return Status::Ok();
  return database.Execute(fmt::format("DELETE FROM \"{}\" WHERE rowid >= {}", name_, end_));
}

Result<TableReader> TableReader::Open(Database& database, const TableShape& shape, bool by_row) {
  // The order of the ids is the order of the rows in the file: nothing is sorted.
  const std::string sql =
      fmt::format("SELECT * FROM \"{}\" ORDER BY \"{}\"", shape.name, shape.columns.front().name);
  Result<Statement> select = database.Prepare(sql);
  if (!select.ok()) return select.status();
  TableReader reader;
  reader.shape_ = shape;
  reader.select_ = std::move(select).value();
  reader.path_ = database.path();
  reader.cells_.resize(shape.columns.size());
  reader.by_row_ = by_row;
  return reader;
}

Result<bool> TableReader::Next() {
  Result<bool> row = select_.Step();
  if (!row.ok() || !*row) return row;
  for (size_t i = 0; i < cells_.size(); ++i) {
    cells_[i] = select_.Column(static_cast<int>(i));
  }
  HashRow();
  if (cells_[0].type != Cell::Type::kInteger || id() <= last_id_) {
    return Wrong(shape_.columns.front().name, "does not count up");
  }
  last_id_ = id();
  ++num_rows_;
  return true;
}

void TableReader::HashRow() {
  const std::string_view row = row_.Of(cells_.front(), std::span<const Cell>(cells_).subspan(1));
  if (by_row_) {
    sum_.Add(HashOfRow(row));
  } else {
    digest_.Add(row);
  }
}

int TableReader::Find(std::string_view column) const {
  for (size_t i = 0; i < shape_.columns.size(); ++i) {
    if (shape_.columns[i].name == column) return static_cast<int>(i);
  }
  return -1;
}

Status TableReader::Verify(const Checksums& checksums) const {
  const auto it = checksums.tables.find(shape_.name);
  if (it == checksums.tables.end()) {
    return Corruption(fmt::format("{} has no checksum of its table {}", path_, shape_.name));
  }
  const std::string& columns = it->second.columns;
  if (!columns.empty() && columns != ColumnNames(shape_)) {
    return Corruption(fmt::format("{}: table {} has other columns than were written: {}", path_,
                                  shape_.name, columns));
  }
  const std::string hash = by_row_ ? sum_.Hex() : digest_.Hex();
  if (it->second.num_rows == num_rows_ && it->second.hash == hash) return Status::Ok();
  return Corruption(
      fmt::format("{}: table {} is not what was written: {} rows of {}, or a changed value. Copy "
                  "the file again, or record again",
                  path_, shape_.name, num_rows_, it->second.num_rows));
}

Status TableReader::Wrong(std::string_view column, std::string_view what) const {
  return Corruption(
      fmt::format("{}: row {} of table {}: {} {}", path_, num_rows_, shape_.name, column, what));
}

}  // namespace flowscope::store
