#include "store/writer.h"

#include <algorithm>
#include <optional>

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

class Saver {
 public:
  // `to_disk`: the folder is what stays, not what a zip is made of.
  Saver(const Trace& trace, const SaveOptions& options, const std::string& folder, bool to_disk)
      : trace_(trace),
        options_(options),
        folder_(folder),
        shards_(folder, LimitsFor(CountKept()), options.compress, to_disk) {
    extras_.module_configs = options.module_configs;
  }

  Status Save() {
    FLOWSCOPE_RETURN_IF_ERROR(SaveValues());
    for (TensorId id = 0; id < trace_.tables().tensors.size(); ++id) {
      if (const std::optional<Stats> stats = trace_.StoredStats(id)) stats_.push_back({id, *stats});
    }
    return WriteWholeDatabase(folder_ + "/" + std::string(kDatabaseName), trace_.tables(), extras_,
                              values_, stats_);
  }

 private:
  size_t CountKept() const {
    const auto& tensors = trace_.tables().tensors;
    return static_cast<size_t>(std::count_if(
        tensors.begin(), tensors.end(),
        [](const TensorRecord& tensor) { return tensor.state == PayloadState::kKept; }));
  }

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
  std::string folder_;
  ShardWriter shards_;
  StructureExtras extras_;
  std::vector<ValueRow> values_;
  std::vector<StatsRow> stats_;
};

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

// A zip is made inside of the folder, so that one mark covers both.
Status MoveIntoPlace(Temporary& made, const std::string& path, const Placing& placing) {
  std::string from = made.path();
  if (placing.zip) {
    from += "/.zip";
    FLOWSCOPE_RETURN_IF_ERROR(WriteZip(made.path(), from));
  }
  FLOWSCOPE_RETURN_IF_ERROR(Place(from, path, placing));
  return made.Remove();
}

Status SaveTrace(const Trace& trace, const std::string& given, const SaveOptions& options) {
  FLOWSCOPE_RETURN_IF_ERROR(CheckTarget(given, options.overwrite));
  const std::string path = ResolvedPath(given);
  RemoveAbandoned(path);
  Result<Temporary> made = Temporary::Folder(path);
  if (!made.ok()) return made.status();
  const bool zip = IsZipPath(WithoutTrailingSlash(given));
  FLOWSCOPE_RETURN_IF_ERROR(Saver(trace, options, made->path(), !zip).Save());
  return MoveIntoPlace(*made, path, {zip, options.overwrite, true});
}

}  // namespace flowscope::store
