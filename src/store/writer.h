// Saves a trace.
#pragma once

#include <string>
#include <vector>

#include "store/temporary.h"
#include "trace/trace.h"

namespace flowscope::store {

struct SaveOptions {
  std::vector<bool> keep;                   // by tensor: whether its value is saved; empty: all
  std::vector<std::string> module_configs;  // by module, where the records have none
  bool compress = false;                    // with zstd
  bool overwrite = false;                   // a trace that is there already; never anything else
};

// Writes `path`, NAME.flow (a folder) or NAME.flow.zip, beside it first and renames it then: what
// stands there is whole or not there. Nothing is written over but a trace, and only where asked.
// InvalidArgument for a path of another form; IoError where the system refuses, and nothing is left
// behind.
Status SaveTrace(const Trace& trace, const std::string& path, const SaveOptions& options);

// Whether `path` is a folder or zip as SaveTrace writes it, told by its name and its parts.
bool LooksLikeTrace(const std::string& path);

// Puts the folder where `path` says and waits for the disk. What was there before is gone then.
struct Placing {
  bool overwrite = false;
  bool finished = true;  // else only that the name is there is waited for
};
Status MoveIntoPlace(Temporary& made, const std::string& path, const Placing& placing);
Status CheckTarget(const std::string& path, bool overwrite);

}  // namespace flowscope::store
