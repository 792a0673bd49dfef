#include "savedmodel/legacy.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tf/op_registry.h"

namespace flowscope::savedmodel {
namespace {

bool IsOfAFrame(std::string_view op) {
  static constexpr std::array<std::string_view, 10> kOps = {
      "Switch",    "Merge",    "Enter",    "Exit",    "NextIteration",
      "RefSwitch", "RefMerge", "RefEnter", "RefExit", "RefNextIteration"};
  return std::ranges::find(kOps, op) != kOps.end();
}

bool TakesReferences(std::string_view op) {
  const tf::OpDef* def = tf::FindOpDef(op);
  if (def == nullptr) return false;
  const auto is_ref = [](const tf::OpArg& arg) { return arg.is_ref; };
  return std::ranges::any_of(def->inputs, is_ref) || std::ranges::any_of(def->outputs, is_ref);
}

std::string WhyNot(const interp::NodeDef& node) {
  const std::string named = "node '" + std::string(node.name) + "' (" + std::string(node.op) + ")";
  if (IsOfAFrame(node.op)) return named + " is a part of a loop or branch of TensorFlow 1";
  if (TakesReferences(node.op)) return named + " uses a reference variable of TensorFlow 1";
  return {};
}

}  // namespace

std::string WhyNotNodeByNode(const MetaGraph& graph, const Signature& signature) {
  std::unordered_map<std::string_view, const interp::NodeDef*> nodes;
  for (const interp::NodeDef& node : graph.nodes) nodes.emplace(node.name, &node);
  std::vector<std::string_view> wanted;
  std::unordered_set<std::string_view> seen;
  for (const auto& [name, info] : signature.outputs) wanted.push_back(NodeOf(info.name));
  while (!wanted.empty()) {
    const std::string_view name = wanted.back();
    wanted.pop_back();
    const auto found = nodes.find(name);
    if (found == nodes.end() || !seen.insert(name).second) continue;
    std::string reason = WhyNot(*found->second);
    if (!reason.empty()) return reason;
    for (const std::string_view input : found->second->inputs) wanted.push_back(NodeOf(input));
  }
  return {};
}

}  // namespace flowscope::savedmodel
