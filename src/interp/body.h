// A function's nodes with their op definitions and final attributes: what the refuse-list judges
// and the planner lays out.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "interp/attr_value.h"
#include "interp/function_def.h"
#include "interp/op_facts.h"

namespace flowscope::interp {

struct BodyNode {
  const NodeDef* def = nullptr;
  const tf::OpDef* op = nullptr;  // a function's signature where it calls one; null: unknown type
  NodeKind kind = NodeKind::kOp;
  AttrList attrs;                          // placeholders replaced, defaults filled in
  std::vector<FunctionRef> callees;        // the functions that are opened when it runs
  std::vector<FunctionRef> run_by_kernel;  // and those that its kernel runs itself
  std::string bad_attr;                    // name of an attribute that cannot be read
  std::string unbound;                     // name of a placeholder without a value
};

// The signature of a function of the context; nullopt where it has none of that name.
using SignatureFinder = std::function<std::optional<tf::OpDef>(std::string_view)>;

// Not movable: nodes point into it.
struct Body {
  Body() = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  FunctionDef function;
  std::vector<BodyNode> nodes;  // in the order of the definition
  std::unordered_map<std::string_view, uint32_t> node_by_name;
  std::unordered_map<std::string_view, tf::OpDef> signatures;  // of functions that nodes name
  std::deque<std::string> strings;                             // values that stand in no definition
};

// Fills `body` from a parsed definition, whose bytes must outlive it.
void ResolveBody(FunctionDef function, const Bindings& bindings, const SignatureFinder& signature,
                 Body& body);

// Tensors that `arg` of an op or function stands for; nullopt where an attribute that tells is
// missing or of the wrong kind.
std::optional<uint64_t> ArgLength(const tf::OpArg& arg, const AttrList& attrs);

// The attributes of a function's own signature, as its caller binds them.
AttrList ToAttrList(const Bindings& bindings);

}  // namespace flowscope::interp
