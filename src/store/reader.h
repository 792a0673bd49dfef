// Opens a saved trace.
#pragma once

#include <memory>
#include <string>

#include "trace/trace.h"

namespace flowscope::store {

// Reads NAME.flow or NAME.flow.zip, without TensorFlow and without running or writing anything: the
// structure at once, a value when it is asked for. The trace stays usable when the folder is moved
// or replaced. A recording that never ended gives what was committed, and info().interrupted.
//
// NotFound where nothing is there; Corruption where the file contradicts itself; Unsupported where
// it is newer than this version; IoError where the system refuses.
Result<std::shared_ptr<const Trace>> OpenTrace(const std::string& path);

// Writes the end that an interrupted recording never wrote: what was committed becomes a finished
// folder, whose trace still says that it was interrupted. Ok where the folder is finished already.
Status RepairTrace(const std::string& path);

}  // namespace flowscope::store
