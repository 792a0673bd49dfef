// A file's bytes.
#pragma once

#include <string>

#include "base/status.h"

namespace flowscope::savedmodel {

// NotFound where there is no such file; IoError, with the system's reason, where it cannot be read.
Result<std::string> ReadFile(const std::string& path);

}  // namespace flowscope::savedmodel
