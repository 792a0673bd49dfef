#include "store/whole_database.h"

#include <fmt/format.h>

#include "store/file_payloads.h"
#include "store/files.h"

namespace flowscope::store {
namespace {

Status WriteValues(TablesWriter& writer, const std::vector<ValueRow>& values,
                   std::vector<PayloadState>& states) {
  const Result<TableWriter*> table = writer.Begin(PayloadsShape());
  if (!table.ok()) return table.status();
  std::vector<Cell> cells;
  for (const ValueRow& row : values) {
    if (row.tensor >= states.size()) return Internal("a value of no tensor was stored");
    cells.clear();
    const std::string hash = row.value.hash.Hex();
    AppendPayloadCells(row.value, TextCell(hash), cells);
    FLOWSCOPE_RETURN_IF_ERROR((*table)->Add(row.tensor, cells));
    states[row.tensor] = PayloadState::kKept;
  }
  return Status::Ok();
}

Status WriteStats(TablesWriter& writer, const std::vector<StatsRow>& stats) {
  const Result<TableWriter*> table = writer.Begin(StatsShape());
  if (!table.ok()) return table.status();
  std::vector<Cell> cells;
  for (const StatsRow& row : stats) {
    cells.clear();
    AppendStatsCells(row.stats, cells);
    FLOWSCOPE_RETURN_IF_ERROR((*table)->Add(row.tensor, cells));
  }
  return Status::Ok();
}

Status WriteTables(TablesWriter& writer, WholeTrace& trace) {
  std::vector<PayloadState>& states = trace.extras.states;
  states.clear();
  for (const TensorRecord& tensor : trace.tables.tensors) {
    const bool kept = tensor.state == PayloadState::kKept;
    states.push_back(kept ? PayloadState::kNotKept : tensor.state);
  }
  FLOWSCOPE_RETURN_IF_ERROR(WriteValues(writer, trace.values, states));
  FLOWSCOPE_RETURN_IF_ERROR(WriteStats(writer, trace.stats));
  FLOWSCOPE_RETURN_IF_ERROR(WriteStructure(writer, trace.tables, trace.extras));
  return writer.WriteChecksums();
}

}  // namespace

Status WriteWholeDatabase(const std::string& path, WholeTrace trace) {
  Result<Database> database = Database::Create(path, false);
  if (!database.ok()) return database.status();
  FLOWSCOPE_RETURN_IF_ERROR(database->Execute("BEGIN"));
  {
    TablesWriter writer(*database);  // its statements end before their database
    FLOWSCOPE_RETURN_IF_ERROR(WriteTables(writer, trace));
  }
  FLOWSCOPE_RETURN_IF_ERROR(database->Execute("COMMIT"));
  return database->Close();
}

Status FinishDatabase(Database& database, const RowsBefore& before, WholeTrace trace) {
  FLOWSCOPE_RETURN_IF_ERROR(database.Execute("BEGIN"));
  {
    TablesWriter writer(database, &before);
    FLOWSCOPE_RETURN_IF_ERROR(WriteTables(writer, trace));
  }
  FLOWSCOPE_RETURN_IF_ERROR(
      database.Execute(fmt::format("DROP TABLE IF EXISTS \"{}\"", kProgressTable)));
  return database.Execute("COMMIT");
}

}  // namespace flowscope::store
