// Finishes what a recording that was cut off has left.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "store/file_payloads.h"
#include "store/files.h"
#include "store/open.h"
#include "store/reader.h"
#include "store/recover.h"
#include "store/temporary.h"
#include "store/trace_format.h"
#include "store/whole_database.h"

namespace flowscope::store {
namespace {

// The entries of a shard as its values tell them; what lies between and after them is filler.
Result<std::string> HeaderOf(const std::vector<const ValueRow*>& values, const TraceTables& tables,
                             uint64_t begin, uint64_t end) {
  ShardHeader header;
  uint64_t at = begin;
  for (const ValueRow* row : values) {
    const TensorRecord& tensor = tables.tensors[row->tensor];
    if (row->value.offset < at) return Corruption("values overlap in a shard");
    if (row->value.offset > at) header.AddFiller(at - begin, row->value.offset - at);
    const std::string_view bytes = tables.dims_pool.View(tensor.dims);
    Dims dims(bytes.size() / sizeof(int64_t));
    if (!dims.empty()) std::memcpy(dims.data(), bytes.data(), bytes.size());
    header.AddValue(row->value, tensor.dtype, dims, row->value.offset - begin);
    at = row->value.offset + row->value.nbytes;
  }
  if (at < end) header.AddFiller(at - begin, end - at);
  return header.Text();
}

// Writes the header into the room that was left for it; the file then takes its name.
Status CloseShard(const std::string& folder, uint32_t number,
                  const std::vector<const ValueRow*>& values, const TraceTables& tables) {
  const std::string name = folder + "/" + OpenShardName(number);
  File file(::open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW), name);
  if (!file.open()) return SystemError("open", name);
  const Result<uint64_t> size = file.Size();
  if (!size.ok()) return size.status();
  uint64_t room = 0;
  const bool read = ::pread(file.fd(), &room, sizeof(room), 0) == sizeof(room);
  if (!read || room > kMaxHeaderBytes || *size < sizeof(room) + room) {
    return Corruption(name + " has no room for its header");
  }
  Result<std::string> header = HeaderOf(values, tables, sizeof(room) + room, *size);
  if (!header.ok()) return header.status();
  if (header->size() > room) return Corruption(name + " has no room for its header");
  header->resize(room, ' ');
  FLOWSCOPE_RETURN_IF_ERROR(file.WriteAt(sizeof(room), header->data(), header->size()));
  FLOWSCOPE_RETURN_IF_ERROR(file.Sync());
  FLOWSCOPE_RETURN_IF_ERROR(file.Close());
  return Rename(name, folder + "/" + ShardName(number));
}

// The values of each shard in their order, each entry once.
std::map<uint32_t, std::vector<const ValueRow*>> ByShard(const std::vector<ValueRow>& values) {
  std::map<uint32_t, std::vector<const ValueRow*>> shards;
  for (const ValueRow& row : values) shards[row.value.shard].push_back(&row);
  for (auto& [number, rows] : shards) {
    std::stable_sort(rows.begin(), rows.end(), [](const ValueRow* a, const ValueRow* b) {
      return a->value.offset < b->value.offset;
    });
    rows.erase(std::unique(rows.begin(), rows.end(),
                           [](const ValueRow* a, const ValueRow* b) {
                             return a->value.entry == b->value.entry;
                           }),
               rows.end());
  }
  return shards;
}

// What a finished trace does not have: shards of which nothing was committed, and what was being
// written when a recording or a repair was killed.
bool IsLeftOver(std::string_view name) {
  const bool open_shard = name.starts_with(kShardPrefix) && name.ends_with(kOpenShardSuffix);
  const bool database = name.starts_with("." + std::string(kDatabaseName));
  return open_shard || (database && IsTemporaryName(name));
}

Status RemoveLeftOvers(const std::string& folder) {
  RemoveAbandoned(folder);
  const Result<std::vector<std::string>> names = NamesIn(folder);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (!IsLeftOver(name)) continue;
    FLOWSCOPE_RETURN_IF_ERROR(RemoveFile(folder + "/" + name));
  }
  return SyncPath(folder);
}

}  // namespace

Status RepairTrace(const std::string& given) {
  const std::string folder = ResolvedPath(given);
  if (!IsFolder(folder)) return NotFound("there is no folder " + folder);
  const WriteMark mark = WriteMark::On(folder);
  if (!mark.held() && IsBeingWritten(folder)) {
    return InvalidArgument(folder + " is being written: a recording that goes on is not repaired");
  }
  const std::string name = folder + "/" + std::string(kDatabaseName);
  // A log that is worked in where it stands is kept whole by SQLite whatever happens.
  Result<Opened> opened = Open(folder);
  if (!opened.ok()) return opened.status();
  if (opened->file.complete) {
    // Killed after its last transaction: all of it may still stand in the log.
    FLOWSCOPE_RETURN_IF_ERROR(WorkLogIn(name, name));
    return RemoveLeftOvers(folder);
  }
  const std::vector<ValueRow> values = opened->payloads->Values();
  for (const auto& [number, rows] : ByShard(values)) {
    if (!Exists(folder + "/" + OpenShardName(number))) continue;
    FLOWSCOPE_RETURN_IF_ERROR(CloseShard(folder, number, rows, opened->file.tables));
  }
  Result<Temporary> made = Temporary::PlainFile(name);
  if (!made.ok()) return made.status();
  const std::vector<StatsRow> stats = opened->payloads->StatsRows();
  FLOWSCOPE_RETURN_IF_ERROR(
      WriteWholeDatabase(made->path(), {opened->file.tables, {}, values, stats}));
  FLOWSCOPE_RETURN_IF_ERROR(SyncPath(made->path()));
  FLOWSCOPE_RETURN_IF_ERROR(WorkLogIn(name, name));
  FLOWSCOPE_RETURN_IF_ERROR(made->MoveTo(name));
  return RemoveLeftOvers(folder);
}

}  // namespace flowscope::store
