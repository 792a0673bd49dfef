// Writes a recording into NAME.flow while it runs, on a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "store/batch.h"
#include "store/live_tables.h"
#include "store/shard_writer.h"
#include "store/sqlite.h"
#include "store/temporary.h"
#include "store/whole_database.h"
#include "trace/event_sink.h"

namespace flowscope::store {

class FilePayloads;

struct StreamOptions {
  int64_t max_pending = int64_t{256} << 20;  // bytes of values that wait to be written
  bool overwrite = false;
  bool compress = false;
};

// Bytes first, then the rows that name them: a process that is killed leaves a folder that
// OpenTrace reads, with everything that was committed. The end is one more transaction, which makes
// the database that was streamed the finished one where it stands.
class StreamWriter : public EventSink {
 public:
  // Makes the folder; fails where that cannot be.
  static Result<std::shared_ptr<StreamWriter>> Create(const std::string& path,
                                                      const StreamOptions& options);
  // Ends the thread. A recording that was not finished stays interrupted. In a process that was
  // forked meanwhile everything does nothing: the folder is its parent's.
  ~StreamWriter() override;
  StreamWriter(const StreamWriter&) = delete;
  StreamWriter& operator=(const StreamWriter&) = delete;

  // By module, where the records have none; before Finish.
  void SetModuleConfigs(std::vector<std::string> configs) { configs_ = std::move(configs); }

  void OnValue(TensorId tensor, int64_t nbytes, ReadValue read) override;
  void OnStats(TensorId tensor, const Stats& stats) override;
  void OnProgress(const TraceTables& tables) override;
  Status status() const override;
  Kept Finish(const TraceTables& tables) override;

 private:
  struct Value {
    TensorId tensor = kNoId;
    int64_t nbytes = 0;
    ReadValue read;
  };
  using Job = std::variant<Value, StatsRow, Batch>;

  StreamWriter(std::string path, const StreamOptions& options, Database database, WriteMark mark);

  // Gives the mark of the folder that stands under `path` then.
  static Result<WriteMark> Prepare(const std::string& path, const StreamOptions& options);
  Status CheckFolder() const;
  bool IsForked() const;
  static void LetGo(StreamWriter* writer);
  void Push(Job job, int64_t nbytes);
  void Wake();
  void Run();
  void WriteFirst(std::deque<Job>& taken);
  void Fail(const Status& status);
  Status Write(Job& job);
  Status WriteValue(Value& value);
  Status WriteBatch(Batch& batch);
  Status Commit();
  Status CommitRows();
  void Stop(const Status& status);
  Status WriteOwnRows();
  Status Close(const TraceTables& tables);
  Status FinishInPlace(const TraceTables& tables);
  Status WorkLogIn();
  void SortRows();
  Result<std::shared_ptr<const FilePayloads>> OpenKept(const TraceTables& tables);

  std::string path_;
  StreamOptions options_;
  uint64_t generation_;  // of the process that records
  WriteMark mark_;       // of the folder, until the recording ends

  // Of the writing thread; of the recording thread once that has ended.
  std::optional<Database> database_;
  ShardWriter shards_;
  LiveTables tables_;
  std::vector<ValueRow> values_;
  std::vector<StatsRow> stats_;
  std::vector<bool> has_value_;  // by tensor, whether it has a row in values_
  std::vector<bool> has_stats_;
  int uncommitted_ = 0;     // batches of the transaction that is open
  size_t values_told_ = 0;  // those whose tensors were in a batch
  size_t stats_told_ = 0;
  size_t values_committed_ = 0;
  size_t stats_committed_ = 0;
  uint32_t closed_shards_ = 0;  // that were there at the last checkpoint

  // Of the recording thread.
  BatchMaker batches_;
  std::vector<std::string> configs_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  int64_t pending_ = 0;  // bytes of jobs that are not done
  int64_t unread_ = 0;   // of those that came since the writing thread was woken
  bool woken_ = false;
  bool ending_ = false;
  Status status_;
  std::thread thread_;
};

}  // namespace flowscope::store
