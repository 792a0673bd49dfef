#include "store/file_payloads.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "store/shard_header.h"
#include "store/trace_format.h"

namespace flowscope::store {
namespace {

constexpr const char* kStatsIntegers[] = {"count", "zeros", "nan", "pos_inf", "neg_inf"};
constexpr const char* kStatsReals[] = {"min", "max", "mean", "std"};

Cell At(const TableReader& table, std::string_view column) {
  const int at = table.Find(column);
  return at < 0 ? Cell() : table.cells()[static_cast<size_t>(at)];
}

// SQLite has no NaN: it becomes NULL.
double RealOf(const Cell& cell) {
  return cell.type == Cell::Type::kReal ? cell.real : std::numeric_limits<double>::quiet_NaN();
}

Stats StatsOf(const TableReader& table) {
  Stats stats;
  stats.numeric = At(table, "numeric").integer != 0;
  int64_t* const integers[] = {&stats.count, &stats.zeros, &stats.nan, &stats.pos_inf,
                               &stats.neg_inf};
  for (size_t i = 0; i < std::size(integers); ++i) {
    *integers[i] = At(table, kStatsIntegers[i]).integer;
  }
  double* const reals[] = {&stats.min, &stats.max, &stats.mean, &stats.std};
  for (size_t i = 0; i < std::size(reals); ++i) *reals[i] = RealOf(At(table, kStatsReals[i]));
  const std::string_view bins = At(table, "histogram").text;
  if (bins.size() == sizeof(stats.histogram)) {
    std::memcpy(stats.histogram.data(), bins.data(), bins.size());
  }
  return stats;
}

// Calls `row(table)` for each row; a table that an unfinished recording has not made is empty.
template <typename Row>
Status ForRows(Database& database, const StructureFile& file, std::string_view name, Row row) {
  const TableShape* shape = file.Find(name);
  if (shape == nullptr) {
    if (!file.complete && !file.checksums.Tell(name)) return Status::Ok();
    return Corruption(fmt::format("{} has no table {}", database.path(), name));
  }
  Result<TableReader> table = file.OpenTable(database, *shape);
  if (!table.ok()) return table.status();
  while (true) {
    const Result<bool> more = table->Next();
    if (!more.ok()) return more.status();
    if (!*more) return file.Verify(*table);
    FLOWSCOPE_RETURN_IF_ERROR(row(*table));
  }
}

}  // namespace

TableShape PayloadsShape() {
  return {"payloads",
          {{"tensor", "INTEGER"},
           {"shard", "INTEGER"},
           {"entry", "INTEGER"},
           {"file_offset", "INTEGER"},
           {"nbytes", "INTEGER"},
           {"encoding", "TEXT"},
           {"hash", "TEXT"}}};
}

TableShape StatsShape() {
  TableShape shape{"stats", {{"tensor", "INTEGER"}, {"numeric", "INTEGER"}}};
  for (const char* name : kStatsIntegers) shape.columns.push_back({name, "INTEGER"});
  for (const char* name : kStatsReals) shape.columns.push_back({name, ""});
  shape.columns.push_back({"histogram", "BLOB"});
  return shape;
}

void AppendPayloadCells(const StoredValue& value, const Cell& hash, std::vector<Cell>& cells) {
  cells.push_back(IntegerCell(value.shard));
  cells.push_back(IntegerCell(value.entry));
  cells.push_back(IntegerCell(static_cast<int64_t>(value.offset)));
  cells.push_back(IntegerCell(static_cast<int64_t>(value.nbytes)));
  cells.push_back(TextCell(EncodingName(value.encoding)));
  cells.push_back(hash);
}

void AppendStatsCells(const Stats& stats, std::vector<Cell>& cells) {
  cells.push_back(IntegerCell(stats.numeric ? 1 : 0));
  for (const int64_t n : {stats.count, stats.zeros, stats.nan, stats.pos_inf, stats.neg_inf}) {
    cells.push_back(IntegerCell(n));
  }
  for (const double x : {stats.min, stats.max, stats.mean, stats.std}) {
    cells.push_back(RealCell(x));
  }
  cells.push_back(
      BytesCell({reinterpret_cast<const char*>(stats.histogram.data()), sizeof(stats.histogram)}));
}

Result<std::shared_ptr<const FilePayloads>> FilePayloads::Open(const Container& container,
                                                               Database& database,
                                                               const StructureFile& file) {
  auto payloads = std::make_shared<FilePayloads>();
  payloads->path_ = container.path();
  payloads->SetDims(file.tables.dims_pool);
  FLOWSCOPE_RETURN_IF_ERROR(payloads->ReadRows(database, file));
  FLOWSCOPE_RETURN_IF_ERROR(payloads->ReadStats(database, file));
  payloads->MapShards(container, file.complete);
  if (!file.complete) payloads->DropBroken();
  payloads->verified_ = std::vector<std::atomic<bool>>(payloads->rows_.size());
  return std::shared_ptr<const FilePayloads>(std::move(payloads));
}

Result<std::shared_ptr<const FilePayloads>> FilePayloads::Open(const Container& container,
                                                               const WholeTrace& trace,
                                                               bool complete) {
  auto payloads = std::make_shared<FilePayloads>();
  payloads->path_ = container.path();
  payloads->SetDims(trace.tables.dims_pool);
  payloads->rows_.reserve(trace.values.size());
  for (const auto& [tensor, value] : trace.values) {
    if (tensor >= trace.tables.tensors.size()) return Internal("a value of no tensor was stored");
    const TensorRecord& record = trace.tables.tensors[tensor];
    payloads->rows_.push_back({tensor, value.shard, value.entry, value.offset, value.nbytes,
                               record.dims, record.dtype, value.encoding, value.hash});
  }
  for (const StatsRow& row : trace.stats) payloads->stats_.emplace(row.tensor, row.stats);
  payloads->MapShards(container, complete);
  if (!complete) payloads->DropBroken();
  payloads->verified_ = std::vector<std::atomic<bool>>(payloads->rows_.size());
  return std::shared_ptr<const FilePayloads>(std::move(payloads));
}

void FilePayloads::SetDims(const StringPool& pool) {
  for (uint32_t id = 0; id < pool.size(); ++id) {
    Dims dims(pool.View(id).size() / sizeof(int64_t));
    if (!dims.empty()) std::memcpy(dims.data(), pool.View(id).data(), pool.View(id).size());
    dims_.push_back(std::move(dims));
  }
}

Status FilePayloads::AddRow(const TableReader& table, const StructureFile& file) {
  const Cell shard = At(table, "shard");
  const Cell offset = At(table, "file_offset");
  const Cell nbytes = At(table, "nbytes");
  const Cell entry = At(table, "entry");
  const auto encoding = EncodingFromName(At(table, "encoding").text);
  const auto hash = ContentKey::FromHex(At(table, "hash").text);
  if (table.id() < 0 || static_cast<uint64_t>(table.id()) >= file.tables.tensors.size()) {
    return table.Wrong("tensor", "is out of range");
  }
  if (shard.integer < 0 || shard.integer >= static_cast<int64_t>(kMaxShards)) {
    return table.Wrong("shard", "is out of range");
  }
  if (entry.integer < 0 || entry.integer >= kNoId) return table.Wrong("entry", "is out of range");
  if (offset.integer < 0 || nbytes.integer < 0) return table.Wrong("file_offset", "is negative");
  if (!encoding) return table.Wrong("encoding", "is not known to this version");
  if (!hash) return table.Wrong("hash", "does not have 32 digits");
  Row row;
  row.tensor = static_cast<TensorId>(table.id());
  row.shard = static_cast<uint32_t>(shard.integer);
  row.entry = static_cast<TensorId>(entry.integer);
  row.offset = static_cast<uint64_t>(offset.integer);
  row.nbytes = static_cast<uint64_t>(nbytes.integer);
  row.encoding = *encoding;
  row.dtype = file.tables.tensors[row.tensor].dtype;
  row.dims = file.tables.tensors[row.tensor].dims;
  row.hash = *hash;
  rows_.push_back(row);
  return Status::Ok();
}

Status FilePayloads::ReadRows(Database& database, const StructureFile& file) {
  return ForRows(database, file, "payloads",
                 [&](const TableReader& table) { return AddRow(table, file); });
}

Status FilePayloads::ReadStats(Database& database, const StructureFile& file) {
  return ForRows(database, file, "stats", [this](const TableReader& table) {
    if (table.id() < 0 || table.id() >= kNoId) return table.Wrong("tensor", "is out of range");
    stats_.emplace(static_cast<TensorId>(table.id()), StatsOf(table));
    return Status::Ok();
  });
}

// All at once, so that a trace stays whole when its folder is moved or replaced.
void FilePayloads::MapShards(const Container& container, bool complete) {
  uint32_t count = 0;
  for (const Row& row : rows_) count = std::max(count, row.shard + 1);
  std::vector<bool> used(count);
  for (const Row& row : rows_) used[row.shard] = true;
  shards_.resize(count);
  for (uint32_t number = 0; number < count; ++number) {
    if (!used[number]) continue;
    Shard& shard = shards_[number];
    shard.name = ShardName(number);
    Result<Member> member = container.Open(shard.name);
    // It may take its name in this moment.
    for (const std::string& name : {OpenShardName(number), ShardName(number)}) {
      if (member.ok() || complete) break;
      shard.name = name;
      member = container.Open(name);
    }
    shard.status = member.status();
    if (member.ok()) shard.member = std::move(member).value();
  }
}

void FilePayloads::DropBroken() {
  Status first;
  const size_t dropped = std::erase_if(rows_, [&](const Row& row) {
    Member member;
    const Status status = Locate(row, member);
    if (first.ok()) first = status;
    return !status.ok();
  });
  if (dropped == 0) return;
  left_out_ = fmt::format(
      "{} values that were committed are not whole in the files and count as "
      "not kept; the first: {}",
      dropped, first.message());
}

const FilePayloads::Row* FilePayloads::Find(TensorId tensor) const {
  const auto it = std::lower_bound(rows_.begin(), rows_.end(), tensor,
                                   [](const Row& row, TensorId id) { return row.tensor < id; });
  return it == rows_.end() || it->tensor != tensor ? nullptr : &*it;
}

Status FilePayloads::Locate(const Row& row, Member& member) const {
  const Shard& shard = shards_[row.shard];
  if (!shard.status.ok()) return shard.status;
  const std::string_view bytes = shard.member.bytes;
  if (row.offset > bytes.size() || row.nbytes > bytes.size() - row.offset) {
    return Corruption(fmt::format("{}/{} is cut off: it has {} bytes, a value lies at {} to {}",
                                  path_, shard.name, bytes.size(), row.offset,
                                  row.offset + row.nbytes));
  }
  member = {bytes.substr(row.offset, row.nbytes), shard.member.owner};
  return Status::Ok();
}

Result<Payload> FilePayloads::Read(TensorId tensor) const {
  const Row* row = Find(tensor);
  if (row == nullptr) return Unavailable("the value is not in " + path_);
  Member member;
  FLOWSCOPE_RETURN_IF_ERROR(Locate(*row, member));
  Result<Payload> payload =
      Decode(row->encoding, member.bytes, row->dtype, dims_[row->dims], member.owner);
  const std::string where = path_ + "/" + shards_[row->shard].name;
  if (!payload.ok()) {
    return Status(payload.status().code(), where + ": " + payload.status().message());
  }
  std::atomic<bool>& verified = verified_[static_cast<size_t>(row - rows_.data())];
  if (!verified.load(std::memory_order_relaxed)) {
    if (ContentKeyOf(*payload) != row->hash) {
      return Corruption(where + ": the value is not the one that was written: its bytes changed");
    }
    verified.store(true, std::memory_order_relaxed);
  }
  return payload;
}

std::optional<std::string> FilePayloads::StoredHash(TensorId tensor) const {
  const Row* row = Find(tensor);
  if (row == nullptr) return std::nullopt;
  return row->hash.Hex();
}

std::vector<ValueRow> FilePayloads::Values() const {
  std::vector<ValueRow> values;
  for (const Row& row : rows_) {
    values.push_back(
        {row.tensor, {row.shard, row.entry, row.offset, row.nbytes, row.encoding, row.hash}});
  }
  return values;
}

std::vector<StatsRow> FilePayloads::StatsRows() const {
  std::vector<StatsRow> rows;
  for (const auto& [tensor, stats] : stats_) rows.push_back({tensor, stats});
  std::sort(rows.begin(), rows.end(),
            [](const StatsRow& a, const StatsRow& b) { return a.tensor < b.tensor; });
  return rows;
}

std::optional<Stats> FilePayloads::StoredStats(TensorId tensor) const {
  const auto it = stats_.find(tensor);
  return it == stats_.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace flowscope::store
