#include "savedmodel/variable_names.h"

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_map>
#include <vector>

#include <protozero/pbf_reader.hpp>

#include "interp/attr_value.h"
#include "interp/function_def.h"
#include "savedmodel/proto.h"
#include "savedmodel/saved_model.h"

namespace flowscope::savedmodel {
namespace {

constexpr std::string_view kValueSuffix = "/.ATTRIBUTES/VARIABLE_VALUE";

// Lists in which Keras keeps the variables of a model that it exports: they tell no layer.
constexpr std::array<std::string_view, 4> kCollections = {
    "variables.", "trainable_variables.", "non_trainable_variables.", "_all_variables."};

bool IsCollected(std::string_view path) {
  return std::ranges::any_of(kCollections,
                             [path](std::string_view list) { return path.starts_with(list); });
}

std::string_view NodeOf(std::string_view reference) {
  return reference.substr(0, reference.find(':'));
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
std::optional<uint32_t> ObjectAt(const std::vector<SavedObject>& objects, std::string_view key) {
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
std::vector<std::vector<std::string>> PathsOf(const std::vector<SavedObject>& objects) {
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
  return by_node;
}

std::string Dotted(std::string name) {
  std::ranges::replace(name, '/', '.');
  return name;
}

}  // namespace

VariableNames::VariableNames(const MetaGraph& graph) {
  const std::vector<std::vector<std::string>> paths = PathsOf(graph.objects);
  std::optional<std::string_view> scope;
  for (const auto& [node, key] : KeysByNode(graph)) {
    const std::optional<uint32_t> object = ObjectAt(graph.objects, key);
    if (!object || graph.objects[*object].kind != ObjectKind::kVariable) continue;
    Known& known = by_node_[node];
    known.variable = &graph.objects[*object].variable;
    known.paths = paths[*object];
    std::ranges::stable_sort(known.paths, {}, IsCollected);
    const std::string_view name = known.variable->name;
    if (name.find('/') == std::string_view::npos) continue;
    const std::string_view first = name.substr(0, name.find('/') + 1);
    scope = !scope || *scope == first ? first : std::string_view();
  }
  root_scope_ = scope.value_or("");
}

ModelVariable VariableNames::Of(std::string_view node) const {
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
  // A list of all variables tells less than the layer's name.
  if (!known.paths.empty() && !IsCollected(known.paths.front())) return variable;
  const bool inside = variable.name.starts_with(root_scope_);
  const std::string name = inside ? variable.name.substr(root_scope_.size()) : variable.name;
  if (!name.empty()) variable.addresses.insert(variable.addresses.begin(), Dotted(name));
  return variable;
}

}  // namespace flowscope::savedmodel
