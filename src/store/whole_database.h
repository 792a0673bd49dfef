// The database of a finished trace, written at once.
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

// A new file. Rows are in the order of their tensors. Of the tensors that the records call kept,
// those without a row are written as not kept; every tensor with a row is kept.
Status WriteWholeDatabase(const std::string& path, const TraceTables& tables,
                          StructureExtras extras, const std::vector<ValueRow>& values,
                          const std::vector<StatsRow>& stats);

}  // namespace flowscope::store
