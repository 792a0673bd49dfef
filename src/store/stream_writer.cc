#include "store/stream_writer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "store/file_payloads.h"
#include "store/files.h"
#include "store/process.h"
#include "store/trace_format.h"
#include "store/writer.h"

namespace flowscope::store {
namespace {

constexpr uint64_t kStreamHeaderBytes = kMaxHeaderBytes - sizeof(uint64_t);
constexpr uint64_t kStreamShardBytes = uint64_t{256} << 20;
constexpr int kBatchesPerCommit = 16;
// Fewer wait until a batch comes along.
constexpr int64_t kBytesToWakeFor = int64_t{4} << 20;
// Small values count too: each is a handle and a place in the queue.
constexpr int64_t kBytesPerJob = 1024;

// True once for each tensor: its value and its statistics count once, whoever brings them.
bool IsFirst(std::vector<bool>& seen, TensorId tensor) {
  if (tensor >= seen.size()) seen.resize(tensor + 1);
  const bool first = !seen[tensor];
  seen[tensor] = true;
  return first;
}

int64_t NowNs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

StreamWriter::StreamWriter(std::string path, const StreamOptions& options, Database database,
                           WriteMark mark)
    : path_(std::move(path)),
      options_(options),
      generation_(ProcessGeneration()),
      mark_(std::move(mark)),
      database_(std::move(database)),
      shards_(path_, {kStreamHeaderBytes, kStreamShardBytes}, options.compress) {}

// Under the name stands a trace from the beginning, one without ops: made beside and renamed.
Result<WriteMark> StreamWriter::Prepare(const std::string& path, const StreamOptions& options) {
  RemoveAbandoned(path);
  Result<Temporary> made = Temporary::Folder(path);
  if (!made.ok()) return made.status();
  Result<Database> database =
      Database::Create(made->path() + "/" + std::string(kDatabaseName), true);
  if (!database.ok()) return database.status();
  // An empty trace is nothing that a power failure could lose.
  FLOWSCOPE_RETURN_IF_ERROR(database->Execute("PRAGMA synchronous=OFF"));
  StreamWriter first(made->path(), options, std::move(database).value(), made->TakeMark());
  Batch empty = BatchMaker().Make(TraceTables(), NowNs());
  FLOWSCOPE_RETURN_IF_ERROR(first.WriteBatch(empty));
  FLOWSCOPE_RETURN_IF_ERROR(first.Commit());
  first.tables_.End();
  FLOWSCOPE_RETURN_IF_ERROR(first.database_->Close());
  FLOWSCOPE_RETURN_IF_ERROR(MoveIntoPlace(*made, path, {options.overwrite, false}));
  return std::move(first.mark_);
}

Result<std::shared_ptr<StreamWriter>> StreamWriter::Create(const std::string& given,
                                                           const StreamOptions& options) {
  FLOWSCOPE_RETURN_IF_ERROR(CheckTarget(given, options.overwrite));
  const std::string path = ResolvedPath(given);
  if (WithoutTrailingSlash(given).ends_with(kZipSuffix)) {
    return InvalidArgument(given +
                           " is a zip, which cannot be written piece by piece: stream to "
                           "NAME.flow, load it and save that as NAME.flow.zip");
  }
  Result<WriteMark> mark = Prepare(path, options);
  if (!mark.ok()) return mark.status();
  Result<Database> database = Database::Create(path + "/" + std::string(kDatabaseName), true);
  if (!database.ok()) return database.status();
  std::shared_ptr<StreamWriter> writer(
      new StreamWriter(path, options, std::move(database).value(), std::move(mark).value()),
      &StreamWriter::LetGo);
  writer->thread_ = std::thread([self = writer.get()] { self->Run(); });
  return writer;
}

bool StreamWriter::IsForked() const { return generation_ != ProcessGeneration(); }

// What a forked process has is a copy of a writer whose thread is not there and was in the middle
// of anything: to end a condition that it waited on would wait for it. It is never ended.
void StreamWriter::LetGo(StreamWriter* writer) {
  std::unique_ptr<StreamWriter> owned(writer);
  if (!owned->IsForked()) return;
  owned->mark_.Release();
  static_cast<void>(owned.release());
}

StreamWriter::~StreamWriter() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StreamWriter::OnValue(TensorId tensor, int64_t nbytes, ReadValue read) {
  Push(Value{tensor, nbytes, std::move(read)}, nbytes + kBytesPerJob);
}

void StreamWriter::OnStats(TensorId tensor, const Stats& stats) {
  Push(StatsRow{tensor, stats}, kBytesPerJob);
}

void StreamWriter::OnProgress(const TraceTables& tables) {
  const int64_t now = NowNs();
  if (!IsForked() && batches_.Due(tables, now) && status().ok())
    Push(batches_.Make(tables, now), kBytesPerJob);
}

Status StreamWriter::status() const {
  if (IsForked()) return IoError("this process was forked from the one that streams to " + path_);
  const std::lock_guard lock(mutex_);
  return status_;
}

// Waits where too much is pending; one value larger than the bound passes alone. The writing thread
// is woken for what is worth it: a batch, or enough bytes.
void StreamWriter::Push(Job job, int64_t nbytes) {
  if (IsForked()) return;
  std::unique_lock lock(mutex_);
  const auto has_room = [&] {
    return !status_.ok() || pending_ == 0 || pending_ + nbytes <= options_.max_pending;
  };
  if (!has_room()) {
    Wake();
    changed_.wait(lock, has_room);
  }
  if (!status_.ok()) return;
  pending_ += nbytes;
  unread_ += nbytes;
  const bool batch = std::holds_alternative<Batch>(job);
  jobs_.push_back(std::move(job));
  if (batch || unread_ >= kBytesToWakeFor) Wake();
}

// Under the lock.
void StreamWriter::Wake() {
  if (std::exchange(woken_, true)) return;
  unread_ = 0;
  changed_.notify_all();
}

void StreamWriter::Fail(const Status& status) {
  std::deque<Job> dropped;  // values are let go outside of the lock
  const std::lock_guard lock(mutex_);
  if (status_.ok()) {
    status_ = Status(status.code(), fmt::format("streaming to {} stopped: {}. The model is not "
                                                "touched by this; what was written so far can be "
                                                "loaded",
                                                path_, status.message()));
  }
  dropped.swap(jobs_);
  pending_ = 0;
}

void StreamWriter::Run() {
  std::deque<Job> taken;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return woken_ || ending_; });
      woken_ = false;
      unread_ = 0;
      taken.swap(jobs_);
      if (taken.empty() && ending_) return;
    }
    for (; !taken.empty() && status().ok(); taken.pop_front()) WriteFirst(taken);
    taken.clear();
    if (!status().ok()) continue;
    if (const Status committed = Commit(); !committed.ok()) Stop(committed);
  }
}

