#include "interp/plan_cache.h"

#include <utility>

#include "interp/function_bodies.h"

namespace flowscope::interp {
namespace {

SignatureFinder SignaturesOf(TFE_Context* context) {
  return [context](std::string_view name) -> std::optional<tf::OpDef> {
    const Result<std::string> definition = FetchFunctionDef(context, std::string(name));
    if (!definition.ok()) return {};
    Result<FunctionDef> function = ParseFunctionDef(*definition);
    if (!function.ok()) return {};
    return std::move(function->signature);
  };
}

}  // namespace

std::string InstanceKey(const std::string& name, const Bindings& bindings) {
  return WriteNameAttrList(name, ToAttrList(bindings));
}

Result<std::shared_ptr<const Plan>> PlanCache::Get(TFE_Context* context, const std::string& name,
                                                   const Bindings& bindings) {
  Result<std::string> definition = FetchFunctionDef(context, name);
  if (!definition.ok()) return definition.status();
  std::string key = InstanceKey(name, bindings);
  {
    const std::lock_guard lock(mutex_);
    const auto known = plans_.find(key);
    if (known != plans_.end() && known->second->definition == *definition) return known->second;
  }
  std::shared_ptr<const Plan> plan = Make(context, *std::move(definition), bindings);
  const std::lock_guard lock(mutex_);
  plans_.insert_or_assign(std::move(key), plan);
  return plan;
}

std::shared_ptr<const Plan> PlanCache::Make(TFE_Context* context, std::string definition,
                                            const Bindings& bindings) {
  return BuildPlan(std::move(definition), bindings, SignaturesOf(context));
}

}  // namespace flowscope::interp
