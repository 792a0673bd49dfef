// SQLite, linked into us and hidden: TensorFlow exports its own sqlite3_ functions to the whole
// process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sqlite3.h>

#include "base/status.h"

namespace flowscope::store {

// One value of a row. Text and bytes live until the statement moves on.
struct Cell {
  enum class Type : uint8_t { kNull, kInteger, kReal, kText, kBytes };
  Type type = Type::kNull;
  int64_t integer = 0;
  double real = 0;
  std::string_view text;  // of kText and kBytes
};

class Statement {
 public:
  Statement() = default;

  // Bind before Step; columns count from 0. Text and bytes must live until Step returns.
  void Bind(int at, const Cell& cell);
  // True: there is a row. False: done.
  Result<bool> Step();
  // Steps a statement that gives no rows, and makes it ready for the next.
  Status Run();
  int num_columns() const;
  std::string_view ColumnName(int at) const;
  Cell Column(int at) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string path_;
};

class Database {
 public:
  Database() = default;

  // A new file that nobody else opens while it is written; `wal`: readers see what was committed.
  static Result<Database> Create(const std::string& path, bool wal);
  // The file's bytes, read-only. Nothing is executed that the file brings along, and no file is
  // opened: `bytes` must outlive the database.
  static Result<Database> FromBytes(std::string_view bytes, const std::string& path);
  // A file of our own, with what its write-ahead log holds. Errors call it `shown`.
  static Result<Database> OpenOwn(const std::string& path, const std::string& shown);

  Status Execute(const std::string& sql);
  Result<Statement> Prepare(const std::string& sql);
  // Works the write-ahead log in, waits for the disk and empties the log. False where somebody who
  // reads does not allow it.
  Result<bool> EmptyLog();
  const std::string& path() const { return path_; }
  Status Close();

  static std::string_view Version() { return sqlite3_libversion(); }

 private:
  struct CloseIt {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  static Result<Database> Open(const std::string& name, const std::string& path, int flags);
  Status Harden(size_t nbytes);
  Status Error(std::string_view what) const;

  std::unique_ptr<sqlite3, CloseIt> database_;
  std::string path_;
};

// A column as format 1 allows it: a name, a type, nothing that computes.
struct ColumnShape {
  std::string name;
  std::string type;  // INTEGER, TEXT, BLOB or empty
};

// Columns of every table by CREATE TABLE text; Corruption where the file holds anything but plain
// tables: views, triggers, indexes, virtual tables, defaults, checks, generated columns.
struct TableShape {
  std::string name;
  std::vector<ColumnShape> columns;
};
Result<std::vector<TableShape>> ReadSchema(Database& database);
std::optional<TableShape> ParseCreateTable(std::string_view sql);
std::string CreateTableText(const TableShape& table);

}  // namespace flowscope::store
