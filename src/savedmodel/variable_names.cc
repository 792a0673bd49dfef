#include "savedmodel/variable_names.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include <protozero/pbf_reader.hpp>

#include "interp/attr_value.h"
#include "interp/function_bodies.h"
#include "interp/function_def.h"
#include "savedmodel/proto.h"
#include "savedmodel/variable_copies.h"

namespace flowscope::savedmodel {
namespace {

constexpr std::string_view kValueSuffix = "/.ATTRIBUTES/VARIABLE_VALUE";

// Lists in which Keras keeps the variables of a model that it exports: they tell no layer.
constexpr std::string_view kCopies = "_all_variables.";
constexpr std::array<std::string_view, 4> kCollections = {"variables.", "trainable_variables.",
                                                          "non_trainable_variables.", kCopies};

bool IsCollected(std::string_view path) {
  return std::ranges::any_of(kCollections,
                             [path](std::string_view list) { return path.starts_with(list); });
}

// The number at the end of "RestoreV2:tensors:3"; 0 where there is none.
size_t IndexOf(std::string_view reference) {
  const size_t colon = reference.rfind(':');
  size_t index = 0;
  for (const char digit :
       reference.substr(colon == std::string_view::npos ? reference.size() : colon + 1)) {
    if (digit < '0' || digit > '9' || index > 1'000'000) return 0;
    index = index * 10 + static_cast<size_t>(digit - '0');
  }
  return index;
}

std::vector<std::string_view> StringsOf(std::string_view attr_value) {
  std::vector<std::string_view> strings;
  const Result<interp::AttrValue> value = interp::ParseAttrValue(attr_value);
  if (!value.ok() || value->kind != interp::AttrKind::kTensor) return strings;
  try {
    protozero::pbf_reader tensor(value->bytes.data(), value->bytes.size());
    while (tensor.next()) {
      if (tensor.tag_and_type() == protozero::tag_and_type(8, kBytes)) {
        strings.push_back(View(tensor));
      } else {
        tensor.skip();
      }
    }
  } catch (const protozero::exception&) {
    return {};
  }
  return strings;
}

// The function that restores variables, which tells the checkpoint's key of each.
class RestoreFunction {
 public:
  explicit RestoreFunction(const interp::FunctionDef& function) : function_(function) {
    for (const interp::NodeDef& node : function.nodes) nodes_.emplace(node.name, &node);
  }

  // By argument of the function.
  std::map<std::string_view, std::string_view> Keys() const {
    std::map<std::string_view, std::string_view> keys;
    for (const interp::NodeDef& node : function_.nodes) {
      if (node.op != "AssignVariableOp" || node.inputs.size() < 2) continue;
      const std::string_view key = KeyOf(node.inputs[1]);
      if (!key.empty()) keys[NodeOf(node.inputs[0])] = key;
    }
    return keys;
  }

 private:
  const interp::NodeDef* Find(std::string_view name) const {
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? nullptr : found->second;
  }

  // Follows a value back to the tensor that was read from the checkpoint.
  std::string_view KeyOf(std::string_view reference) const {
    constexpr int kMaxSteps = 8;
    for (int step = 0; step < kMaxSteps; ++step) {
      const interp::NodeDef* node = Find(NodeOf(reference));
      if (node == nullptr || node->inputs.empty()) return {};
      if (node->op == "RestoreV2") {
        if (node->inputs.size() < 2) return {};
        const interp::NodeDef* names = Find(NodeOf(node->inputs[1]));
        const std::string_view* value =
            names != nullptr ? interp::FindAttr(names->attrs, "value") : nullptr;
        if (value == nullptr) return {};
        const std::vector<std::string_view> keys = StringsOf(*value);
        const size_t index = IndexOf(reference);
        return index < keys.size() ? keys[index] : std::string_view();
      }
      reference = node->inputs[0];
    }
    return {};
  }

