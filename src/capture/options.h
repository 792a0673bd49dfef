#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "trace/selector.h"

namespace flowscope::capture {

enum class FunctionMode {
  kInside,    // compiled functions are opened
  kCall,      // a call of one is one op
  kSelected,  // those that open_functions matches are opened
};

struct RecordOptions {
  std::string name;
  std::string root_kind = "block";
  std::string root_class;
  std::string keras_version;
  SelectorPtr save;         // which ops keep a value; null: all
  bool keep_values = true;  // false: keep statistics instead of values
  FunctionMode functions = FunctionMode::kInside;
  SelectorPtr open_functions;
  bool interpret_random = false;  // open functions with stateful random ops too
  bool code_context = true;
  bool use_hook = true;  // false: what is handed to the recorder, and nothing else
  bool raise_on_nan = false;
  SelectorPtr halt;          // the run ends after the first op that matches; null: never
  int64_t save_budget = -1;  // bytes of kept values after which statistics are kept; -1: no bound
  std::function<void(const std::string&)> warn;  // called at most once, GIL state unknown
};

}  // namespace flowscope::capture
