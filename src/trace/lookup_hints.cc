#include "trace/lookup_hints.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace flowscope {
namespace {

std::string ListFew(std::vector<std::string> names) {
  const bool more = names.size() > kMaxListedNames;
  if (more) names.resize(kMaxListedNames);
  return fmt::format("{}{}", fmt::join(names, ", "), more ? ", ..." : "");
}

// Layer and op names alike: MaxPooling2D, max_pooling2d.
std::string Plain(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '_') plain += (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

// Ops of that type which a module ran outside of its children.
std::vector<std::string> OwnOps(const Trace& trace, ModuleId module, std::string_view type) {
  std::vector<std::string> labels;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const OpRecord& op = trace.op(id);
    if (op.module_call == kNoId || trace.module_call(op.module_call).module != module) continue;
    if (Plain(trace.str(op.type)) == type) labels.push_back(trace.OpLabel(id));
  }
  return labels;
}

}  // namespace

std::string GlobHint(std::string_view key) {
  if (key.find_first_of("*?") == std::string_view::npos) return "";
  return fmt::format(" A glob can mean several things: trace.find_sites(\"{}\") has them", key);
}

std::string HeldHint(const Trace& trace, ModuleId module) {
  std::vector<std::string> names;
  for (const ModuleRecord& child : trace.tables().modules) {
    if (child.parent == module) names.emplace_back(trace.str(child.address));
  }
  for (const VariableRecord& variable : trace.tables().variables) {
    if (variable.module == module) names.emplace_back(trace.str(variable.address));
  }
  if (names.empty()) return "";
  return fmt::format("{} holds {}", trace.str(trace.module(module).address), ListFew(names));
}

std::string NotRunHint(const Trace& trace, ModuleId module) {
  const ModuleRecord& record = trace.module(module);
  const std::string type = Plain(trace.str(record.class_name));
  if (type == "inputlayer") return "it stands for an input, and trace.inputs has those";
  if (record.parent == kNoId) return "";
  const std::vector<std::string> labels = OwnOps(trace, record.parent, type);
  if (labels.empty()) return "";
  return fmt::format("{} ran {} itself: {}", trace.str(trace.module(record.parent).address),
                     trace.str(record.class_name), ListFew(labels));
}

}  // namespace flowscope