  const interp::FunctionDef& function_;
  std::unordered_map<std::string_view, const interp::NodeDef*> nodes_;
};

// Attribute names in a key have "/" written as ".S" and "." as "..".
std::string Unescape(std::string_view part) {
  std::string name;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '.' && i + 1 < part.size()) {
      ++i;
      name += part[i] == 'S' ? '/' : part[i];
    } else {
      name += part[i];
    }
  }
  return name;
}

// The object at the end of a checkpoint's key; nullopt where there is none.
std::optional<uint32_t> ObjectAt(std::span<const SavedObject> objects, std::string_view key) {
  if (objects.empty() || !key.ends_with(kValueSuffix)) return {};
  key.remove_suffix(kValueSuffix.size());
  uint32_t object = 0;
  while (!key.empty()) {
    const size_t slash = key.find('/');
    const std::string name = Unescape(key.substr(0, slash));
    const auto& children = objects[object].children;
    const auto child = std::ranges::find(children, std::string_view(name),
                                         &std::pair<std::string_view, uint32_t>::first);
    if (child == children.end()) return {};
    object = child->second;
    key = slash == std::string_view::npos ? std::string_view() : key.substr(slash + 1);
  }
  return object;
}

// Every object's attribute paths: the shortest to each thing that holds it, and the name there.
std::vector<std::vector<std::string>> PathsOf(std::span<const SavedObject> objects) {
  std::vector<std::vector<std::string>> paths(objects.size());
  if (objects.empty()) return paths;
  std::vector<bool> seen(objects.size());
  std::deque<uint32_t> queue = {0};
  seen[0] = true;
  while (!queue.empty()) {
    const uint32_t object = queue.front();
    queue.pop_front();
    const std::string above = paths[object].empty() ? "" : paths[object].front() + ".";
    for (const auto& [name, child] : objects[object].children) {
      if (objects[object].kind != ObjectKind::kUser || child == 0) continue;
      paths[child].push_back(above + std::string(name));
      if (seen[child]) continue;
      seen[child] = true;
      queue.push_back(child);
    }
  }
  return paths;
}

const interp::NodeDef* FindNode(const MetaGraph& graph, std::string_view name) {
  const auto found = std::ranges::find(graph.nodes, name, &interp::NodeDef::name);
  return found == graph.nodes.end() ? nullptr : &*found;
}

// Checkpoint keys by the node that makes the variable.
std::map<std::string, std::string> KeysByNode(const MetaGraph& graph) {
  std::map<std::string, std::string> by_node;
  const interp::NodeDef* call = FindNode(graph, graph.saver.restore_op);
  const std::string_view* f = call != nullptr ? interp::FindAttr(call->attrs, "f") : nullptr;
  const Result<interp::AttrValue> value = f ? interp::ParseAttrValue(*f) : interp::AttrValue();
  if (!value.ok() || value->functions.size() != 1) return by_node;
  for (const std::string_view bytes : graph.functions) {
    const Result<interp::FunctionDef> function = interp::ParseFunctionDef(bytes);
    if (!function.ok() || function->signature.name != value->functions[0].name) continue;
    const auto keys = RestoreFunction(*function).Keys();
    const auto& args = function->signature.inputs;
    for (size_t i = 0; i < args.size() && i < call->inputs.size(); ++i) {
      const auto key = keys.find(args[i].name);
      if (key != keys.end()) by_node.emplace(NodeOf(call->inputs[i]), key->second);
    }
  }
  for (const auto& [copy, original] : VariableCopies(graph)) {
    const auto known = by_node.find(std::string(copy));
    if (known != by_node.end()) by_node.emplace(original, known->second);
  }
  return by_node;
}

VariableObjects ObjectsByNode(const MetaGraph& graph) {
  VariableObjects by_node;
  for (const auto& [node, key] : KeysByNode(graph)) {
    const std::optional<uint32_t> object = ObjectAt(graph.objects, key);
    if (object && graph.objects[*object].kind == ObjectKind::kVariable) {
      by_node.emplace(node, *object);
    }
  }
  return by_node;
}

