#include "store/live_tables.h"

#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "store/structure.h"

namespace flowscope::store {
namespace {

constexpr std::string_view kCreateTable = "CREATE TABLE ";

std::span<const Cell> CellsOf(const RowBatch& rows, size_t row) {
  const size_t columns = rows.shape.columns.size() - 1;
  return std::span<const Cell>(rows.cells).subspan(row * columns, columns);
}

}  // namespace

Result<LiveTables::Table*> LiveTables::Find(Database& database, const TableShape& shape) {
  if (const auto known = tables_.find(shape.name); known != tables_.end()) return &known->second;
  std::string create = CreateTableText(shape);
  create.insert(kCreateTable.size(), "IF NOT EXISTS ");
  FLOWSCOPE_RETURN_IF_ERROR(database.Execute(create));
  std::string marks = "?";
  for (size_t i = 1; i < shape.columns.size(); ++i) marks += ", ?";
  Result<Statement> insert =
      database.Prepare(fmt::format("INSERT OR REPLACE INTO \"{}\" VALUES({})", shape.name, marks));
  if (!insert.ok()) return insert.status();
  Table table;
  table.insert = std::move(insert).value();
  table.columns = ColumnNames(shape);
  table.number = static_cast<int64_t>(tables_.size());
  table.grown = true;
  return &tables_.emplace(shape.name, std::move(table)).first->second;
}

// A row that was open is replaced; any other is new.
void LiveTables::Count(Table& table, const RowBatch& rows, size_t row) {
  const int64_t id = rows.ids[row];
  const ContentKey hash = hasher_.Hash(IntegerCell(id), CellsOf(rows, row));
  if (const auto before = table.open.find(id); before != table.open.end()) {
    table.sum.Remove(before->second);
    table.open.erase(before);
  } else {
    ++table.num_rows;
  }
  table.sum.Add(hash);
  if (rows.StaysOpen(row)) table.open.emplace(id, hash);
}

Status LiveTables::Write(Database& database, const RowBatch& rows) {
  const Result<Table*> found = Find(database, rows.shape);
  if (!found.ok()) return found.status();
  Table& table = **found;
  for (size_t row = 0; row < rows.ids.size(); ++row) {
    int at = 0;
    table.insert.Bind(at++, IntegerCell(rows.ids[row]));
    for (const Cell& cell : CellsOf(rows, row)) table.insert.Bind(at++, cell);
    FLOWSCOPE_RETURN_IF_ERROR(table.insert.Run());
    Count(table, rows, row);
    table.grown = true;
  }
  return Status::Ok();
}

Status LiveTables::WriteProgress(Database& database) {
  const Result<Table*> found = Find(database, ChecksumsShape(kProgressTable));
  if (!found.ok()) return found.status();
  Statement& insert = (*found)->insert;
  for (auto& [name, table] : tables_) {
    if (name == kProgressTable || !std::exchange(table.grown, false)) continue;
    const std::string hash = table.sum.Hex();
    const Cell cells[] = {IntegerCell(table.number), TextCell(name), IntegerCell(table.num_rows),
                          TextCell(hash), TextCell(table.columns)};
    int at = 0;
    for (const Cell& cell : cells) insert.Bind(at++, cell);
    FLOWSCOPE_RETURN_IF_ERROR(insert.Run());
  }
  return Status::Ok();
}

}  // namespace flowscope::store
