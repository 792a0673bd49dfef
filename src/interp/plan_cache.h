// Plans of functions, parsed once.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/status.h"
#include "interp/plan.h"
#include "tf/c_api.h"

namespace flowscope::interp {

// Thread-safe. The definition is asked of the context each time and compared with the plan's own,
// so that a name that is used again for another body is noticed.
class PlanCache {
 public:
  // NotFound where the context has no function of that name.
  Result<std::shared_ptr<const Plan>> Get(TFE_Context* context, const std::string& name,
                                          const Bindings& bindings);
  // Of a definition that no context has, and that is not kept here.
  static std::shared_ptr<const Plan> Make(TFE_Context* context, std::string definition,
                                          const Bindings& bindings = {});

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Plan>> plans_;
};

// Tells apart the instances of a function by what is bound.
std::string InstanceKey(const std::string& name, const Bindings& bindings);

}  // namespace flowscope::interp