// What the job holds is let go before its room is given to others.
void StreamWriter::WriteFirst(std::deque<Job>& taken) {
  Job job = std::exchange(taken.front(), Job());
  int64_t nbytes = kBytesPerJob;
  if (const auto* value = std::get_if<Value>(&job)) nbytes += value->nbytes;
  const Status status = Write(job);
  job = Job();
  if (!status.ok()) Stop(status);
  {
    const std::lock_guard lock(mutex_);
    pending_ = std::max<int64_t>(pending_ - nbytes, 0);
  }
  changed_.notify_all();
}

Status StreamWriter::Write(Job& job) {
  if (auto* value = std::get_if<Value>(&job)) return WriteValue(*value);
  if (auto* stats = std::get_if<StatsRow>(&job)) {
    if (IsFirst(has_stats_, stats->tensor)) stats_.push_back(*stats);
    return Status::Ok();
  }
  return WriteBatch(std::get<Batch>(job));
}

// A value that cannot be read is one that was not kept; the recording goes on.
Status StreamWriter::WriteValue(Value& value) {
  const Result<Payload> payload = value.read();
  if (!payload.ok() || !IsFirst(has_value_, value.tensor)) return Status::Ok();
  Result<StoredValue> stored = shards_.Put(value.tensor, *payload);
  if (!stored.ok()) return stored.status();
  values_.push_back({value.tensor, std::move(stored).value()});
  return Status::Ok();
}

// Another folder may have taken the name: nothing is written into what is somebody else's.
Status StreamWriter::CheckFolder() const {
  if (mark_.IsAt(path_)) return Status::Ok();
  return IoError(path_ + " is not the folder any more that was made: it was removed or replaced");
}

// Begins a transaction, or goes on with one. Where many batches wait, one transaction for several
// is cheaper.
Status StreamWriter::WriteBatch(Batch& batch) {
  if (uncommitted_ == 0) FLOWSCOPE_RETURN_IF_ERROR(database_->Execute("BEGIN"));
  ++uncommitted_;
  for (const RowBatch& rows : batch) FLOWSCOPE_RETURN_IF_ERROR(tables_.Write(*database_, rows));
  values_told_ = values_.size();
  stats_told_ = stats_.size();
  return uncommitted_ < kBatchesPerCommit ? Status::Ok() : Commit();
}

Status StreamWriter::Commit() {
  if (uncommitted_ == 0) return Status::Ok();
  FLOWSCOPE_RETURN_IF_ERROR(CheckFolder());
  FLOWSCOPE_RETURN_IF_ERROR(shards_.Flush());
  FLOWSCOPE_RETURN_IF_ERROR(CommitRows());
  if (shards_.num_closed() == closed_shards_) return Status::Ok();
  closed_shards_ = shards_.num_closed();
  FLOWSCOPE_RETURN_IF_ERROR(SyncPath(path_));
  return database_->Execute("PRAGMA wal_checkpoint(PASSIVE)");
}