// What the main graph gives to the functions that it calls.
VariableArguments ArgumentsIn(const MetaGraph& graph) {
  const VariableObjects objects = ObjectsByNode(graph);
  VariableArguments arguments;
  for (const interp::NodeDef& node : graph.nodes) {
    const size_t before = InputsBeforeArguments(node.op);
    for (const std::string_view function : interp::FunctionsNamedBy(node.op, node.attrs)) {
      for (size_t i = before; i < node.inputs.size(); ++i) {
        const auto object = objects.find(NodeOf(node.inputs[i]));
        if (object == objects.end()) continue;
        arguments.Give(function, i - before, graph.objects[object->second].variable.name);
      }
    }
  }
  return arguments;
}

std::string Dotted(std::string name) {
  std::ranges::replace(name, '/', '.');
  return name;
}

// What the model computes: no saving and no restoring.
std::vector<interp::FunctionDef> BodiesOf(const MetaGraph& graph) {
  std::vector<interp::FunctionDef> bodies;
  for (const std::string_view bytes : graph.functions) {
    Result<interp::FunctionDef> function = interp::ParseFunctionDef(bytes);
    if (!function.ok()) continue;
    const std::string& name = function->signature.name;
    const bool keeps = name.find("traced_save") != std::string::npos ||
                       name.find("traced_restore") != std::string::npos;
    if (!keeps) bodies.push_back(std::move(function).value());
  }
  return bodies;
}

// Objects that hold others without being a module, as the file names them.
bool IsModule(const SavedObject& object) {
  return object.kind == ObjectKind::kUser && object.identifier != "trackable_list_wrapper" &&
         object.identifier != "trackable_dict_wrapper" &&
         object.identifier != "trackable_tuple_wrapper" && object.identifier != "signature_map";
}

}  // namespace

ModelNames::ByNode ModelNames::VariablesOf(std::span<const SavedObject> objects,
                                           const VariableObjects& variables) {
  const std::vector<std::vector<std::string>> paths = PathsOf(objects);
  ByNode by_node;
  for (const auto& [node, object] : variables) {
    Known& known = by_node[node];
    known.object = object;
    known.variable = &objects[object].variable;
    for (const bool collected : {false, true}) {
      for (const std::string& path : paths[object]) {
        if (IsCollected(path) == collected) known.paths.push_back(path);
      }
    }
  }
  return by_node;
}

// Of variables that only lists of all variables hold: a model that Keras exported.
std::set<std::string> ModelNames::NamesOf(const ByNode& variables) {
  std::set<std::string> names;
  for (const auto& [node, known] : variables) {
    if (known.paths.empty() || IsCollected(known.paths.front())) {
      names.emplace(known.variable->name);
    }
  }
  return names;
}

ModelNames::ModelNames(const MetaGraph& graph)
    : ModelNames(graph.objects, ObjectsByNode(graph), BodiesOf(graph), ArgumentsIn(graph)) {}

ModelNames::ModelNames(std::span<const SavedObject> objects, const VariableObjects& variables,
                       const std::vector<interp::FunctionDef>& bodies, VariableArguments arguments)
    : by_node_(VariablesOf(objects, variables)) {
  arguments.Follow(bodies);
  scopes_ = Scopes(NamesOf(by_node_), bodies, arguments);
  AddScopeModules();
  if (modules_.empty()) AddObjectModules(objects);
  CountParams();
}

void ModelNames::AddScopeModules() {
  for (const ScopeModule& module : scopes_.modules()) {
    modules_.push_back({module.address, module.name, "Layer", module.parent, kNoScope, 0, 0});
  }
}

