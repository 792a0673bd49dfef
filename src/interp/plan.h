// A function body made ready to run: nodes in order, inputs as slot numbers, attributes as bytes.
//
// A frame of the interpreter has one slot for each argument and each output of each node. A plan is
// immutable, shared between runs and threads, and lives as long as anyone holds it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interp/body.h"
#include "interp/refuse.h"

namespace flowscope::interp {

// Attributes of a node. Nodes with equal ones share a set.
struct AttrSet {
  std::string op;
  std::string name_attr_list;  // all of them, as a trace shows them; no constant's value
  // Those that TensorFlow's eager ops take: all but the ones with '_', which it keeps for itself
  // and refuses ("has a private attr"), `_gradient_op_type` and `_XlaMustCompile` among them.
  std::vector<std::pair<std::string, std::string>> eager;
};

struct PlanInput {
  uint32_t slot = 0;
  bool last = false;  // nobody needs the slot after this
};

struct Callee {
  std::string name;
  Bindings bindings;
  std::string label;  // of the region that it opens: function name, or node name and what it is
  bool must_compile = false;  // the node says so, whatever the function says
};

// The functions that a node opens: of a call the function, of a loop the condition, then the body.
std::vector<Callee> CalleesOf(const BodyNode& node);

struct PlanNode {
  NodeKind kind = NodeKind::kOp;
  std::string_view name;
  std::string device;
  const AttrSet* attrs = nullptr;
  std::string_view tensor;      // kConstant: its TensorProto
  uint32_t constant_index = 0;  // kConstant
  uint32_t first_input = 0;     // into Plan::inputs
  uint32_t num_inputs = 0;
  uint32_t first_output = 0;  // slot; the others follow
  uint32_t num_outputs = 0;
  uint32_t first_callee = 0;  // into Plan::callees; While: the condition, then the body
  uint32_t num_callees = 0;
};

struct Plan {
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  std::string definition;  // serialized FunctionDef; names point into it
  std::string name;
  std::vector<PlanNode> nodes;  // in the order in which they run
  std::vector<PlanInput> inputs;
  std::vector<Callee> callees;
  std::vector<Callee> run_by_kernel;  // functions that kernels of its ops run themselves
  std::vector<PlanInput> returns;
  std::vector<bool> kept;  // by slot: somebody needs the value
  std::deque<AttrSet> attr_sets;
  std::deque<std::string> strings;  // constants that stand in no definition
  std::vector<Finding> findings;    // rows of the refuse-list
  std::string effect;               // the first node that does more than compute and read
  uint32_t num_args = 0;
  uint32_t num_constants = 0;
  bool must_compile = false;  // by XLA
};

// What the callee at `index` is given and must give back.
struct CalleeShape {
  uint32_t num_args = 0;
  uint32_t num_returns = 0;
};
CalleeShape ShapeOfCallee(const PlanNode& node, uint32_t index);

// Always gives a plan. Where one of its findings holds always it has no nodes and must not be run.
std::shared_ptr<const Plan> BuildPlan(std::string definition, const Bindings& bindings,
                                      const SignatureFinder& signature);

}  // namespace flowscope::interp