Status StreamWriter::CommitRows() {
  uncommitted_ = 0;
  FLOWSCOPE_RETURN_IF_ERROR(WriteOwnRows());
  FLOWSCOPE_RETURN_IF_ERROR(tables_.WriteProgress(*database_));
  return database_->Execute("COMMIT");
}

// Batches that wait for their transaction to end are not lost with the job that failed.
void StreamWriter::Stop(const Status& status) {
  if (uncommitted_ > 0 && CheckFolder().ok()) static_cast<void>(CommitRows());
  Fail(status);
}

// Values and statistics of the tensors that the batches so far have told. They stay until the end,
// where each is looked at once more.
Status StreamWriter::WriteOwnRows() {
  RowBatch payloads(PayloadsShape());
  for (; values_committed_ < values_told_; ++values_committed_) {
    const StoredValue& value = values_[values_committed_].value;
    if (!shards_.IsWritten(value)) continue;
    payloads.ids.push_back(values_[values_committed_].tensor);
    AppendPayloadCells(value, payloads.OwnText(value.hash.Hex()), payloads.cells);
  }
  RowBatch stats(StatsShape());
  for (; stats_committed_ < stats_told_; ++stats_committed_) {
    stats.ids.push_back(stats_[stats_committed_].tensor);
    AppendStatsCells(stats_[stats_committed_].stats, stats.cells);
  }
  FLOWSCOPE_RETURN_IF_ERROR(tables_.Write(*database_, payloads));
  return tables_.Write(*database_, stats);
}

void StreamWriter::SortRows() {
  const auto by_tensor = [](const auto& a, const auto& b) { return a.tensor < b.tensor; };
  std::sort(values_.begin(), values_.end(), by_tensor);
  std::sort(stats_.begin(), stats_.end(), by_tensor);
}

// What changed in place since it was committed, and checksums. From the last COMMIT on the folder
// counts as complete: shards have their names before that.
Status StreamWriter::FinishInPlace(const TraceTables& tables) {
  SortRows();
  const RowsBefore before = tables_.End();
  FLOWSCOPE_RETURN_IF_ERROR(
      FinishDatabase(*database_, before, {tables, {configs_, {}, {}}, values_, stats_}));
  return WorkLogIn();
}

// A log that cannot be worked in, since somebody reads the database or the disk is full, stays
// beside it, as it does where the process is killed here: readers and repair find it.
Status StreamWriter::WorkLogIn() {
  const std::string name = database_->path();
  const Result<bool> emptied = database_->EmptyLog();
  if (!emptied.ok() || !*emptied) return SyncPath(name + "-wal");
  // What is left to change is a few bytes in one sector of a file that is on the disk.
  const Status ended = database_->Execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=DELETE;");
  if (!ended.ok()) return SyncPath(name + "-wal");
  FLOWSCOPE_RETURN_IF_ERROR(database_->Close());
  return SyncPath(name);
}

// What was recorded is committed before anything that takes time.
Status StreamWriter::Close(const TraceTables& tables) {
  FLOWSCOPE_RETURN_IF_ERROR(status());
  Batch rest = batches_.Make(tables, NowNs());
  FLOWSCOPE_RETURN_IF_ERROR(WriteBatch(rest));
  FLOWSCOPE_RETURN_IF_ERROR(Commit());
  FLOWSCOPE_RETURN_IF_ERROR(shards_.Finish());
  FLOWSCOPE_RETURN_IF_ERROR(SyncPath(path_));
  FLOWSCOPE_RETURN_IF_ERROR(CheckFolder());
  FLOWSCOPE_RETURN_IF_ERROR(FinishInPlace(tables));
  return SyncPath(path_);
}

// Every value that is whole in a file, also of a recording that could not be finished.
Result<std::shared_ptr<const FilePayloads>> StreamWriter::OpenKept(const TraceTables& tables) {
  SortRows();
  const Result<std::unique_ptr<Container>> container = OpenFolder(path_);
  if (!container.ok()) return container.status();
  return FilePayloads::Open(**container, {tables, {}, values_, stats_}, status().ok());
}

StreamWriter::Kept StreamWriter::Finish(const TraceTables& tables) {
  if (IsForked()) return {nullptr, std::vector<bool>(tables.tensors.size())};
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (const Status status = Close(tables); !status.ok()) Stop(status);
  tables_.End();
  database_.reset();
  const Status same = CheckFolder();
  mark_.Release();
  Kept kept;
  kept.has.resize(tables.tensors.size());
  if (!same.ok()) {
    Fail(same);
    return kept;
  }
  const auto payloads = OpenKept(tables);
  if (!payloads.ok()) {
    Fail(payloads.status());
    return kept;
  }
  for (TensorId id = 0; id < kept.has.size(); ++id) kept.has[id] = (*payloads)->Has(id);
  kept.payloads = *payloads;
  return kept;
}

}  // namespace flowscope::store
