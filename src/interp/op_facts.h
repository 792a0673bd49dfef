// What the interpreter knows of op types beside their registered definitions.
#pragma once

#include <string_view>

#include "interp/function_def.h"
#include "tf/op_registry.h"

namespace flowscope::interp {

// How a node is run.
enum class NodeKind : uint8_t {
  kOp,        // by TensorFlow, as one op
  kConstant,  // its tensor is built from the proto; never executed
  kNothing,   // only orders others
  kArgument,  // an argument of the function, written as a node
  kCall,      // a function: by name, or PartitionedCall and StatefulPartitionedCall
  kIf,
  kCase,
  kWhile,
};

// By op type; a node whose type is a function of the context is a kCall.
NodeKind KindOf(std::string_view op);

// A random op that is told apart from `attrs`: an RNN with no dropout draws nothing.
// Stateful: its kernel keeps a generator, so every run of the kernel moves it.
bool IsStatefulRandom(const tf::OpDef& def, const AttrList& attrs);
// That, or a generator whose state is an input or a variable.
bool IsRandom(const tf::OpDef& def, const AttrList& attrs);

bool HasInput(const tf::OpDef& def, std::string_view name);
bool HasAttr(const tf::OpDef& def, std::string_view name);

}  // namespace flowscope::interp
