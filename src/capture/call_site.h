// Where in the user's program an op was asked for. The implementation that walks Python frames
// lives with the binding; capture itself knows no Python.
#pragma once

#include <cstdint>
#include <string>

#include "trace/ids.h"

namespace flowscope::capture {

struct CallSite {
  std::string file;
  std::string function;
  std::string text;  // the source line, empty where it cannot be read
  uint32_t line = 0;
};

class CallSiteProvider {
 public:
  virtual ~CallSiteProvider() = default;

  // Key of the innermost frame of the calling thread that is the user's, kNoId where there is none.
  // Called for every op, in any GIL state, with no lock of ours held.
  virtual LocationId Current() = 0;

  // Whether the calling thread is turning a Python value into a tensor. What runs then is
  // TensorFlow's own, is kept for the next equal value, and belongs to no line of the program.
  virtual bool ConvertsValue() const { return false; }
  // The key of a line that is known already.
  virtual LocationId Add(const CallSite& site) = 0;

  // What a key stands for. Called once per key when the recording ends, and for an error's line.
  virtual CallSite Resolve(LocationId key) = 0;
};

}  // namespace flowscope::capture
