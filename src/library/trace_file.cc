#include "flowscope/trace_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "store/files.h"
#include "store/open.h"
#include "store/reader.h"
#include "store/trace_format.h"
#include "store/writer.h"

namespace flowscope::api {
namespace {

// What stands behind links.
bool IsThere(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

std::string In(const std::string& folder, std::string_view name) {
  return folder + "/" + std::string(name);
}

Status NoTrace(const std::string& path) {
  const std::string forms = "a trace is a folder NAME" + std::string(store::kFolderSuffix) +
                            ", which holds " + std::string(store::kDatabaseName) +
                            ", or a file NAME" + std::string(store::kZipSuffix);
  if (KindOfPath(path) == PathKind::kSavedModel) {
    return InvalidArgument(path +
                           " is a SavedModel and no trace: record it first, with `flowscope "
                           "trace " +
                           path + " -o NAME.flow`");
  }
  const size_t slash = path.rfind('/');
  if (slash != std::string::npos && path.substr(slash + 1) == store::kDatabaseName) {
    return InvalidArgument(path + " is a part of a trace: give the folder that holds it");
  }
  return InvalidArgument(path + " is no trace: " + forms);
}

}  // namespace

PathKind KindOfPath(const std::string& given) {
  const std::string path = store::WithoutTrailingSlash(given);
  if (!IsThere(path)) return PathKind::kNothing;
  if (!store::IsFolder(path)) {
    return path.ends_with(".zip") ? PathKind::kTrace : PathKind::kOther;
  }
  if (IsThere(In(path, store::kDatabaseName))) return PathKind::kTrace;
  if (IsThere(In(path, "saved_model.pb")) || IsThere(In(path, "saved_model.pbtxt"))) {
    return PathKind::kSavedModel;
  }
  return path.ends_with(store::kFolderSuffix) ? PathKind::kTrace : PathKind::kOther;
}

Result<Trace> OpenTrace(const std::string& given) {
  const std::string path = store::WithoutTrailingSlash(given);
  if (store::IsFolder(path) && ::access(path.c_str(), R_OK | X_OK) != 0) {
    return store::SystemError("read folder", path);
  }
  const PathKind kind = KindOfPath(path);
  if (kind == PathKind::kOther || kind == PathKind::kSavedModel) return NoTrace(path);
  Result<std::shared_ptr<const flowscope::Trace>> trace = store::OpenTrace(path);
  if (!trace.ok()) return trace.status();
  return Trace(std::move(trace).value());
}

Status CheckSavePath(const std::string& path, bool overwrite) {
  return store::CheckTarget(store::WithoutTrailingSlash(path), overwrite);
}

Status SaveTrace(const Trace& trace, const std::string& path, const SaveOptions& options) {
  store::SaveOptions how;
  how.compress = options.compress;
  how.overwrite = options.overwrite;
  return store::SaveTrace(*trace.record(), path, how);
}

Result<bool> RepairTrace(const std::string& given) {
  const std::string path = store::WithoutTrailingSlash(given);
  const Result<Trace> trace = OpenTrace(path);
  if (!trace.ok()) return trace.status();
  if (!store::IsFolder(path)) return false;  // a zip is written whole
  const Result<store::Opened> opened = store::Open(path);
  if (!opened.ok()) return opened.status();
  if (opened->file.complete) return false;
  FLOWSCOPE_RETURN_IF_ERROR(store::RepairTrace(path));
  return true;
}

}  // namespace flowscope::api
