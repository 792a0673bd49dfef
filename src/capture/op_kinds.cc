#include "capture/op_kinds.h"

#include <algorithm>
#include <array>

#include "interp/op_facts.h"
#include "interp/op_function.h"

namespace flowscope::capture {
namespace {

bool HasInput(const tf::OpDef& def, std::string_view name) {
  return std::any_of(def.inputs.begin(), def.inputs.end(),
                     [name](const tf::OpArg& arg) { return arg.name == name; });
}

bool HasAttr(const tf::OpDef& def, std::string_view name) {
  return std::any_of(def.attrs.begin(), def.attrs.end(),
                     [name](const tf::OpAttr& attr) { return attr.name == name; });
}

bool TakesFunctions(const tf::OpDef& def) {
  return std::any_of(def.attrs.begin(), def.attrs.end(), [](const tf::OpAttr& attr) {
    return attr.type == "func" || attr.type == "list(func)";
  });
}

// Random ops carry their seed as attributes (stateful kernels), as an input (stateless), as a key
// and a counter, or name the algorithm of a generator that lives in a variable. One asks the
// system.
bool IsRandom(const tf::OpDef& def) {
  if (def.name == "NonDeterministicInts") return true;
  if (def.is_stateful && HasAttr(def, "seed") && HasAttr(def, "seed2")) return true;
  if (HasInput(def, "key") && HasInput(def, "counter")) return true;
  if (HasInput(def, "seed") || HasInput(def, "seeds")) return true;
  return def.is_stateful && (HasInput(def, "algorithm") || HasInput(def, "alg"));
}

bool IsIterator(const tf::OpDef& def) {
  return def.is_stateful && HasInput(def, "iterator") && !def.outputs.empty() &&
         def.outputs.front().name == "components";
}

bool IsArgumentName(std::string_view name) {
  static constexpr std::array<std::string_view, 26> kNames = {"dims",
                                                              "shape",
                                                              "size",
                                                              "sizes",
                                                              "axis",
                                                              "axes",
                                                              "perm",
                                                              "paddings",
                                                              "begin",
                                                              "end",
                                                              "strides",
                                                              "multiples",
                                                              "dimension",
                                                              "split_dim",
                                                              "concat_dim",
                                                              "block_shape",
                                                              "crops",
                                                              "num",
                                                              "num_segments",
                                                              "input_sizes",
                                                              "output_shape",
                                                              "start",
                                                              "limit",
                                                              "delta",
                                                              "reduction_indices",
                                                              "orig_input_shape"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Ops that do nothing but run functions: calls, and the loops and branches of a program that runs
// them by themselves.
bool RunsFunctions(std::string_view type) {
  return interp::KindOf(type) == interp::NodeKind::kCall || interp::IsControlFlowOp(type);
}

// An op that acts and gives nothing back acts on something outside the graph.
bool IsEffect(const tf::OpDef& def) { return def.is_stateful && def.outputs.empty(); }

}  // namespace

OpTraits TraitsOf(std::string_view type, const tf::OpDef* def, bool is_function) {
  OpTraits traits;
  if (is_function || RunsFunctions(type)) {
    traits.kind = OpKind::kCall;
    traits.is_function_call = true;
    return traits;
  }
  if (def == nullptr) return traits;
  traits.takes_functions = TakesFunctions(*def);
  traits.is_variable_read = type == "ReadVariableOp";
  traits.no_outputs = def->outputs.empty();
  if (IsIterator(*def)) {
    traits.kind = OpKind::kIterator;
  } else if (IsRandom(*def)) {
    traits.kind = OpKind::kRandom;
  } else if (IsEffect(*def)) {
    traits.kind = OpKind::kEffect;
  }
  return traits;
}

bool IsArgumentInput(const tf::OpDef* def, int index, int flat_inputs) {
  if (def == nullptr) return false;
  const auto is_list = [](const tf::OpArg& arg) {
    return !arg.number_attr.empty() || !arg.type_list_attr.empty();
  };
  // A list among the inputs shifts what follows it by its length; two lists cannot be told apart.
  const auto lists = std::count_if(def->inputs.begin(), def->inputs.end(), is_list);
  if (lists > 1) return false;
  const int list_length = flat_inputs - static_cast<int>(def->inputs.size()) + 1;
  int end = 0;
  for (const tf::OpArg& arg : def->inputs) {
    end += is_list(arg) ? list_length : 1;
    if (index < end) return !is_list(arg) && IsArgumentName(arg.name);
  }
  return false;
}

}  // namespace flowscope::capture
