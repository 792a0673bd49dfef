#include "store/live_tables.h"

#include <string_view>
#include <utility>

#include "store/structure.h"

namespace flowscope::store {
namespace {

std::span<const Cell> CellsOf(const RowBatch& rows, size_t row) {
  const size_t columns = rows.shape.columns.size() - 1;
  return std::span<const Cell>(rows.cells).subspan(row * columns, columns);
}

}  // namespace

Result<LiveTables::Table*> LiveTables::Find(Database& database, const TableShape& shape) {
  if (const auto known = tables_.find(shape.name); known != tables_.end()) return &known->second;
  Result<Statement> insert = PrepareTable(database, shape);
  if (!insert.ok()) return insert.status();
  Table table;
  table.insert = std::move(insert).value();
  table.columns = ColumnNames(shape);
  table.number = static_cast<int64_t>(tables_.size());
  table.grown = true;
  return &tables_.emplace(shape.name, std::move(table)).first->second;
}

// A row that is there is replaced; any other is new.
void LiveTables::Count(Table& table, int64_t id, std::span<const Cell> cells) {
  const auto at = static_cast<size_t>(id);
  if (at >= table.rows.size()) table.rows.resize(at + 1);
  ContentKey& hash = table.rows[at];
  if (hash == ContentKey()) ++table.num_rows;
  table.sum.Remove(hash);
  hash = HashOfRow(row_.Of(IntegerCell(id), cells));
  table.sum.Add(hash);
}

Status LiveTables::Write(Database& database, const RowBatch& rows) {
  const Result<Table*> found = Find(database, rows.shape);
  if (!found.ok()) return found.status();
  Table& table = **found;
  for (size_t row = 0; row < rows.ids.size(); ++row) {
    const std::span<const Cell> cells = CellsOf(rows, row);
    int at = 0;
    table.insert.Bind(at++, IntegerCell(rows.ids[row]));
    for (const Cell& cell : cells) table.insert.Bind(at++, cell);
    FLOWSCOPE_RETURN_IF_ERROR(table.insert.Run());
    Count(table, rows.ids[row], cells);
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

RowsBefore LiveTables::End() {
  RowsBefore rows;
  for (auto& [name, table] : tables_) rows.emplace(name, std::move(table.rows));
  tables_.clear();
  return rows;
}

}  // namespace flowscope::store
