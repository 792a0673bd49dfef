// TensorFlow in a process without Python: its libraries found, loaded, and a context of our own.
#pragma once

#include <string>

#include "base/status.h"

namespace flowscope::tf {

// Where TensorFlow's libraries are, and who said so.
struct TensorFlowLocation {
  std::string dir;     // the package folder
  std::string source;  // "--tensorflow", "FLOWSCOPE_TENSORFLOW", "python3"
};

// `asked` where it is not empty, else the environment variable FLOWSCOPE_TENSORFLOW, else the wheel
// of the python3 on PATH, which is asked in a process of its own and imports nothing. NotFound,
// saying what was looked at, where no folder has the libraries.
Result<TensorFlowLocation> FindTensorFlow(const std::string& asked);

// Loads the libraries of that folder into this process, for good, and fills the C API table.
Status OpenTensorFlow(const std::string& dir);

// Loads a library that registers ops.
Status LoadOpLibrary(const std::string& path);

}  // namespace flowscope::tf
