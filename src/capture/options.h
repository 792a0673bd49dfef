#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "capture/body_origins.h"
#include "tf/c_api.h"
#include "trace/event_sink.h"
#include "trace/selector.h"

namespace flowscope::capture {

enum class FunctionMode {
  kInside,    // compiled functions are opened
  kCall,      // a call of one is one op
  kSelected,  // those that open_functions matches are opened
};

// Draws that are put in place of those of the run.
class DrawSource {
 public:
  // Where a random op stands: its site as SiteRecord has it, and its pass. `label` is for messages.
  struct Place {
    std::string_view type;
    std::string_view region_path;
    std::string_view module_address;
    uint32_t nth = 0;
    uint32_t pass = 0;
    std::string label;
  };

  virtual ~DrawSource() = default;
  // After every random op: may put other handles, which are then the caller's of the op, in place
  // of the outputs. A Status that is not ok fails the op.
  virtual Status Replace(const Place& place, std::span<TFE_TensorHandle*> outputs) = 0;
  // After a run that came to its end: what its trace should say of draws that it did not ask for;
  // empty where there is none.
  virtual std::string LeftOver() const = 0;
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
  std::shared_ptr<BodyOriginProvider> body_origins;  // null: ops of bodies have no module calls
  bool compare_compiled = false;  // run what is opened compiled too, and tell the difference
  int keep_steps = -1;            // steps of a training run whose values stay; -1: all
  bool interpret_random = false;  // open functions with stateful random ops too
  bool code_context = true;
  bool use_hook = true;  // false: what is handed to the recorder, and nothing else
  bool raise_on_nan = false;
  SelectorPtr halt;          // the run ends after the first op that matches; null: never
  int64_t save_budget = -1;  // bytes of kept values after which statistics are kept; -1: no bound
  std::shared_ptr<DrawSource> draws;  // null: draws are those of the run
  std::shared_ptr<EventSink> sink;    // takes values and structure while the run goes on; or null
  bool retain_in_memory = false;      // values stay here too
  std::function<void(const std::string&)> warn;  // called at most once, GIL state unknown
};

}  // namespace flowscope::capture
