#include "savedmodel/scopes.h"

#include <unordered_set>

namespace flowscope::savedmodel {
namespace {

// "dense_1" without the number at its end.
std::string_view WithoutNumber(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789");
  const bool numbered =
      end != std::string_view::npos && end > 0 && end + 1 < name.size() && name[end] == '_';
  return numbered ? name.substr(0, end) : name;
}

std::vector<std::string_view> Split(std::string_view name) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t slash = name.find('/');
    parts.push_back(name.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    name.remove_prefix(slash + 1);
  }
}

// Scopes that TensorFlow's own Python code opens around several nodes.
bool IsPartOfAnOp(std::string_view scope) {
  return scope.starts_with("TensorArray") || scope.starts_with("while") ||
         scope.starts_with("cond");
}

std::unordered_set<std::string_view> NamesOf(const interp::FunctionDef& function) {
  std::unordered_set<std::string_view> names;
  for (const interp::NodeDef& node : function.nodes) names.insert(node.name);
  return names;
}

// The part of `name` up to the end of `part`, which is a view into it.
std::string_view UpTo(std::string_view name, std::string_view part) {
  return name.substr(0, static_cast<size_t>(part.data() - name.data()) + part.size());
}

}  // namespace

Scopes::Scopes(const std::set<std::string>& variable_names) {
  for (const std::string& name : variable_names) {
    const std::vector<std::string_view> parts = Split(name);
    if (parts.size() < 2) continue;
    if (modules_.empty()) {
      root_name_ = parts.front();
      modules_.push_back({"self", root_name_, kNoScope});
      children_.emplace_back();
    }
    // A variable beside the model, such as a seed, is in no layer of it.
    if (parts.front() != root_name_) continue;
    uint32_t module = 0;
    for (size_t i = 1; i + 1 < parts.size(); ++i) module = AddModule(module, parts[i]);
  }
  num_known_ = static_cast<uint32_t>(modules_.size());
}

uint32_t Scopes::AddModule(uint32_t parent, std::string_view name) {
  const auto known = children_[parent].find(name);
  if (known != children_[parent].end()) return known->second;
  const auto module = static_cast<uint32_t>(modules_.size());
  const std::string above = parent == 0 ? "" : modules_[parent].address + ".";
  modules_.push_back({above + std::string(name), std::string(name), parent});
  children_.emplace_back();
  children_[parent].emplace(name, module);
  return module;
}

uint32_t Scopes::Child(uint32_t module, std::string_view component, bool numbered) const {
  const auto& children = children_[module];
  const std::string_view stripped = WithoutNumber(component);
  auto found = children.find(numbered ? stripped : component);
  if (found == children.end()) found = children.find(numbered ? component : stripped);
  return found == children.end() ? kNoScope : found->second;
}

// Whether the node stands in a scope of the model; `numbered` tells how its scopes are written.
bool Scopes::InModel(std::string_view first, bool& numbered) const {
  numbered = first != root_name_;
  return !numbered || WithoutNumber(first) == root_name_;
}

void Scopes::AddBody(const interp::FunctionDef& function) {
  if (modules_.empty()) return;
  const std::unordered_set<std::string_view> names = NamesOf(function);
  for (const interp::NodeDef& node : function.nodes) {
    const std::vector<std::string_view> parts = Split(node.name);
    bool numbered = false;
    if (parts.size() < 3 || !InModel(parts.front(), numbered)) continue;
    uint32_t module = 0;
    for (size_t i = 1; i + 1 < parts.size(); ++i) {
      const uint32_t child = Child(module, parts[i], numbered);
      if (child != kNoScope) {
        module = child;
        continue;
      }
      const bool is_container = module < num_known_ && !children_[module].empty();
      if (!is_container || IsPartOfAnOp(parts[i]) || names.contains(UpTo(node.name, parts[i]))) {
        break;
      }
      module = AddModule(module, numbered ? WithoutNumber(parts[i]) : parts[i]);
    }
  }
}

ScopeCalls Scopes::CallsOf(const interp::FunctionDef& function) const {
  ScopeCalls result;
  if (modules_.empty()) return result;
  std::unordered_map<std::string_view, uint32_t> call_of_scope;
  for (const interp::NodeDef& node : function.nodes) {
    const std::vector<std::string_view> parts = Split(node.name);
    bool numbered = false;
    if (parts.size() < 2 || !InModel(parts.front(), numbered)) continue;
    uint32_t module = 0;
    uint32_t call = kNoScope;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const uint32_t child = i == 0 ? 0 : Child(module, parts[i], numbered);
      if (child == kNoScope) continue;
      module = child;
      const auto [entry, is_new] = call_of_scope.try_emplace(
          UpTo(node.name, parts[i]), static_cast<uint32_t>(result.calls.size()));
      if (is_new) result.calls.push_back({module, call});
      call = entry->second;
    }
    if (call != kNoScope) result.call_of_node.emplace(node.name, call);
  }
  return result;
}

uint32_t Scopes::OwnerOf(std::string_view variable_name) const {
  const std::vector<std::string_view> parts = Split(variable_name);
  if (modules_.empty() || parts.size() < 2 || parts.front() != root_name_) return kNoScope;
  uint32_t module = 0;
  for (size_t i = 1; i + 1 < parts.size(); ++i) {
    const auto found = children_[module].find(parts[i]);
    if (found == children_[module].end()) return kNoScope;
    module = found->second;
  }
  return module;
}

}  // namespace flowscope::savedmodel
