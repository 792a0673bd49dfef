#include "store/writer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "store/files.h"
#include "store/shard_writer.h"
#include "store/trace_format.h"
#include "store/whole_database.h"
#include "store/zip_writer.h"

namespace flowscope::store {
namespace {

constexpr size_t kMaxNotes = 8;

bool IsZipPath(const std::string& path) { return path.ends_with(kZipSuffix); }

size_t CountKept(const Trace& trace) {
  const auto& tensors = trace.tables().tensors;
  return static_cast<size_t>(std::count_if(
      tensors.begin(), tensors.end(),
      [](const TensorRecord& tensor) { return tensor.state == PayloadState::kKept; }));
}

class Saver {
 public:
  Saver(const Trace& trace, const SaveOptions& options, ShardWriter shards)
      : trace_(trace), options_(options), shards_(std::move(shards)) {
    extras_.module_configs = options.module_configs;
  }

  // The values into the shards, the rest into a new database.
  Status Save(const std::string& database) {
    FLOWSCOPE_RETURN_IF_ERROR(SaveValues());
    for (TensorId id = 0; id < trace_.tables().tensors.size(); ++id) {
      if (const std::optional<Stats> stats = trace_.StoredStats(id)) stats_.push_back({id, *stats});
    }
    return WriteWholeDatabase(database, {trace_.tables(), extras_, values_, stats_});
  }

 private:
  Status SaveValues() {
    for (TensorId id = 0; id < trace_.tables().tensors.size(); ++id) {
      if (trace_.tensor(id).state != PayloadState::kKept) continue;
      if (id < options_.keep.size() && !options_.keep[id]) continue;
      FLOWSCOPE_RETURN_IF_ERROR(SaveValue(id));
    }
    return shards_.Finish();
  }

  // A value that cannot be read any more is told in a note, and the rest is saved.
  Status SaveValue(TensorId id) {
    const Result<Payload> payload = trace_.ReadTensor(id);
    if (!payload.ok()) {
      if (extras_.notes.size() < kMaxNotes) {
        extras_.notes.push_back(
            fmt::format("the value of tensor {} could not be read for saving: {}", id,
                        payload.status().message()));
      }
      return Status::Ok();
    }
    Result<StoredValue> stored = shards_.Put(id, *payload);
    if (!stored.ok()) return stored.status();
    values_.push_back({id, std::move(stored).value()});
    return Status::Ok();
  }

  const Trace& trace_;
  const SaveOptions& options_;
  ShardWriter shards_;
  StructureExtras extras_;
  std::vector<ValueRow> values_;
  std::vector<StatsRow> stats_;
};

Status SaveFolder(const Trace& trace, const SaveOptions& options, const std::string& folder) {
  const std::string database = folder + "/" + std::string(kDatabaseName);
  const ShardLimits limits = LimitsFor(CountKept(trace));
  Saver saver(trace, options, ShardWriter(folder, limits, options.compress));
  FLOWSCOPE_RETURN_IF_ERROR(saver.Save(database));
  return SyncPath(database);
}

// Values go straight into the zip. SQLite wants a file of its own, which then follows them.
Status SaveZip(const Trace& trace, const SaveOptions& options, const std::string& folder,
               const std::string& path) {
  const std::string database = folder + "/" + std::string(kDatabaseName);
  Result<File> file = File::Create(path);
  if (!file.ok()) return file.status();
  ZipWriter zip(std::move(file).value());
  const ShardLimits limits = LimitsFor(CountKept(trace));
  Saver saver(trace, options, ShardWriter(zip, limits, options.compress));
  FLOWSCOPE_RETURN_IF_ERROR(saver.Save(database));
  FLOWSCOPE_RETURN_IF_ERROR(zip.AddFile(std::string(kDatabaseName), database));
  return zip.Finish();
}

}  // namespace

bool LooksLikeTrace(const std::string& path) {
  if (IsZipPath(path)) return Exists(path) && !IsFolder(path);
  return IsFolder(path) && (Exists(path + "/" + std::string(kDatabaseName)));
}

Status CheckTarget(const std::string& given, bool overwrite) {
  const std::string path = WithoutTrailingSlash(given);
  if (!path.ends_with(kFolderSuffix) && !IsZipPath(path)) {
    return InvalidArgument(fmt::format(
        "a trace is saved as NAME{} (a folder) or NAME{} (one file), got {:?}: try {:?}",
        kFolderSuffix, kZipSuffix, path, path + std::string(kFolderSuffix)));
  }
  if (!Exists(path)) return Status::Ok();
  if (!LooksLikeTrace(path)) {
    return InvalidArgument(path + " exists and is no trace: it is left alone, choose another name");
  }
  if (!overwrite) {
    return InvalidArgument(path +
                           " exists: pass overwrite=True (on the command line --overwrite) to "
                           "replace it, or choose another name");
  }
  if (IsBeingWritten(ResolvedPath(path))) {
    return InvalidArgument(path +
                           " is being written by a recording: wait for its end, or choose another "
                           "name");
  }
  return Status::Ok();
}

namespace {

// What is left under `made` afterwards is rubbish.
Status Place(const std::string& made, const std::string& path, const Placing& placing) {
  if (placing.finished) FLOWSCOPE_RETURN_IF_ERROR(SyncPath(made));
  const bool replaces = placing.overwrite && Exists(path);
  FLOWSCOPE_RETURN_IF_ERROR(replaces ? Exchange(made, path) : Rename(made, path));
  return SyncPath(ParentOf(path));
}

}  // namespace

Status MoveIntoPlace(Temporary& made, const std::string& path, const Placing& placing) {
  FLOWSCOPE_RETURN_IF_ERROR(Place(made.path(), path, placing));
  return made.Remove();
}

Status SaveTrace(const Trace& trace, const std::string& given, const SaveOptions& options) {
  FLOWSCOPE_RETURN_IF_ERROR(CheckTarget(given, options.overwrite));
  const std::string path = ResolvedPath(given);
  RemoveAbandoned(path);
  Result<Temporary> made = Temporary::Folder(path);
  if (!made.ok()) return made.status();
  const Placing placing{options.overwrite, true};
  if (!IsZipPath(WithoutTrailingSlash(given))) {
    FLOWSCOPE_RETURN_IF_ERROR(SaveFolder(trace, options, made->path()));
    return MoveIntoPlace(*made, path, placing);
  }
  // Inside of the folder, so that one mark covers both.
  const std::string zip = made->path() + "/.zip";
  FLOWSCOPE_RETURN_IF_ERROR(SaveZip(trace, options, made->path(), zip));
  FLOWSCOPE_RETURN_IF_ERROR(Place(zip, path, placing));
  return made->Remove();
}

}  // namespace flowscope::store
