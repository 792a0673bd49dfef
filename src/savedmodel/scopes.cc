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

std::unordered_set<std::string_view> ScopesOf(const interp::FunctionDef& function) {
  std::unordered_set<std::string_view> scopes;
  for (const interp::NodeDef& node : function.nodes) {
    for (size_t end = node.name.find('/'); end != std::string_view::npos;
         end = node.name.find('/', end + 1)) {
      scopes.insert(node.name.substr(0, end));
    }
  }
  return scopes;
}

// The part of `name` up to the end of `part`, which is a view into it.
std::string_view UpTo(std::string_view name, std::string_view part) {
  return name.substr(0, static_cast<size_t>(part.data() - name.data()) + part.size());
}

}  // namespace

Scopes::Scopes(const std::set<std::string>& variable_names,
               const std::vector<interp::FunctionDef>& bodies, const VariableArguments& arguments) {
  const ByFunction functions = OutermostOf(bodies, arguments);
  std::set<std::string> layers;
  for (const auto& [function, scopes] : functions) {
    for (const auto& [scope, outermost] : scopes) {
      if (IsLayer(scope, functions)) layers.insert(scope);
    }
  }
  FindRoot(functions, layers);
  FindRootName(functions);
  FindBelowRoot(bodies);
  below_root_.insert(layers.begin(), layers.end());
  if (below_root_.empty()) return;
  AddVariables(variable_names);
  if (modules_.size() < 2) {
    modules_.clear();
    children_.clear();
    return;
  }
  num_known_ = static_cast<uint32_t>(modules_.size());
  FindLayers(functions);
  for (const interp::FunctionDef& function : bodies) AddBody(function);
}

Scopes::ByFunction Scopes::OutermostOf(const std::vector<interp::FunctionDef>& bodies,
                                       const VariableArguments& arguments) {
  ByFunction functions;
  for (const interp::FunctionDef& function : bodies) {
    OutermostScopes& scopes = functions[function.signature.name];
    for (const interp::NodeDef& node : function.nodes) {
      const std::vector<std::string_view> parts = Split(node.name);
      const std::vector<std::string> taken = arguments.TakenBy(function, node);
      if (parts.size() < 2) continue;
      Outermost& scope = scopes[std::string(parts.front())];
      scope.num_nodes += parts.size() > 2 ? 1 : 0;
      scope.reads.insert(taken.begin(), taken.end());
    }
  }
  return functions;
}

// The scope that most nodes stand in. Where reads are known it has some, and no layer stands beside
// it.
void Scopes::FindRoot(const ByFunction& functions, const std::set<std::string>& layers) {
  std::map<std::string_view, size_t> counts;
  std::set<std::string_view> reading;
  std::set<std::string_view> beside_layers;
  for (const auto& [function, scopes] : functions) {
    const bool has_layers = std::ranges::any_of(
        scopes, [&](const auto& scope) { return layers.contains(scope.first); });
    for (const auto& [name, scope] : scopes) {
      counts[name] += scope.num_nodes;
      if (!scope.reads.empty()) reading.insert(name);
      if (has_layers) beside_layers.insert(name);
    }
  }
  size_t most = 0;
  for (const auto& [scope, count] : counts) {
    const bool reads = reading.empty() || reading.contains(scope);
    if (count <= most || !reads || beside_layers.contains(scope)) continue;
    most = count;
    root_scope_ = scope;
  }
}

// Whether an outermost scope takes all of these variables, and others.
bool Scopes::ReadsMore(const std::set<std::string>& reads, const ByFunction& functions) {
  for (const auto& [function, scopes] : functions) {
    for (const auto& [name, scope] : scopes) {
      if (scope.reads.size() > reads.size() && std::ranges::includes(scope.reads, reads))
        return true;
    }
  }
  return false;
}

// Whether all that is taken below an outermost scope belongs to a layer of that name.
bool Scopes::IsLayer(std::string_view scope, const ByFunction& functions) {
  std::set<std::string> reads;
  bool is_all_of_function = true;
  for (const auto& [function, scopes] : functions) {
    const auto found = scopes.find(scope);
    if (found == scopes.end()) continue;
    reads.insert(found->second.reads.begin(), found->second.reads.end());
    for (const auto& [name, other] : scopes) {
      is_all_of_function = is_all_of_function && (name == scope || other.reads.empty());
    }
  }
  const auto all = [&](auto&& is) { return !reads.empty() && std::ranges::all_of(reads, is); };
  for (const std::string_view layer : {scope, WithoutNumber(scope)}) {
    const bool below_model = all([&](const std::string& name) {
      const std::vector<std::string_view> path = Split(name);
      return path.size() > 2 && path[1] == layer && path[0] != layer;
    });
    if (below_model) return true;
    const bool is_first = all([&](const std::string& name) { return Split(name)[0] == layer; });
    // It can be the model where nothing else is read beside it, nor more elsewhere.
    if (is_first && (!is_all_of_function || ReadsMore(reads, functions))) return true;
  }
  return false;
}

