#include "store/sqlite.h"

#include <fmt/format.h>

namespace flowscope::store {
namespace {

Status ErrorOf(sqlite3* database, std::string_view what, const std::string& path) {
  const int code = sqlite3_errcode(database) & 0xff;
  const std::string text = fmt::format("cannot {} {}: {}", what, path, sqlite3_errmsg(database));
  const bool broken = code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_SCHEMA ||
                      code == SQLITE_ERROR || code == SQLITE_TOOBIG;
  return broken ? Corruption(text) : IoError(text);
}

}  // namespace

void Statement::Bind(int at, const Cell& cell) {
  sqlite3_stmt* statement = statement_.get();
  switch (cell.type) {
    case Cell::Type::kNull:
      sqlite3_bind_null(statement, at + 1);
      break;
    case Cell::Type::kInteger:
      sqlite3_bind_int64(statement, at + 1, cell.integer);
      break;
    case Cell::Type::kReal:
      sqlite3_bind_double(statement, at + 1, cell.real);
      break;
    case Cell::Type::kText:
      sqlite3_bind_text64(statement, at + 1, cell.text.data(), cell.text.size(), SQLITE_STATIC,
                          SQLITE_UTF8);
      break;
    case Cell::Type::kBytes:
      sqlite3_bind_blob64(statement, at + 1, cell.text.data(), cell.text.size(), SQLITE_STATIC);
      break;
  }
}

Result<bool> Statement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return ErrorOf(sqlite3_db_handle(statement_.get()), "use", path_);
}

Status Statement::Run() {
  const Result<bool> row = Step();
  sqlite3_reset(statement_.get());
  return row.status();
}

int Statement::num_columns() const { return sqlite3_column_count(statement_.get()); }

std::string_view Statement::ColumnName(int at) const {
  const char* name = sqlite3_column_name(statement_.get(), at);
  return name == nullptr ? std::string_view() : name;
}

Cell Statement::Column(int at) const {
  sqlite3_stmt* statement = statement_.get();
  Cell cell;
  switch (sqlite3_column_type(statement, at)) {
    case SQLITE_INTEGER:
      cell.type = Cell::Type::kInteger;
      cell.integer = sqlite3_column_int64(statement, at);
      break;
    case SQLITE_FLOAT:
      cell.type = Cell::Type::kReal;
      cell.real = sqlite3_column_double(statement, at);
      break;
    case SQLITE_TEXT:
    case SQLITE_BLOB: {
      const bool text = sqlite3_column_type(statement, at) == SQLITE_TEXT;
      const void* data = text ? static_cast<const void*>(sqlite3_column_text(statement, at))
                              : sqlite3_column_blob(statement, at);
      const auto nbytes = static_cast<size_t>(sqlite3_column_bytes(statement, at));
      cell.type = text ? Cell::Type::kText : Cell::Type::kBytes;
      if (data != nullptr) cell.text = {static_cast<const char*>(data), nbytes};
      break;
    }
    default:
      break;
  }
  return cell;
}

Status Database::Error(std::string_view what) const {
  return ErrorOf(database_.get(), what, path_);
}

Result<Database> Database::Open(const std::string& name, const std::string& path, int flags) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database;
  database.database_.reset(raw);
  database.path_ = path;
  if (raw == nullptr) return IoError("cannot open " + path + ": out of memory");
  if (code != SQLITE_OK) return database.Error("open");
  return database;
}

Result<Database> Database::Create(const std::string& path, bool wal) {
  Result<Database> database =
      Open(path, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW);
  if (!database.ok()) return database;
  // A reader of a finished file needs no log beside it, and its writer waits for the disk at the
  // end. One being written waits where its log is worked in, every 64 MB and when a shard closes:
  // docs/trace_format.md states the policy.
  const Status status = database->Execute(wal ? "PRAGMA journal_mode=WAL; "
                                                "PRAGMA synchronous=NORMAL; "
                                                "PRAGMA wal_autocheckpoint=16384;"
                                              : "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; "
                                                "PRAGMA locking_mode=EXCLUSIVE;");
  if (!status.ok()) return status;
  return database;
}

Status Database::Harden(size_t nbytes) {
  sqlite3* database = database_.get();
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH,
                static_cast<int>(std::min<size_t>(std::max<size_t>(nbytes, 1 << 16), 1 << 30)));
  return Execute("PRAGMA cell_size_check=ON; PRAGMA query_only=ON; PRAGMA temp_store=MEMORY;");
}

Result<Database> Database::FromBytes(std::string_view bytes, const std::string& path) {
  Result<Database> database = Open(":memory:", path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (!database.ok()) return database;
  // Read-only: SQLite does not write to the memory.
  auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  const int code = sqlite3_deserialize(database->database_.get(), "main", data, size, size,
                                       SQLITE_DESERIALIZE_READONLY);
  if (code != SQLITE_OK) return Corruption(path + " is no SQLite file");
  FLOWSCOPE_RETURN_IF_ERROR(database->Harden(bytes.size()));
  return database;
}

Result<Database> Database::OpenOwn(const std::string& path, const std::string& shown) {
  Result<Database> database = Open(path, shown, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW);
  if (!database.ok()) return database;
  FLOWSCOPE_RETURN_IF_ERROR(database->Harden(1 << 30));
  return database;
}

Status Database::Execute(const std::string& sql) {
  const int code = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status::Ok() : Error("use");
}

Result<Statement> Database::Prepare(const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &raw, nullptr);
  if (code != SQLITE_OK) return Error("use");
  Statement statement;
  statement.statement_.reset(raw);
  statement.path_ = path_;
  return statement;
}

Result<bool> Database::EmptyLog() {
  Result<Statement> checkpoint = Prepare("PRAGMA wal_checkpoint(TRUNCATE)");
  if (!checkpoint.ok()) return checkpoint.status();
  Result<bool> row = checkpoint->Step();
  if (!row.ok()) return row;
  return *row && checkpoint->Column(0).integer == 0;
}

Status Database::Close() {
  sqlite3* raw = database_.release();
  if (raw == nullptr || sqlite3_close(raw) == SQLITE_OK) return Status::Ok();
  const Status status = ErrorOf(raw, "close", path_);
  sqlite3_close_v2(raw);
  return status;
}

}  // namespace flowscope::store
