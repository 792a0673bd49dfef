#include "store/whole_database.h"

#include "store/file_payloads.h"
#include "store/files.h"

namespace flowscope::store {
namespace {

Status WriteValues(Database& database, const std::vector<ValueRow>& values,
                   std::vector<PayloadState>& states, std::vector<TableWriter>& written) {
  Result<TableWriter> table = TableWriter::Create(database, PayloadsShape());
  if (!table.ok()) return table.status();
  std::vector<Cell> cells;
  for (const ValueRow& row : values) {
    if (row.tensor >= states.size()) return Internal("a value of no tensor was stored");
    cells.clear();
    const std::string hash = row.value.hash.Hex();
    AppendPayloadCells(row.value, TextCell(hash), cells);
    FLOWSCOPE_RETURN_IF_ERROR(table->Add(row.tensor, cells));
    states[row.tensor] = PayloadState::kKept;
  }
  written.push_back(std::move(table).value());
  return Status::Ok();
}

Status WriteStats(Database& database, const std::vector<StatsRow>& stats,
                  std::vector<TableWriter>& written) {
  Result<TableWriter> table = TableWriter::Create(database, StatsShape());
  if (!table.ok()) return table.status();
  std::vector<Cell> cells;
  for (const StatsRow& row : stats) {
    cells.clear();
    AppendStatsCells(row.stats, cells);
    FLOWSCOPE_RETURN_IF_ERROR(table->Add(row.tensor, cells));
  }
  written.push_back(std::move(table).value());
  return Status::Ok();
}

}  // namespace

Status WriteWholeDatabase(const std::string& path, const TraceTables& tables,
                          StructureExtras extras, const std::vector<ValueRow>& values,
                          const std::vector<StatsRow>& stats) {
  Result<Database> database = Database::Create(path, false);
  if (!database.ok()) return database.status();
  FLOWSCOPE_RETURN_IF_ERROR(database->Execute("BEGIN"));
  extras.states.clear();
  for (const TensorRecord& tensor : tables.tensors) {
    const bool kept = tensor.state == PayloadState::kKept;
    extras.states.push_back(kept ? PayloadState::kNotKept : tensor.state);
  }
  std::vector<TableWriter> written;
  FLOWSCOPE_RETURN_IF_ERROR(WriteValues(*database, values, extras.states, written));
  FLOWSCOPE_RETURN_IF_ERROR(WriteStats(*database, stats, written));
  FLOWSCOPE_RETURN_IF_ERROR(WriteStructure(*database, tables, extras, written));
  FLOWSCOPE_RETURN_IF_ERROR(WriteChecksums(*database, written));
  FLOWSCOPE_RETURN_IF_ERROR(database->Execute("COMMIT"));
  written.clear();  // statements end before their database
  FLOWSCOPE_RETURN_IF_ERROR(database->Close());
  return SyncPath(path);
}

}  // namespace flowscope::store
