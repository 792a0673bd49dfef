// The database of a finished trace.
#pragma once

#include <string>
#include <vector>

#include "base/stats.h"
#include "store/shard_header.h"
#include "store/structure.h"

namespace flowscope::store {

struct ValueRow {
  TensorId tensor = kNoId;
  StoredValue value;
};
struct StatsRow {
  TensorId tensor = kNoId;
  Stats stats;
};

// Rows are in the order of their tensors. Of the tensors that the records call kept, those without
// a row are written as not kept; every tensor with a row is kept.
struct WholeTrace {
  const TraceTables& tables;
  StructureExtras extras;
  const std::vector<ValueRow>& values;
  const std::vector<StatsRow>& stats;
};

// A new file. The disk is not waited for.
Status WriteWholeDatabase(const std::string& path, WholeTrace trace);

// Makes the database of a recording in progress that of the finished trace, in one transaction:
// rows that are not `before` as they have to be, and checksums in place of the progress.
Status FinishDatabase(Database& database, const RowsBefore& before, WholeTrace trace);

}  // namespace flowscope::store
