// Runs a function of a TensorFlow context op by op through the C API.
//
// What comes out is what the same body gives when run eagerly, to the bit. Constants are never
// executed (TensorFlow's eager kernel cache takes two of them for one when dtype, shape and first
// elements agree): they are built from their proto. A function that cannot be run this way with the
// same result is refused before anything ran; the caller then runs it compiled.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "interp/host.h"
#include "tf/handles.h"

namespace flowscope::interp {

struct InterpretOptions {
  // Run bodies with stateful random ops too: their draws are then not those of a plain run.
  bool interpret_random = false;
};

// Plans of functions, parsed once. Thread-safe; keyed by function name and the bytes of its
// definition, so that a name that is used again for another body is noticed.
class PlanCache;
std::shared_ptr<PlanCache> NewPlanCache();

class Interpreter {
 public:
  Interpreter(std::shared_ptr<PlanCache> plans, InterpretOptions options);
  ~Interpreter();

  struct Findings {
    std::optional<std::string> refused;  // as WhyRefused tells
    std::string effect;                  // a node that does more than compute and read; empty: none
    std::string compiled_by_xla;  // a function of it that XLA compiles in a plain run; empty: none
  };
  // What is known of the function before it runs, with the same promise as WhyRefused. A
  // `definition` that is not empty is that of a function which the context does not have.
  Findings Examine(TFE_Context* context, const std::string& function,
                   const std::string& definition = {});

  // Why `function` (or a function below it) must not be run op by op; nullopt where it can. The
  // reason is a sentence for the op's opaque_reason. A Run of the same interpreter that follows on
  // the same thread uses what was found here, instead of asking TensorFlow for all definitions
  // again.
  std::optional<std::string> WhyRefused(TFE_Context* context, const std::string& function);

  // Runs it; thread-safe, as WhyRefused is. On failure `status` holds TensorFlow's own error with
  // function, node, op type and region path added to the message, and nothing is returned. Needs
  // WhyRefused to be nullopt.
  std::vector<tf::HandlePtr> Run(TFE_Context* context, const std::string& function,
                                 std::span<TFE_TensorHandle* const> args, Host& host,
                                 TF_Status* status, const std::string& definition = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flowscope::interp
