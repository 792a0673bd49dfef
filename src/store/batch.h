// What a recording in progress has added since the last batch, copied so that another thread can
// write it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/fields.h"
#include "trace/trace.h"

namespace flowscope::store {

// Rows of one table as cells, ready to be written over what stands there.
struct RowBatch {
  explicit RowBatch(TableShape table) : shape(std::move(table)) {}

  TableShape shape;
  std::vector<int64_t> ids;
  std::vector<Cell> cells;  // of all rows, one after the other, without the ids
  std::vector<std::unique_ptr<const std::string>> texts;  // of cells whose text is made here
  std::shared_ptr<const void> pool;                       // of cells whose text stands in one

  Cell OwnText(std::string text) {
    texts.push_back(std::make_unique<const std::string>(std::move(text)));
    return TextCell(*texts.back());
  }
};
using Batch = std::vector<RowBatch>;

// Follows the tables of one recording. A batch outlives them: it may be written after they are
// gone.
class BatchMaker {
 public:
  // True where enough has been added for a batch to be worth its transaction.
  bool Due(const TraceTables& tables, int64_t now_ns) const;
  // Everything that was added or was unfinished in the batch before.
  Batch Make(const TraceTables& tables, int64_t now_ns);

 private:
  struct Progress {
    size_t done = 0;
    std::vector<uint32_t> unfinished;
  };

  template <typename Record>
  void AddRows(const char* name, const std::vector<Record>& rows, Batch& batch);
  void AddPool(const char* name, const char* column, const StringPool& pool, Batch& batch);
  void AddShapes(const StringPool& pool, Batch& batch);
  void AddList(const char* name, const char* column, const std::vector<uint32_t>& ids,
               Batch& batch);
  void AddInfo(const TraceTables& tables, Batch& batch);
  Progress& Of(const char* name);

  std::vector<std::pair<std::string_view, Progress>> progress_;
  size_t ops_done_ = 0;
  int64_t last_ns_ = 0;
  int64_t last_whole_ns_ = 0;
  bool whole_ = true;  // this batch writes small tables that change in place once more
};

}  // namespace flowscope::store