// Objects that hold a variable, and all between them and the root.
void ModelNames::AddObjectModules(std::span<const SavedObject> objects) {
  const std::vector<std::vector<std::string>> paths = PathsOf(objects);
  std::map<std::string, uint32_t> found;  // address, object: parents come first
  for (const auto& [node, known] : by_node_) {
    if (known.paths.empty()) continue;
    for (size_t dot = known.paths.front().find('.'); dot != std::string::npos;
         dot = known.paths.front().find('.', dot + 1)) {
      found.emplace(known.paths.front().substr(0, dot), kNoScope);
    }
  }
  modules_.push_back({"self", "", "SavedModel", kNoScope, 0, 0, 0});
  module_by_address_.emplace("", 0);
  for (uint32_t object = 1; object < objects.size(); ++object) {
    for (const std::string& path : paths[object]) {
      const auto entry = found.find(path);
      if (entry != found.end() && IsModule(objects[object])) entry->second = object;
    }
  }
  // Containers, and parts of a key that has dots.
  std::erase_if(found, [](const auto& entry) { return entry.second == kNoScope; });
  for (const auto& [address, object] : found) {
    std::string above = address;
    auto parent = module_by_address_.end();
    while (parent == module_by_address_.end()) {
      const size_t dot = above.rfind('.');
      above = dot == std::string::npos ? "" : above.substr(0, dot);
      parent = module_by_address_.find(above);
    }
    const size_t last = address.rfind('.');
    module_by_address_.emplace(address, static_cast<uint32_t>(modules_.size()));
    modules_.push_back({address, address.substr(last == std::string::npos ? 0 : last + 1), "Module",
                        parent->second, object, 0, 0});
  }
}

uint32_t ModelNames::OwnerOf(const Known& known) const {
  if (!scopes_.modules().empty()) {
    const uint32_t owner = scopes_.OwnerOf(known.variable->name);
    // One whose layer the names do not tell is the model's, unless it is a seed or the like.
    return owner == kNoScope && known.variable->trainable ? 0 : owner;
  }
  if (known.paths.empty() || modules_.empty()) return kNoScope;
  std::string above = known.paths.front();
  while (!above.empty()) {
    const size_t dot = above.rfind('.');
    above = dot == std::string::npos ? "" : above.substr(0, dot);
    const auto found = module_by_address_.find(above);
    if (found != module_by_address_.end()) return found->second;
  }
  return 0;
}

// Keras exports a second copy of every variable, in a list of its own.
std::set<std::string_view> ModelNames::CopiesOf(const ByNode& variables) {
  const auto is_listed = [](const Known& known) {
    return !known.paths.empty() && std::ranges::all_of(known.paths, [](const std::string& path) {
      return path.starts_with(kCopies);
    });
  };
  std::set<std::string_view> names;
  std::set<std::string_view> copies;
  for (const auto& [node, known] : variables) {
    if (!is_listed(known)) names.insert(known.variable->name);
  }
  for (const auto& [node, known] : variables) {
    if (is_listed(known) && names.contains(known.variable->name)) copies.insert(node);
  }
  return copies;
}

void ModelNames::CountParams() {
  const std::set<std::string_view> copies = CopiesOf(by_node_);
  std::set<uint32_t> objects;
  for (const auto& [node, known] : by_node_) {
    if (copies.contains(node) || !objects.insert(known.object).second) continue;
    const std::optional<Dims>& dims = known.variable->dims;
    if (!dims || std::ranges::any_of(*dims, [](int64_t dim) { return dim < 0; })) continue;
    const int64_t count = NumElements(*dims);
    for (uint32_t module = OwnerOf(known); module != kNoScope; module = modules_[module].parent) {
      modules_[module].num_params += count;
      if (known.variable->trainable) modules_[module].num_trainable += count;
    }
  }
}

ModelVariable ModelNames::VariableOf(std::string_view node) const {
  ModelVariable variable;
  const auto found = by_node_.find(node);
  if (found == by_node_.end()) {
    variable.name = node;
    variable.addresses = {Dotted(variable.name)};
    return variable;
  }
  const Known& known = found->second;
  variable.name = known.variable->name;
  variable.trainable = known.variable->trainable;
  variable.addresses = known.paths;
  variable.module = OwnerOf(known);
  // A list of all variables tells less than the layer's name.
  if (!known.paths.empty() && !IsCollected(known.paths.front())) return variable;
  std::string address = scopes_.AddressOf(variable.name);
  if (address.empty()) address = Dotted(variable.name);
  if (!address.empty()) variable.addresses.insert(variable.addresses.begin(), address);
  return variable;
}

}  // namespace flowscope::savedmodel
