// A zip of files as they are, which other programs can open.
#pragma once

#include <string>

#include "base/status.h"

namespace flowscope::store {

// Writes the files of `folder` (no folders in it) to a new file `path`. Each file's bytes begin at
// a multiple of kAlignment, so that values can be mapped.
Status WriteZip(const std::string& folder, const std::string& path);

}  // namespace flowscope::store
