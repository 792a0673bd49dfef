#include "interp/function_bodies.h"

#include "interp/attr_value.h"
#include "tf/handles.h"
#include "tf/op_registry.h"

namespace flowscope::interp {

Result<std::string> FetchFunctionDef(TFE_Context* context, const std::string& name) {
  const tf::StatusPtr status = tf::NewStatus();
  const tf::BufferPtr buffer(tf::Api().TF_NewBuffer());
  tf::Api().TFE_ContextGetFunctionDef(context, name.c_str(), buffer.get(), status.get());
  if (tf::Api().TF_GetCode(status.get()) != 0) {
    return NotFound("TensorFlow's context has no function '" + name + "'");
  }
  return std::string(static_cast<const char*>(buffer->data), buffer->length);
}

std::vector<std::string_view> FunctionsNamedBy(std::string_view op, const AttrList& attrs) {
  std::vector<std::string_view> names;
  if (tf::FindOpDef(op) == nullptr) names.push_back(op);
  for (const auto& [name, bytes] : attrs) {
    // TensorFlow's notes to itself: a gradient function's name, for example, is no callee.
    if (name.starts_with('_')) continue;
    const Result<AttrValue> value = ParseAttrValue(bytes);
    if (!value.ok()) continue;
    for (const FunctionRef& function : value->functions) names.push_back(function.name);
  }
  return names;
}

std::vector<FunctionBody> FetchWithCallees(TFE_Context* context, const std::string& name,
                                           std::set<std::string, std::less<>>& seen) {
  std::vector<FunctionBody> bodies;
  std::vector<std::string> wanted = {name};
  while (!wanted.empty()) {
    const std::string next = std::move(wanted.back());
    wanted.pop_back();
    if (!seen.insert(next).second) continue;
    Result<std::string> bytes = FetchFunctionDef(context, next);
    if (!bytes.ok()) continue;
    const Result<FunctionDef> body = ParseFunctionDef(*bytes);
    if (!body.ok()) continue;
    for (const NodeDef& node : body->nodes) {
      for (const std::string_view callee : FunctionsNamedBy(node.op, node.attrs)) {
        wanted.emplace_back(callee);
      }
    }
    bodies.emplace_back(next, std::move(bytes).value());
  }
  return bodies;
}

}  // namespace flowscope::interp
