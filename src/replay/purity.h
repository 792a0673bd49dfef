// Whether an op may be run again: told from its registered definition.
#pragma once

#include <string>

#include "interp/function_def.h"
#include "tf/op_registry.h"

namespace flowscope::replay {

// Empty where an op of that type, run in a context of our own on values and on variables of our
// own, acts on nothing else and depends on nothing else. Otherwise the reason, as the end of a
// sentence: "runs Python code".
std::string WhyNotAgain(const tf::OpDef& def, const interp::AttrList& attrs);

}  // namespace flowscope::replay
