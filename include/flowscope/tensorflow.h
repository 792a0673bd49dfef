// TensorFlow in this process: recording needs it, reading and drawing a saved trace does not.
#pragma once

#include <string>

#include "base/status.h"

namespace flowscope::api {

struct TensorFlowInfo {
  std::string dir;      // folder of the package whose libraries are used
  std::string source;   // who named it: "--tensorflow", "FLOWSCOPE_TENSORFLOW", "python3"
  std::string version;  // empty where the libraries are not loaded
};

// Looks for the libraries of TensorFlow 2.16 or newer and loads nothing: in `dir` where it is not
// empty, else where the environment variable FLOWSCOPE_TENSORFLOW says, else in the wheel of the
// python3 on PATH, which is asked in a process of its own. NotFound, telling what was looked at.
Result<TensorFlowInfo> FindTensorFlow(const std::string& dir = {});

// Finds them and loads them into this process, where they stay; no Python takes part. Once loaded,
// the same TensorFlow serves every later call, and `dir` is not looked at. Thread-safe.
Result<TensorFlowInfo> LoadTensorFlow(const std::string& dir = {});

// Loads a shared library that registers ops which a model uses (TensorFlow Text and the like).
// Needs LoadTensorFlow.
Status LoadOpLibrary(const std::string& path);

}  // namespace flowscope::api
