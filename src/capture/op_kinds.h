// What kind of op an op type is, told from its registered definition.
#pragma once

#include <string_view>

#include "tf/op_registry.h"
#include "trace/records.h"

namespace flowscope::capture {

// Facts of an op type that do not depend on the execution. `def` may be null: a function.
struct OpTraits {
  OpKind kind = OpKind::kCompute;
  bool is_function_call = false;  // runs a function of the context by name or attribute
  bool takes_functions = false;   // its kernel runs functions itself
  bool is_variable_read = false;  // ReadVariableOp: reads and cannot write
  bool no_outputs = false;
};

// `is_function`: the context has a function of that name.
OpTraits TraitsOf(std::string_view type, const tf::OpDef* def, bool is_function);

// True where flat input `index` says how to compute (a shape, an axis, a permutation) instead of
// being what is computed with. Told from the argument's name in the op's definition; a name that is
// not known counts as data. `flat_inputs` is the op's input count.
bool IsArgumentInput(const tf::OpDef* def, int index, int flat_inputs);

}  // namespace flowscope::capture
