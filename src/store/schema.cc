// What a file may declare: plain tables, and nothing that SQLite would compute.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/sqlite.h"

namespace flowscope::store {
namespace {

constexpr std::array<std::string_view, 3> kTypes = {"INTEGER", "TEXT", "BLOB"};
constexpr size_t kMaxColumns = 100;
constexpr size_t kMaxTables = 200;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// Takes "name" in its quotes; empty where there is none.
std::string TakeName(std::string_view& text) {
  if (text.empty() || text.front() != '"') return "";
  const size_t end = text.find('"', 1);
  if (end == std::string_view::npos) return "";
  const std::string_view name = text.substr(1, end - 1);
  if (!std::all_of(name.begin(), name.end(), IsNameCharacter)) return "";
  text.remove_prefix(end + 1);
  return std::string(name);
}

bool Take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

bool TakeColumn(std::string_view& text, bool first, TableShape& table) {
  ColumnShape column;
  column.name = TakeName(text);
  if (column.name.empty()) return false;
  for (const std::string_view type : kTypes) {
    if (!text.starts_with(" " + std::string(type))) continue;
    text.remove_prefix(type.size() + 1);
    column.type = type;
    break;
  }
  if (first && !Take(text, " PRIMARY KEY")) return false;
  table.columns.push_back(std::move(column));
  return table.columns.size() <= kMaxColumns;
}

}  // namespace

// The text must be what CreateTableText writes, to the character.
std::optional<TableShape> ParseCreateTable(std::string_view sql) {
  TableShape table;
  if (!Take(sql, "CREATE TABLE ")) return std::nullopt;
  table.name = TakeName(sql);
  if (table.name.empty() || !Take(sql, "(")) return std::nullopt;
  if (!TakeColumn(sql, true, table)) return std::nullopt;
  while (Take(sql, ", ")) {
    if (!TakeColumn(sql, false, table)) return std::nullopt;
  }
  if (sql != ")" || table.columns.front().type != "INTEGER") return std::nullopt;
  return table;
}

std::string CreateTableText(const TableShape& table) {
  std::vector<std::string> columns;
  for (const ColumnShape& column : table.columns) {
    columns.push_back(
        fmt::format("\"{}\"{}{}", column.name, column.type.empty() ? "" : " ", column.type));
  }
  columns.front() += " PRIMARY KEY";
  return fmt::format("CREATE TABLE \"{}\"({})", table.name, fmt::join(columns, ", "));
}

Result<std::vector<TableShape>> ReadSchema(Database& database) {
  Result<Statement> query = database.Prepare("SELECT type, name, sql FROM sqlite_schema");
  if (!query.ok()) return query.status();
  std::vector<TableShape> tables;
  while (true) {
    const Result<bool> row = query->Step();
    if (!row.ok()) return row.status();
    if (!*row) return tables;
    const std::optional<TableShape> table = ParseCreateTable(query->Column(2).text);
    if (query->Column(0).text != "table" || !table || table->name != query->Column(1).text ||
        tables.size() >= kMaxTables) {
      return Corruption(
          fmt::format("{} declares {} {:?}: a trace holds plain tables and nothing that computes",
                      database.path(), query->Column(0).text.substr(0, 20),
                      query->Column(1).text.substr(0, 60)));
    }
    tables.push_back(*table);
  }
}

}  // namespace flowscope::store
