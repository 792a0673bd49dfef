// Traces in files.
#pragma once

#include <string>

#include "base/status.h"
#include "flowscope/trace.h"

namespace flowscope::api {

enum class PathKind {
  kNothing,     // nothing is there
  kSavedModel,  // a folder that holds saved_model.pb
  kTrace,       // a folder NAME.flow or a file NAME.flow.zip, sound or not
  kOther,
};
// Told by the name and by which files there are; nothing is read.
PathKind KindOfPath(const std::string& path);

// Opens a folder NAME.flow or a file NAME.flow.zip, without TensorFlow, without running or writing
// anything: the structure at once, a value when it is asked for. A recording that was cut off gives
// what was committed; see Trace::interrupted.
//
// NotFound where nothing is there; InvalidArgument for what is no trace; Corruption where the file
// contradicts itself; Unsupported where a newer version wrote it; Io where the system refuses.
Result<Trace> OpenTrace(const std::string& path);

struct SaveOptions {
  bool compress = false;   // with zstd
  bool overwrite = false;  // a trace that is there; anything else is left alone
};

// Whether a trace can be saved as `path`, which ends in .flow (a folder) or .flow.zip (one file).
Status CheckSavePath(const std::string& path, bool overwrite);

// Writes beside `path` first and renames then: what stands under the name is whole.
Status SaveTrace(const Trace& trace, const std::string& path, const SaveOptions& options = {});

// Finishes a folder that a recording left when it was cut off: what was committed stays, in files
// that every reader takes. True where there was something to finish. Nobody may be writing it.
Result<bool> RepairTrace(const std::string& path);

}  // namespace flowscope::api
