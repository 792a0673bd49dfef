// The tables of a recording in progress, as its database has them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include "store/batch.h"
#include "store/digest.h"
#include "store/sqlite.h"

namespace flowscope::store {

// Writes rows, and with every transaction what a reader must find then: how many rows each table
// has, and the hash over them. Each call stands between BEGIN and COMMIT.
class LiveTables {
 public:
  // Makes the table where it is not there. Rows that are there are replaced.
  Status Write(Database& database, const RowBatch& rows);
  // The last call of a transaction.
  Status WriteProgress(Database& database);
  // Statements end before their database.
  void Clear() { tables_.clear(); }

 private:
  struct Table {
    Statement insert;
    std::string columns;
    int64_t number = 0;  // of its row in the table of progress
    int64_t num_rows = 0;
    RowSum sum;
    std::unordered_map<int64_t, ContentKey> open;  // rows that may be written once more
    bool grown = false;                            // since its progress was written
  };

  Result<Table*> Find(Database& database, const TableShape& shape);
  void Count(Table& table, const RowBatch& rows, size_t row);

  std::map<std::string, Table, std::less<>> tables_;
  RowHasher hasher_;
};

}  // namespace flowscope::store
