// The structure of a trace, everything but the values, as tables of a database.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/tables.h"
#include "trace/trace.h"

namespace flowscope::store {

// What the structure on disk says that the trace in memory does not.
struct StructureExtras {
  std::vector<std::string> module_configs;  // by module; empty: what the records say
  std::vector<PayloadState> states;         // by tensor; empty: what the records say
  std::vector<std::string> notes;           // after the trace's own
};

// The tables of a trace that is written as a whole, in the order in which they are begun.
class TablesWriter {
 public:
  // Where tables stand already `before` is told; it outlives the writer.
  explicit TablesWriter(Database& database, const RowsBefore* before = nullptr)
      : database_(database), before_(before) {}

  // Valid until the next one is begun.
  Result<TableWriter*> Begin(const TableShape& shape);
  // After the last table, the last thing that is written: what the checksums say of all of them.
  // From then on the file counts as complete.
  Status WriteChecksums();

 private:
  Database& database_;
  const RowsBefore* before_;
  std::vector<TableWriter> written_;
};

// Writes all tables of the structure.
Status WriteStructure(TablesWriter& tables, const TraceTables& rows, const StructureExtras& extras);
// What a file says of its tables: under the first name when it is complete, under the other one for
// what was committed so far.
inline constexpr std::string_view kChecksumsTable = "checksums";
inline constexpr std::string_view kProgressTable = "progress";
TableShape ChecksumsShape(std::string_view name);

// "[1,3]" of a shape as the pool has it.
std::string DimsText(std::string_view dims_bytes);
TableShape InfoShape();

// The tables that `schema` names, as they were found.
struct StructureFile {
  TraceTables tables;
  std::vector<TableShape> schema;
  // Of a recording that never ended those that were committed with its rows; none where its writer
  // did not know of them.
  Checksums checksums;
  bool complete = false;

  const TableShape* Find(std::string_view table) const;
  Result<TableReader> OpenTable(Database& database, const TableShape& shape) const {
    return TableReader::Open(database, shape, checksums.by_row);
  }
  Status Verify(const TableReader& table) const {
    const bool told = complete || !checksums.tables.empty();
    return told ? table.Verify(checksums) : Status::Ok();
  }
};

// Reads and checks: what comes back passes LintTables and no walk over it is longer than the file.
Result<StructureFile> ReadStructure(Database& database);

// What must hold beyond LintTables, so that no question about the trace takes more than the file's
// size: spans share no rows, shapes have a size, chains are short.
Status CheckBounds(const TraceTables& tables, const std::string& path);

// Makes tables of a recording that was cut off consistent: calls end where the ops end, passes are
// counted again, rows that name what was not written are cut.
void MendInterrupted(TraceTables& tables);

}  // namespace flowscope::store
