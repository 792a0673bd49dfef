// A function with every function that it can reach: what one run needs, found before it starts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interp/plan_cache.h"

namespace flowscope::interp {

struct ProgramBody {
  std::shared_ptr<const Plan> plan;
  std::vector<uint32_t> callees;  // bodies, one for each of the plan's callees
};

struct Program {
  std::vector<ProgramBody> bodies;     // the first one is the function itself
  std::optional<std::string> refused;  // why it must not be run; then the bodies are not complete
  std::string effect;                  // a node that does more than compute and read
  std::string compiled_by_xla;         // the first function that XLA compiles in a plain run
};

// A `definition` that is not empty is that of `function`, which the context then need not have.
Program BuildProgram(PlanCache& plans, TFE_Context* context, const std::string& function,
                     bool interpret_random, const std::string& definition = {});

}  // namespace flowscope::interp
