#include "interp/refuse.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <optional>

#include "tf/kernels.h"

namespace flowscope::interp {
namespace {

bool IsOneOf(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, op) != names.end();
}

bool StartsWithAny(std::string_view op, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes,
                             [op](std::string_view prefix) { return op.starts_with(prefix); });
}

bool IsUnknownOp(const BodyNode& node, const Body&) { return node.op == nullptr; }

bool IsStatefulRandomNode(const BodyNode& node, const Body&) {
  return node.op != nullptr && IsStatefulRandom(*node.op, node.attrs);
}

bool IsRandomNode(const BodyNode& node, const Body&) {
  return node.op != nullptr && IsRandom(*node.op, node.attrs);
}

std::optional<int64_t> IntAttr(const AttrList& attrs, std::string_view name) {
  const std::string_view* attr = FindAttr(attrs, name);
  if (attr == nullptr) return {};
  const Result<AttrValue> value = ParseAttrValue(*attr);
  if (!value.ok() || value->kind != AttrKind::kInt) return {};
  return value->number;
}

// The position of the op's input `name` in its node, where everything before it is one tensor.
std::optional<size_t> InputIndex(const tf::OpDef& op, std::string_view name) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].name == name) return i;
    if (ArgLength(op.inputs[i], {}) != 1) return {};
  }
  return {};
}

// The value of an int32 input that a constant of the same body gives.
std::optional<int64_t> ConstantInput(const BodyNode& node, const Body& body,
                                     std::string_view name) {
  const std::optional<size_t> index = InputIndex(*node.op, name);
  if (!index || *index >= node.def->inputs.size()) return {};
  const std::string_view input = node.def->inputs[*index];
  const auto producer = body.node_by_name.find(input.substr(0, input.find(':')));
  if (producer == body.node_by_name.end()) return {};
  const BodyNode& constant = body.nodes[producer->second];
  if (constant.kind != NodeKind::kConstant) return {};
  const std::string_view* value = FindAttr(constant.attrs, "value");
  if (value == nullptr) return {};
  return ScalarInt32(*value);
}

// A group of one takes part with nobody and may run like any op.
bool IsCollective(const BodyNode& node, const Body& body) {
  if (node.op == nullptr || !node.op->is_distributed_communication) return false;
  if (node.kind != NodeKind::kOp) return false;
  const std::optional<int64_t> size = HasAttr(*node.op, "group_size")
                                          ? IntAttr(node.attrs, "group_size")
                                          : ConstantInput(node, body, "group_size");
  return size != 1;
}

bool IsFrameOp(const BodyNode& node, const Body&) {
  const std::string_view op = node.def->op;
  return IsOneOf(
      op, {"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "RefSwitch", "RefMerge",
           "RefEnter", "RefExit", "RefNextIteration", "_SwitchN", "_XlaMerge"});
}

bool HasRefArgs(const BodyNode& node, const Body&) {
  if (node.op == nullptr) return false;
  const auto is_ref = [](const tf::OpArg& arg) { return arg.is_ref; };
  return std::ranges::any_of(node.op->inputs, is_ref) ||
         std::ranges::any_of(node.op->outputs, is_ref);
}

// A resource without a name of its own is named by the node, or kept by the node's kernel; run
// eagerly, all such ops of one type share one.
bool IsNamedByNode(const BodyNode& node, const Body&) {
  if (node.op == nullptr || !HasAttr(*node.op, "shared_name")) return false;
  const std::string_view* attr = FindAttr(node.attrs, "shared_name");
  if (attr == nullptr) return true;
  const Result<AttrValue> name = ParseAttrValue(*attr);
  return !name.ok() || name->bytes.empty();
}

// TensorFlow's eager kernel cache takes two tensors in attributes for one when dtype, shape and
// first elements agree. Constants are never executed; nothing else can be told apart.
bool HasTensorAttr(const BodyNode& node, const Body&) {
  if (node.op == nullptr || node.kind == NodeKind::kConstant) return false;
  return std::ranges::any_of(node.op->attrs, [](const tf::OpAttr& attr) {
    return attr.type == "tensor" || attr.type == "list(tensor)";
  });
}

// Ops that only mean something to a pass over the whole graph, or inside of one executor.
bool NeedsGraph(const BodyNode& node, const Body&) {
  const std::string_view op = node.def->op;
  if (node.kind == NodeKind::kArgument || node.kind == NodeKind::kNothing) return false;
  if (IsOneOf(op, {"AccumulateNV2", "CopyToMesh", "CopyToMeshGrad", "MlirPassthroughOp", "Recv",
                   "Relayout", "RelayoutLike", "Send", "SymbolicGradient"})) {
    return true;
  }
  if (StartsWithAny(op, {"DTensor", "TPU"})) return true;
  return op.starts_with('_') && node.op != nullptr && node.kind != NodeKind::kCall;
}

// Most ops of XLA exist for its compiler only; a few have a kernel of their own, and so may run.
bool HasNoKernel(const BodyNode& node, const Body&) {
  if (node.op == nullptr || node.kind != NodeKind::kOp) return false;
  const std::string type(node.def->op);
  return !(type.starts_with("Xla") ? tf::HasKernelOn(type, "CPU") : tf::HasKernel(type));
}

