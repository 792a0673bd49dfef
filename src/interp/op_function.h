// A loop or a branch that a program runs by itself, as a function with one node: what opens such a
// call opens the op too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace flowscope::interp {

// True for the ops that FunctionOfOp takes: the While, If and Case families.
bool IsControlFlowOp(std::string_view op);

// The serialized FunctionDef. `attrs`: the op's NameAttrList, with every attribute; Corruption
// where it is none. The function has the op's name, which no function of a program has.
Result<std::string> FunctionOfOp(std::string_view op, std::string_view attrs, size_t num_inputs);

}  // namespace flowscope::interp
