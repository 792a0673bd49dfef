#include "store/batch.h"

#include <type_traits>

#include "store/structure.h"
#include "store/trace_format.h"

namespace flowscope::store {
namespace {

constexpr size_t kBatchOps = 64;
constexpr int64_t kBatchNs = 100'000'000;
constexpr int64_t kWholeNs = 1'000'000'000;

// Rows that are filled in when what they tell of has ended.
bool Unfinished(const OpRecord& op) { return op.run_counter != 0 && op.duration_ns == 0; }
bool Unfinished(const ModuleCallRecord& call) { return call.duration_ns == 0; }
bool Unfinished(const VersionRecord& version) { return version.value == kNoId; }
template <typename Record>
bool Unfinished(const Record&) {
  return false;
}

// Tables as small as the model, whose rows change at any time: written whole once a second.
template <typename Record>
constexpr bool kChangesInPlace =
    std::is_same_v<Record, ModuleRecord> || std::is_same_v<Record, VariableRecord>;

}  // namespace

bool BatchMaker::Due(const TraceTables& tables, int64_t now_ns) const {
  const size_t added = tables.ops.size() - ops_done_;
  return added >= kBatchOps || (added > 0 && now_ns - last_ns_ >= kBatchNs);
}

BatchMaker::Progress& BatchMaker::Of(const char* name) {
  for (auto& [known, progress] : progress_) {
    if (known == name) return progress;
  }
  return progress_.emplace_back(name, Progress()).second;
}

template <typename Record>
void BatchMaker::AddRows(const char* name, const std::vector<Record>& rows, Batch& batch) {
  Progress& progress = Of(name);
  if (kChangesInPlace<Record> && whole_) progress.done = 0;
  std::vector<uint32_t> ids = std::move(progress.unfinished);
  for (size_t id = progress.done; id < rows.size(); ++id) ids.push_back(static_cast<uint32_t>(id));
  progress.done = rows.size();
  progress.unfinished.clear();
  RowBatch added{ShapeOfTable<Record>(name)};
  for (const uint32_t id : ids) {
    if (Unfinished(rows[id])) progress.unfinished.push_back(id);
    added.ids.push_back(id);
    VisitFields(rows[id], FieldWriter(added.cells));
  }
  batch.push_back(std::move(added));
}

void BatchMaker::AddPool(const char* name, const char* column, const StringPool& pool,
                         Batch& batch) {
  Progress& progress = Of(name);
  const bool bytes = column == std::string_view("bytes");
  RowBatch added{{name, {{"id", "INTEGER"}, {column, bytes ? "BLOB" : "TEXT"}}}};
  added.pool = pool.Hold();
  for (; progress.done < pool.size(); ++progress.done) {
    const std::string_view text = pool.View(static_cast<uint32_t>(progress.done));
    added.ids.push_back(static_cast<int64_t>(progress.done));
    added.cells.push_back(bytes ? BytesCell(text) : TextCell(text));
  }
  batch.push_back(std::move(added));
}

void BatchMaker::AddShapes(const StringPool& pool, Batch& batch) {
  Progress& progress = Of("shapes");
  RowBatch added{{"shapes", {{"id", "INTEGER"}, {"dims", "TEXT"}}}};
  for (; progress.done < pool.size(); ++progress.done) {
    added.ids.push_back(static_cast<int64_t>(progress.done));
    added.cells.push_back(added.OwnText(DimsText(pool.View(static_cast<uint32_t>(progress.done)))));
  }
  batch.push_back(std::move(added));
}

void BatchMaker::AddInfo(const TraceTables& tables, Batch& batch) {
  RowBatch added{InfoShape()};
  const auto add = [&added](std::string_view key, const Cell& value) {
    added.ids.push_back(static_cast<int64_t>(added.ids.size()));
    added.cells.push_back(TextCell(key));
    added.cells.push_back(value);
  };
  add("format", IntegerCell(kFormatNumber));
  VisitInfo(tables.info, [&](const char* key, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
      add(key, added.OwnText(value));
    } else {
      add(key, IntegerCell(static_cast<int64_t>(value)));
    }
  });
  batch.push_back(std::move(added));
}

void BatchMaker::AddList(const char* name, const char* column, const std::vector<uint32_t>& ids,
                         Batch& batch) {
  Progress& progress = Of(name);
  RowBatch added{{name, {{"id", "INTEGER"}, {column, "INTEGER"}}}};
  for (; progress.done < ids.size(); ++progress.done) {
    added.ids.push_back(static_cast<int64_t>(progress.done));
    added.cells.push_back(IntegerCell(ids[progress.done]));
  }
  batch.push_back(std::move(added));
}

Batch BatchMaker::Make(const TraceTables& tables, int64_t now_ns) {
  whole_ = last_whole_ns_ == 0 || now_ns - last_whole_ns_ >= kWholeNs;
  if (whole_) last_whole_ns_ = now_ns;
  Batch batch;
  AddPool("strings", "text", tables.strings, batch);
  AddPool("attrs", "bytes", tables.attrs, batch);
  AddShapes(tables.dims_pool, batch);
  VisitTables(tables, [&](const char* name, const auto& rows) { AddRows(name, rows, batch); });
  AddList("string_lists", "string", tables.string_lists, batch);
  AddList("variable_lists", "variable", tables.variable_lists, batch);
  if (whole_) AddInfo(tables, batch);
  ops_done_ = tables.ops.size();
  last_ns_ = now_ns;
  return batch;
}

}  // namespace flowscope::store