// Without a scope of its own a model is known by what the names of all its variables begin with.
void Scopes::FindRootName(const ByFunction& functions) {
  root_name_ = root_scope_;
  if (!root_scope_.empty()) return;
  std::set<std::string> first;
  bool is_layer = false;
  for (const auto& [function, scopes] : functions) {
    for (const auto& [scope, outermost] : scopes) {
      for (const std::string& name : outermost.reads) {
        const std::vector<std::string_view> path = Split(name);
        first.emplace(path.front());
        is_layer = is_layer || path.size() < 3 || path.front() == scope ||
                   path.front() == WithoutNumber(scope);
      }
    }
  }
  if (first.size() == 1 && !is_layer) root_name_ = *first.begin();
}

// Scopes that can be layers of the model.
void Scopes::FindBelowRoot(const std::vector<interp::FunctionDef>& bodies) {
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
  if (!root_scope_.empty() && numbered_) root_name_ = WithoutNumber(root_scope_);
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
  const auto is_below = [&] {
    return std::ranges::any_of(below_root_, [&](const std::string& scope) {
      return scope == path.front() || WithoutNumber(scope) == path.front();
    });
  };
  // A layer can be called like the model.
  const bool is_layer = path.size() == 2 && is_below();
  if (path.front() == root_name_ && !is_layer) path.erase(path.begin());
  if (path.size() < 2) return path;
  return is_below() ? path : std::vector<std::string_view>();
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
  return !root_scope_.empty() &&
         (component == root_scope_ || WithoutNumber(component) == root_name_);
}

void Scopes::FindLayers(const ByFunction& functions) {
  for (const auto& [function, scopes] : functions) {
    for (const auto& [scope, outermost] : scopes) {
      const uint32_t layer = IsRoot(scope) ? kNoScope : LayerOf(scope, outermost.reads);
      if (layer != kNoScope) layers_[function][scope] = layer;
    }
  }
}

// The module of that name which holds all that is taken.
uint32_t Scopes::LayerOf(std::string_view scope, const std::set<std::string>& reads) const {
  if (reads.empty()) return kNoScope;
  std::vector<uint32_t> owners;
  for (const std::string& name : reads) {
    owners.push_back(OwnerOf(name));
    if (owners.back() == kNoScope) return kNoScope;
  }
  const std::string_view stripped = WithoutNumber(scope);
  for (const std::string_view name : {numbered_ ? stripped : scope, numbered_ ? scope : stripped}) {
    for (uint32_t module = owners.front(); module != 0; module = modules_[module].parent) {
      const bool holds_all =
          std::ranges::all_of(owners, [&](uint32_t owner) { return Holds(module, owner); });
      if (modules_[module].name == name && holds_all) return module;
    }
  }
  return kNoScope;
}

bool Scopes::Holds(uint32_t module, uint32_t other) const {
  while (other != module && other != kNoScope) other = modules_[other].parent;
  return other == module;
}

uint32_t Scopes::ModuleOfOutermost(std::string_view function, std::string_view scope) const {
  if (IsRoot(scope)) return 0;
  const auto layers = layers_.find(function);
  if (layers == layers_.end()) return kNoScope;
  const auto layer = layers->second.find(scope);
  return layer == layers->second.end() ? kNoScope : layer->second;
}

// Where scopes of layers have a number the first one has it too: "einsum" and "einsum_1" are an
// op's.
bool Scopes::CanBeLayer(std::string_view scope, const std::unordered_set<std::string_view>& scopes,
                        const std::unordered_set<std::string_view>& nodes) const {
  const std::string_view last = scope.substr(scope.rfind('/') + 1);
  if (IsPartOfAnOp(last) || nodes.contains(scope)) return false;
  if (!numbered_) return true;
  const std::string_view stripped = WithoutNumber(last);
  const std::string_view bare = scope.substr(0, scope.size() - last.size() + stripped.size());
  return bare != scope && !scopes.contains(bare) && !nodes.contains(bare);
}

void Scopes::AddBody(const interp::FunctionDef& function) {
  const std::unordered_set<std::string_view> names = NamesOf(function);
  const std::unordered_set<std::string_view> scopes = ScopesOf(function);
  for (const interp::NodeDef& node : function.nodes) {
    const std::vector<std::string_view> parts = Split(node.name);
    uint32_t module = ModuleOfOutermost(function.signature.name, parts.front());
    if (parts.size() < 3 || module == kNoScope) continue;
    for (size_t i = 1; i + 1 < parts.size(); ++i) {
      const uint32_t child = Child(module, parts[i]);
      if (child != kNoScope) {
        module = child;
        continue;
      }
      const bool is_container = module < num_known_ && !children_[module].empty();
      if (!is_container || !CanBeLayer(UpTo(node.name, parts[i]), scopes, names)) break;
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
    const uint32_t outermost = ModuleOfOutermost(function.signature.name, parts.front());
    if (parts.size() < 2 || outermost == kNoScope) continue;
    uint32_t module = outermost;
    uint32_t call = kNoScope;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const uint32_t child = i == 0 ? outermost : Child(module, parts[i]);
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
