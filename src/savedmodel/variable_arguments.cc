#include "savedmodel/variable_arguments.h"

#include <algorithm>

#include "interp/function_bodies.h"

namespace flowscope::savedmodel {
namespace {

// The argument that a reference in a body names: it has no output index.
size_t ArgumentOf(const interp::FunctionDef& function, std::string_view reference) {
  const auto& inputs = function.signature.inputs;
  if (reference.find(':') != std::string_view::npos) return inputs.size();
  const auto found = std::ranges::find(inputs, reference, &tf::OpArg::name);
  return static_cast<size_t>(found - inputs.begin());
}

}  // namespace

size_t InputsBeforeArguments(std::string_view op) {
  return op == "If" || op == "StatelessIf" || op == "Case" || op == "StatelessCase" ? 1 : 0;
}

void VariableArguments::Give(std::string_view function, size_t argument,
                             std::string_view variable) {
  given_[std::string(function)][argument].emplace(variable);
}

const VariableArguments::Names* VariableArguments::Find(std::string_view function) const {
  const auto found = given_.find(function);
  return found == given_.end() ? nullptr : &found->second;
}

void VariableArguments::Follow(const std::vector<interp::FunctionDef>& bodies) {
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const interp::FunctionDef& function : bodies) {
      if (Find(function.signature.name) == nullptr) continue;
      for (const interp::NodeDef& node : function.nodes) is_new |= PassOn(function, node);
    }
  }
}

bool VariableArguments::PassOn(const interp::FunctionDef& function, const interp::NodeDef& node) {
  const std::vector<std::string_view> callees = interp::FunctionsNamedBy(node.op, node.attrs);
  if (callees.empty()) return false;
  bool is_new = false;
  const size_t before = InputsBeforeArguments(node.op);
  for (size_t i = before; i < node.inputs.size(); ++i) {
    const Names& given = *Find(function.signature.name);
    const auto names = given.find(ArgumentOf(function, node.inputs[i]));
    if (names == given.end()) continue;
    const std::set<std::string> passed = names->second;
    for (const std::string_view callee : callees) {
      std::set<std::string>& known = given_[std::string(callee)][i - before];
      const size_t size = known.size();
      known.insert(passed.begin(), passed.end());
      is_new |= known.size() > size;
    }
  }
  return is_new;
}

std::vector<std::string> VariableArguments::TakenBy(const interp::FunctionDef& function,
                                                    const interp::NodeDef& node) const {
  std::vector<std::string> taken;
  const Names* given = Find(function.signature.name);
  if (given == nullptr) return taken;
  for (const std::string_view input : node.inputs) {
    const auto names = given->find(ArgumentOf(function, input));
    if (names != given->end()) {
      taken.insert(taken.end(), names->second.begin(), names->second.end());
    }
  }
  return taken;
}

}  // namespace flowscope::savedmodel
