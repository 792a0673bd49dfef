#include "library/restored_names.h"

#include <map>
#include <set>

namespace flowscope::library {
namespace {

std::vector<savedmodel::SavedObject> ViewsOf(const std::vector<RestoredObject>& texts) {
  std::vector<savedmodel::SavedObject> objects;
  for (const RestoredObject& text : texts) {
    savedmodel::SavedObject object;
    object.kind = text.kind;
    for (const auto& [name, child] : text.children) {
      if (child < texts.size()) object.children.emplace_back(name, child);
    }
    object.identifier = text.identifier;
    object.variable.name = text.name;
    object.variable.dims = text.dims;
    object.variable.trainable = text.trainable;
    objects.push_back(std::move(object));
  }
  return objects;
}

savedmodel::VariableObjects VariablesOf(const std::vector<savedmodel::SavedObject>& objects) {
  savedmodel::VariableObjects variables;
  for (uint32_t object = 0; object < objects.size(); ++object) {
    if (objects[object].kind == savedmodel::ObjectKind::kVariable) {
      variables.emplace(std::to_string(object), object);
    }
  }
  return variables;
}

std::vector<interp::FunctionDef> Parsed(const std::vector<interp::FunctionBody>& bodies) {
  std::vector<interp::FunctionDef> parsed;
  for (const auto& [name, bytes] : bodies) {
    Result<interp::FunctionDef> function = interp::ParseFunctionDef(bytes);
    if (function.ok()) parsed.push_back(std::move(function).value());
  }
  return parsed;
}

savedmodel::VariableArguments ArgumentsOf(const std::vector<RestoredFunction>& functions,
                                          const std::vector<interp::FunctionDef>& bodies,
                                          const std::vector<savedmodel::SavedObject>& objects) {
  std::map<std::string_view, size_t> num_inputs;
  for (const interp::FunctionDef& body : bodies) {
    num_inputs[body.signature.name] = body.signature.inputs.size();
  }
  savedmodel::VariableArguments arguments;
  for (const auto& [name, captured] : functions) {
    const auto count = num_inputs.find(name);
    if (count == num_inputs.end() || count->second < captured.size()) continue;
    const size_t first = count->second - captured.size();
    for (size_t i = 0; i < captured.size(); ++i) {
      const uint32_t object = captured[i];
      if (object >= objects.size()) continue;
      if (objects[object].kind != savedmodel::ObjectKind::kVariable) continue;
      arguments.Give(name, first + i, objects[object].variable.name);
    }
  }
  return arguments;
}

}  // namespace

RestoredNames::RestoredNames(TFE_Context* context, std::vector<RestoredObject> objects,
                             const std::vector<RestoredFunction>& functions)
    : texts_(std::move(objects)), objects_(ViewsOf(texts_)) {
  std::set<std::string, std::less<>> seen;
  for (const RestoredFunction& function : functions) {
    for (interp::FunctionBody& body : interp::FetchWithCallees(context, function.name, seen)) {
      bodies_.push_back(std::move(body));
    }
  }
  std::vector<std::string_view> definitions;
  for (const auto& [name, bytes] : bodies_) definitions.emplace_back(bytes);
  definitions_ = std::make_unique<FunctionDefinitions>(definitions);
  const std::vector<interp::FunctionDef> parsed = Parsed(bodies_);
  names_ = std::make_unique<savedmodel::ModelNames>(objects_, VariablesOf(objects_), parsed,
                                                    ArgumentsOf(functions, parsed, objects_));
}

savedmodel::ModelVariable RestoredNames::VariableOf(uint32_t object) const {
  return names_->VariableOf(std::to_string(object));
}

std::shared_ptr<const capture::BodyOrigins> RestoredNames::OriginsOf(
    TFE_Context* context, const std::string& function, std::vector<ModuleId> modules) const {
  if (!by_scopes() || modules.size() != names_->modules().size()) return nullptr;
  if (Has(function)) {
    return ScopeOrigins(names_->scopes(), std::move(modules), *definitions_).Of(function);
  }
  const Result<std::string> bytes = interp::FetchFunctionDef(context, function);
  if (!bytes.ok()) return nullptr;
  const FunctionDefinitions alone({std::string_view(*bytes)});
  return ScopeOrigins(names_->scopes(), std::move(modules), alone).Of(function);
}

}  // namespace flowscope::library