// Attributes by which TensorFlow replaces the node, or picks another kernel, before it runs. Eager
// ops take no attribute with '_'.
bool IsRewritten(const BodyNode& node, const Body&) {
  return std::ranges::any_of(node.attrs, [](const AttrEntry& attr) {
    return IsOneOf(attr.first,
                   {"_kernel", "_tpu_replicate", "_replication_info", "_xla_outside_compilation",
                    "_XlaHasHostTransfer", "_layout", "_mesh"});
  });
}

bool HasBadAttr(const BodyNode& node, const Body&) { return !node.bad_attr.empty(); }
bool HasUnboundAttr(const BodyNode& node, const Body&) { return !node.unbound.empty(); }

constexpr auto kAlways = RefuseWhen::kAlways;
constexpr std::array<RefuseRow, 16> kRows = {{
    {kMalformed, kAlways, "has a definition that cannot be read", nullptr},
    {kMissingFunction, kAlways, "calls a function that TensorFlow's context does not have",
     nullptr},
    {"unknown_op", kAlways, "has an op of a type that TensorFlow does not know", IsUnknownOp},
    {"stateful_random", RefuseWhen::kUnlessInterpretRandom,
     "draws from a random op whose kernel keeps its own state", IsStatefulRandomNode, true},
    {"xla_random", RefuseWhen::kCompiledByXla,
     "is compiled by XLA, which draws other random numbers than the op does by itself",
     IsRandomNode},
    {"collective", kAlways, "exchanges values with others, who would wait for each other",
     IsCollective},
    {"frame", kAlways, "has a loop or branch of TensorFlow 1 (Switch, Merge, Enter, Exit)",
     IsFrameOp},
    {"ref_type", kAlways, "has an op with a reference type, which has no eager form", HasRefArgs},
    {"node_named_state", kAlways,
     "makes a resource without a name of its own, which the node would give it", IsNamedByNode,
     true},
    {"tensor_attr", kAlways,
     "has an op with a tensor as attribute, which TensorFlow's eager kernel cache mixes up",
     HasTensorAttr},
    {"needs_graph", kAlways, "has an op that exists only for passes over a whole graph",
     NeedsGraph},
    {"no_kernel", kAlways, "has an op for which no kernel is there: only a compiler makes it run",
     HasNoKernel},
    {"rewritten", kAlways, "has a node that TensorFlow rewrites before it runs", IsRewritten},
    {"bad_attr", kAlways, "has an attribute that is missing or of a kind not known here",
     HasBadAttr},
    {"unbound_attr", kAlways, "has an attribute whose value its caller does not give",
     HasUnboundAttr},
    {kNoPlan, kAlways, "has a graph that cannot be put in order", nullptr},
}};

// Stateful by their definition, but only read or check.
bool OnlyReads(std::string_view op) {
  return IsOneOf(op, {"Assert", "LookupTableFind", "LookupTableFindV2", "LookupTableSizeV2",
                      "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarHandleOp",
                      "VarIsInitializedOp", "VariableShape"});
}

bool HasEffect(const BodyNode& node) {
  if (node.op == nullptr || node.kind != NodeKind::kOp) return false;
  return node.op->is_stateful && !OnlyReads(node.def->op);
}

std::string Where(const BodyNode& node, const Body& body) {
  std::string where = "node '";
  where.append(node.def->name).append("' (").append(node.def->op).append(") of function '");
  where.append(body.function.signature.name).append("'");
  if (!node.bad_attr.empty()) where += ", attribute '" + node.bad_attr + "'";
  if (!node.unbound.empty()) where += ", placeholder '" + node.unbound + "'";
  return where;
}

}  // namespace

std::span<const RefuseRow> RefuseRows() { return kRows; }

Finding MakeFinding(std::string_view id, std::string where) {
  const auto row = std::ranges::find(kRows, id, &RefuseRow::id);
  return {row == kRows.end() ? &kRows.back() : &*row, std::move(where)};
}

std::vector<Finding> Judge(const Body& body) {
  std::vector<Finding> findings;
  for (const RefuseRow& row : kRows) {
    if (row.refuses == nullptr) continue;
    const auto node = std::ranges::find_if(
        body.nodes, [&](const BodyNode& candidate) { return row.refuses(candidate, body); });
    if (node != body.nodes.end()) findings.push_back({&row, Where(*node, body)});
  }
  return findings;
}

std::string FindEffect(const Body& body) {
  const auto node = std::ranges::find_if(body.nodes, HasEffect);
  return node == body.nodes.end() ? std::string() : Where(*node, body);
}

std::string Explain(const Finding& finding) {
  return "not run op by op: it " + std::string(finding.row->sentence) + ": " + finding.where;
}

bool HoldsAlways(const std::vector<Finding>& findings) {
  return std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.row->when == RefuseWhen::kAlways; });
}

}  // namespace flowscope::interp
