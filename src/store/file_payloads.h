// Values of a trace that lie in files, mapped when they are asked for.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/container.h"
#include "store/payload_codec.h"
#include "store/structure.h"
#include "store/whole_database.h"
#include "trace/payload_source.h"

namespace flowscope::store {

TableShape PayloadsShape();
TableShape StatsShape();

// Cells of a row; their text lives in what they are made of. `hash`: the value's, in hex.
void AppendPayloadCells(const StoredValue& value, const Cell& hash, std::vector<Cell>& cells);
void AppendStatsCells(const Stats& stats, std::vector<Cell>& cells);

class FilePayloads : public PayloadSource {
 public:
  // Reads which values there are. Values are checked when they are read: a shard that is missing
  // or too short is an error of those values alone. Where the recording was cut off, values that
  // are not whole are left out, and LeftOut tells of them.
  static Result<std::shared_ptr<const FilePayloads>> Open(const Container& container,
                                                          Database& database,
                                                          const StructureFile& file);
  // Of a trace whose rows are known; `complete`: it was finished.
  static Result<std::shared_ptr<const FilePayloads>> Open(const Container& container,
                                                          const WholeTrace& trace, bool complete);

  // Checks every value against its hash when it is first read.
  Result<Payload> Read(TensorId tensor) const override;
  std::optional<Stats> StoredStats(TensorId tensor) const override;
  std::optional<std::string> StoredHash(TensorId tensor) const override;

  // All rows, by tensor.
  std::vector<ValueRow> Values() const;
  std::vector<StatsRow> StatsRows() const;
  bool Has(TensorId tensor) const { return Find(tensor) != nullptr; }
  // How many values were left out and what is wrong with the first; empty where none was.
  const std::string& LeftOut() const { return left_out_; }

 private:
  struct Row {
    TensorId tensor = kNoId;
    uint32_t shard = 0;
    TensorId entry = kNoId;
    uint64_t offset = 0;
    uint64_t nbytes = 0;
    uint32_t dims = 0;
    DType dtype = DType::kInvalid;
    Encoding encoding = Encoding::kRaw;
    ContentKey hash;
  };
  struct Shard {
    Member member;
    Status status;
    std::string name;
  };

  Status ReadRows(Database& database, const StructureFile& file);
  Status ReadStats(Database& database, const StructureFile& file);
  Status AddRow(const TableReader& table, const StructureFile& file);
  void SetDims(const StringPool& pool);
  void MapShards(const Container& container, bool complete);
  void DropBroken();
  const Row* Find(TensorId tensor) const;
  Status Locate(const Row& row, Member& member) const;

  std::string path_;
  std::string left_out_;
  std::vector<Row> rows_;  // by tensor
  std::vector<Dims> dims_;
  std::vector<Shard> shards_;
  std::unordered_map<TensorId, Stats> stats_;
  mutable std::vector<std::atomic<bool>> verified_;  // by row
};

}  // namespace flowscope::store
