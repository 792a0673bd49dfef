// The tables of a recording in progress, as its database has them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "store/batch.h"
#include "store/tables.h"

namespace flowscope::store {

// Writes rows, and with every transaction what a reader must find then: how many rows each table
// has, and the hash over them. Each call stands between BEGIN and COMMIT.
class LiveTables {
 public:
  // Makes the table where it is not there. Rows that are there are replaced.
  Status Write(Database& database, const RowBatch& rows);
  // The last call of a transaction.
  Status WriteProgress(Database& database);
  // Statements end before their database. Gives what was written.
  RowsBefore End();

 private:
  struct Table {
    Statement insert;
    std::string columns;
    int64_t number = 0;  // of its row in the table of progress
    int64_t num_rows = 0;
    RowSum sum;
    RowHashes rows;
    bool grown = false;  // since its progress was written
  };

  Result<Table*> Find(Database& database, const TableShape& shape);
  void Count(Table& table, int64_t id, std::span<const Cell> cells);

  std::map<std::string, Table, std::less<>> tables_;
  RowBytes row_;
};

}  // namespace flowscope::store
