#include "library/scope_origins.h"

#include <algorithm>
#include <optional>
#include <set>

#include "interp/body.h"
#include "interp/plan_slots.h"

namespace flowscope::library {
namespace {

using savedmodel::kNoScope;
using savedmodel::ScopeCalls;

// What passes the borders of calls: who takes a value that was made outside, and whose value is
// taken outside.
class Borders {
 public:
  Borders(const interp::Body& body, const interp::SlotMap& slots, const ScopeCalls& calls,
          capture::BodyOrigins& origins)
      : body_(body), slots_(slots), calls_(calls), origins_(origins) {}

  void Find() {
    for (const interp::BodyNode& node : body_.nodes) {
      const std::set<uint32_t> around = CallsAround(node.def->name);
      for (const std::string_view input : node.def->inputs) {
        if (!input.starts_with('^')) Pass(input, around);
      }
    }
    for (const auto& [output, reference] : body_.function.returns) Pass(reference, {});
    origins_.num_values = static_cast<uint32_t>(numbers_.size());
  }

 private:
  std::set<uint32_t> CallsAround(std::string_view node) const {
    std::set<uint32_t> around;
    const auto found = calls_.call_of_node.find(std::string(node));
    uint32_t call = found == calls_.call_of_node.end() ? kNoScope : found->second;
    for (; call != kNoScope; call = calls_.calls[call].parent) around.insert(call);
    return around;
  }

  // Constants and what is read of variables are no inputs of a layer.
  bool IsValue(uint32_t node) const {
    const interp::BodyNode& producer = body_.nodes[node];
    return producer.kind != interp::NodeKind::kConstant && producer.def->op != "ReadVariableOp" &&
           producer.op != nullptr;
  }

  void Pass(std::string_view reference, const std::set<uint32_t>& taker) {
    const Result<interp::SlotRange> range = slots_.Find(reference);
    if (!range.ok()) return;
    const bool is_argument = range->node == interp::kNoNode;
    if (is_argument ? IsResource(range->first) : !IsValue(range->node)) return;
    const std::set<uint32_t> maker =
        is_argument ? std::set<uint32_t>() : CallsAround(body_.nodes[range->node].def->name);
    for (uint32_t slot = range->first; slot < range->first + range->count; ++slot) {
      for (const uint32_t call : taker) {
        if (!maker.contains(call)) Add(origins_.calls[call].inputs, "args", Number(*range, slot));
      }
      for (const uint32_t call : maker) {
        if (!taker.contains(call)) {
          Add(origins_.calls[call].outputs, "output", Number(*range, slot));
        }
      }
    }
  }

  bool IsResource(uint32_t argument) const {
    const auto& inputs = body_.function.signature.inputs;
    return argument < inputs.size() && inputs[argument].type == DType::kResource;
  }

  uint32_t Number(const interp::SlotRange& range, uint32_t slot) {
    const auto [entry, is_new] = numbers_.try_emplace(slot, static_cast<uint32_t>(numbers_.size()));
    if (!is_new) return entry->second;
    if (range.node == interp::kNoNode) {
      origins_.values_of_arguments.emplace_back(slot, entry->second);
    } else {
      origins_.values_of_node[std::string(body_.nodes[range.node].def->name)].emplace_back(
          slot - slots_.OutputsOf(range.node).first, entry->second);
    }
    return entry->second;
  }

  static void Add(std::vector<std::pair<std::string, uint32_t>>& values, const std::string& path,
                  uint32_t number) {
    const auto known = std::ranges::find(values, number, &std::pair<std::string, uint32_t>::second);
    if (known != values.end()) return;
    values.emplace_back(path == "args"   ? "args[" + std::to_string(values.size()) + "]"
                        : values.empty() ? path
                                         : path + "[" + std::to_string(values.size()) + "]",
                        number);
  }

  const interp::Body& body_;
  const interp::SlotMap& slots_;
  const ScopeCalls& calls_;
  capture::BodyOrigins& origins_;
  std::map<uint32_t, uint32_t> numbers_;  // by slot
};

}  // namespace

FunctionDefinitions::FunctionDefinitions(const std::vector<std::string_view>& functions) {
  for (const std::string_view bytes : functions) {
    const Result<interp::FunctionDef> function = interp::ParseFunctionDef(bytes);
    if (function.ok()) by_name_.emplace(function->signature.name, bytes);
  }
}

FunctionDefinitions::FunctionDefinitions(const std::vector<std::string_view>& functions,
                                         const savedmodel::Rewrite& rewrite)
    : FunctionDefinitions(functions) {
  for (const auto& [before, now] : rewrite.functions) {
    const std::string_view bytes = Find(before);
    if (!bytes.empty()) by_name_.emplace(now, bytes);
  }
}

std::string_view FunctionDefinitions::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::string_view() : found->second;
}

interp::SignatureFinder FunctionDefinitions::Finder() const {
  return [this](std::string_view name) -> std::optional<tf::OpDef> {
    const std::string_view bytes = Find(name);
    if (bytes.empty()) return {};
    Result<interp::FunctionDef> function = interp::ParseFunctionDef(bytes);
    if (!function.ok()) return {};
    return std::move(function->signature);
  };
}

std::shared_ptr<const capture::BodyOrigins> ScopeOrigins::Of(const std::string& function) {
  const std::string_view bytes = functions_.Find(function);
  if (bytes.empty()) return nullptr;
  Result<interp::FunctionDef> definition = interp::ParseFunctionDef(bytes);
  if (!definition.ok()) return nullptr;
  const ScopeCalls calls = scopes_.CallsOf(*definition);
  if (calls.calls.empty()) return nullptr;
  auto origins = std::make_shared<capture::BodyOrigins>();
  for (const ScopeCalls::Call& call : calls.calls) {
    capture::BodyCall made;
    made.module = modules_[call.module];
    made.parent = call.parent;
    made.method = "by name";
    origins->calls.push_back(std::move(made));
  }
  for (const auto& [node, call] : calls.call_of_node) origins->nodes[node].call = call;
  interp::Body body;
  interp::ResolveBody(std::move(definition).value(), {}, functions_.Finder(), body);
  const Result<interp::SlotMap> slots = interp::SlotMap::LayOut(body, {});
  if (slots.ok()) Borders(body, *slots, calls, *origins).Find();
  return origins;
}

}  // namespace flowscope::library
