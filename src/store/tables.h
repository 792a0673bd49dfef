// Rows of one table, written and read with the table's digest.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/digest.h"
#include "store/sqlite.h"

namespace flowscope::store {

inline Cell IntegerCell(int64_t value) {
  Cell cell;
  cell.type = Cell::Type::kInteger;
  cell.integer = value;
  return cell;
}
// NULL for NaN, which SQLite does not have.
inline Cell RealCell(double value) {
  Cell cell;
  if (std::isnan(value)) return cell;
  cell.type = Cell::Type::kReal;
  cell.real = value;
  return cell;
}
inline Cell BytesCell(std::string_view bytes) {
  Cell cell;
  cell.type = Cell::Type::kBytes;
  cell.text = bytes;
  return cell;
}
// Text where it is UTF-8 without NUL, as SQLite's clients expect; else bytes.
Cell TextCell(std::string_view text);

// Names with commas.
std::string ColumnNames(const TableShape& shape);

// Makes the table where it is not there, and a statement that adds a row of it: the id, then the
// other columns. A row that has the id already is replaced.
Result<Statement> PrepareTable(Database& database, const TableShape& shape);

// Rows that stand in tables already, by the name of the table.
using RowsBefore = std::map<std::string, RowHashes, std::less<>>;

// Makes a table, or makes it what it has to be: rows that stand there as they are given are not
// touched. Rows must come in the order of their ids.
class TableWriter {
 public:
  // `before`, where the tables are not new, outlives the writer.
  static Result<TableWriter> Create(Database& database, const TableShape& shape,
                                    const RowsBefore* before = nullptr);

  // `cells` are the row's columns after the id.
  Status Add(int64_t id, const std::vector<Cell>& cells);
  // After the last row: what stood behind it is removed.
  Status End(Database& database);

  const std::string& name() const { return name_; }
  int64_t num_rows() const { return num_rows_; }
  const std::string& columns() const { return columns_; }
  std::string Hex() const { return digest_.Hex(); }

 private:
  bool Stands(int64_t id, std::string_view row) const;

  Statement insert_;
  Digest digest_;
  RowBytes row_;
  const RowHashes* before_ = nullptr;
  std::string name_;
  std::string columns_;
  int64_t num_rows_ = 0;
  int64_t end_ = 0;  // the id after the last one
};

// What a file says of one of its tables.
struct Checksum {
  int64_t num_rows = 0;
  std::string hash;
  std::string columns;  // names with commas; empty in files that were written before it was told
};
struct Checksums {
  bool by_row = false;  // hashes are those of RowSum, as they are while a recording goes on
  std::map<std::string, Checksum, std::less<>> tables;

  bool Tell(std::string_view table) const { return tables.contains(table); }
};

// Goes through a table in the order of its ids.
class TableReader {
 public:
  // `by_row`: how what is read is hashed.
  static Result<TableReader> Open(Database& database, const TableShape& shape, bool by_row);

  // False at the end.
  Result<bool> Next();
  int64_t id() const { return cells_.front().integer; }
  // All columns, the id first.
  const std::vector<Cell>& cells() const { return cells_; }
  // Position of a column; -1 where the table has none of that name.
  int Find(std::string_view column) const;
  const TableShape& shape() const { return shape_; }

  // After the last row: whether this is the table that was written.
  Status Verify(const Checksums& checksums) const;
  Status Wrong(std::string_view column, std::string_view what) const;

 private:
  void HashRow();

  TableShape shape_;
  Statement select_;
  Digest digest_;
  RowBytes row_;
  RowSum sum_;
  bool by_row_ = false;
  std::vector<Cell> cells_;
  int64_t num_rows_ = 0;
  int64_t last_id_ = -1;
  std::string path_;
};

}  // namespace flowscope::store
