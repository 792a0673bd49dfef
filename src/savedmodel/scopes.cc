#include "savedmodel/scopes.h"

#include <algorithm>
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

Scopes::Scopes(const std::set<std::string>& variable_names,
               const std::vector<interp::FunctionDef>& bodies) {
  FindRoot(bodies);
  if (root_scope_.empty()) return;
  AddVariables(variable_names);
  if (modules_.size() < 2) {
    modules_.clear();
    children_.clear();
    return;
  }
  num_known_ = static_cast<uint32_t>(modules_.size());
  for (const interp::FunctionDef& function : bodies) AddBody(function);
}

// The scope that most nodes stand in.
void Scopes::FindRoot(const std::vector<interp::FunctionDef>& bodies) {
  std::map<std::string_view, size_t> counts;
  for (const interp::FunctionDef& function : bodies) {
    for (const interp::NodeDef& node : function.nodes) {
      const std::vector<std::string_view> parts = Split(node.name);
      if (parts.size() > 2) ++counts[parts.front()];
    }
  }
  size_t most = 0;
  for (const auto& [scope, count] : counts) {
    if (count <= most) continue;
    most = count;
    root_scope_ = scope;
  }
  for (const interp::FunctionDef& function : bodies) {
    for (const interp::NodeDef& node : function.nodes) {
      const std::vector<std::string_view> parts = Split(node.name);
      if (parts.size() > 2 && parts.front() == root_scope_) below_root_.emplace(parts[1]);
    }
  }
}

void Scopes::AddVariables(const std::set<std::string>& names) {
  // Which way of reading the scopes knows more layers.
  size_t as_written = 0;
  size_t without_number = 0;
  for (const std::string& scope : below_root_) {
    const auto begins = [&](std::string_view layer) {
      const std::string alone = std::string(layer) + "/";
      return std::ranges::any_of(names, [&](const std::string& name) {
        return name.starts_with(alone) || name.find("/" + alone) != std::string::npos;
      });
    };
    as_written += begins(scope) ? 1 : 0;
    without_number += WithoutNumber(scope) != scope && begins(WithoutNumber(scope)) ? 1 : 0;
  }
  numbered_ = without_number > as_written;
  root_name_ = numbered_ ? WithoutNumber(root_scope_) : std::string_view(root_scope_);
  modules_.push_back({"self", root_name_, kNoScope});
  children_.emplace_back();
  for (const std::string& name : names) {
    const std::vector<std::string_view> path = PathOf(name);
    uint32_t module = 0;
    for (size_t i = 0; i + 1 < path.size(); ++i) module = AddModule(module, path[i]);
  }
}

// Without the model's own name. Empty for a variable beside the model, such as a seed.
std::vector<std::string_view> Scopes::PathOf(std::string_view variable_name) const {
  std::vector<std::string_view> path = Split(variable_name);
  if (path.front() == root_name_) path.erase(path.begin());
  if (path.size() < 2) return path;
  const bool is_below = std::ranges::any_of(below_root_, [&](const std::string& scope) {
    return scope == path.front() || WithoutNumber(scope) == path.front();
  });
  return is_below ? path : std::vector<std::string_view>();
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

uint32_t Scopes::Child(uint32_t module, std::string_view component) const {
  const auto& children = children_[module];
  const std::string_view stripped = WithoutNumber(component);
  auto found = children.find(numbered_ ? stripped : component);
  if (found == children.end()) found = children.find(numbered_ ? component : stripped);
  return found == children.end() ? kNoScope : found->second;
}

// A model that is called twice has a second scope.
bool Scopes::IsRoot(std::string_view component) const {
  return component == root_scope_ || WithoutNumber(component) == root_name_;
}

void Scopes::AddBody(const interp::FunctionDef& function) {
  const std::unordered_set<std::string_view> names = NamesOf(function);
  for (const interp::NodeDef& node : function.nodes) {
    const std::vector<std::string_view> parts = Split(node.name);
    if (parts.size() < 3 || !IsRoot(parts.front())) continue;
    uint32_t module = 0;
    for (size_t i = 1; i + 1 < parts.size(); ++i) {
      const uint32_t child = Child(module, parts[i]);
      if (child != kNoScope) {
        module = child;
        continue;
      }
      const bool is_container = module < num_known_ && !children_[module].empty();
      if (!is_container || IsPartOfAnOp(parts[i]) || names.contains(UpTo(node.name, parts[i]))) {
        break;
      }
      module = AddModule(module, numbered_ ? WithoutNumber(parts[i]) : parts[i]);
    }
  }
}

ScopeCalls Scopes::CallsOf(const interp::FunctionDef& function) const {
  ScopeCalls result;
  if (modules_.empty()) return result;
  std::unordered_map<std::string_view, uint32_t> call_of_scope;
  for (const interp::NodeDef& node : function.nodes) {
    const std::vector<std::string_view> parts = Split(node.name);
    if (parts.size() < 2 || !IsRoot(parts.front())) continue;
    uint32_t module = 0;
    uint32_t call = kNoScope;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const uint32_t child = i == 0 ? 0 : Child(module, parts[i]);
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
  if (modules_.empty()) return kNoScope;
  const std::vector<std::string_view> path = PathOf(variable_name);
  if (path.empty()) return kNoScope;
  uint32_t module = 0;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    const auto found = children_[module].find(path[i]);
    if (found == children_[module].end()) return kNoScope;
    module = found->second;
  }
  return module;
}

std::string Scopes::AddressOf(std::string_view variable_name) const {
  const uint32_t owner = OwnerOf(variable_name);
  if (owner == kNoScope) return "";
  const std::string last(variable_name.substr(variable_name.rfind('/') + 1));
  return owner == 0 ? last : modules_[owner].address + "." + last;
}

}  // namespace flowscope::savedmodel
