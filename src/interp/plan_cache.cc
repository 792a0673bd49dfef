#include "interp/plan_cache.h"

#include <utility>

#include "tf/handles.h"

namespace flowscope::interp {
namespace {

Result<std::string> FetchDefinition(TFE_Context* context, const std::string& name) {
  const tf::StatusPtr status = tf::NewStatus();
  const tf::BufferPtr buffer(tf::Api().TF_NewBuffer());
  tf::Api().TFE_ContextGetFunctionDef(context, name.c_str(), buffer.get(), status.get());
  if (tf::Api().TF_GetCode(status.get()) != 0) {
    return NotFound("TensorFlow's context has no function '" + name + "'");
  }
  return std::string(static_cast<const char*>(buffer->data), buffer->length);
}

SignatureFinder SignaturesOf(TFE_Context* context) {
  return [context](std::string_view name) -> std::optional<tf::OpDef> {
    const Result<std::string> definition = FetchDefinition(context, std::string(name));
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
  Result<std::string> definition = FetchDefinition(context, name);
  if (!definition.ok()) return definition.status();
  std::string key = InstanceKey(name, bindings);
  {
    const std::lock_guard lock(mutex_);
    const auto known = plans_.find(key);
    if (known != plans_.end() && known->second->definition == *definition) return known->second;
  }
  std::shared_ptr<const Plan> plan =
      BuildPlan(*std::move(definition), bindings, SignaturesOf(context));
  const std::lock_guard lock(mutex_);
  plans_.insert_or_assign(std::move(key), plan);
  return plan;
}

}  // namespace flowscope::interp
