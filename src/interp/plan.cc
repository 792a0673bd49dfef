#include "interp/plan.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include "interp/plan_order.h"
#include "interp/plan_slots.h"

namespace flowscope::interp {
namespace {

bool IsTrue(const AttrList& attrs, std::string_view name) {
  const std::string_view* attr = FindAttr(attrs, name);
  if (attr == nullptr) return false;
  const Result<AttrValue> value = ParseAttrValue(*attr);
  return value.ok() && value->kind == AttrKind::kBool && value->number != 0;
}

std::string LabelOf(const BodyNode& node, size_t index) {
  const std::string name(node.def->name);
  switch (node.kind) {
    case NodeKind::kIf:
      return name + (index == 0 ? ":then_branch" : ":else_branch");
    case NodeKind::kCase:
      return name + ":branch_" + std::to_string(index);
    case NodeKind::kWhile:
      return index == 0 ? name + ":cond" : name;
    default:
      return std::string(node.callees[index].name);
  }
}

Callee ToCallee(const FunctionRef& function) {
  Callee callee;
  callee.name = function.name;
  for (const auto& [name, value] : function.attrs) {
    if (!name.starts_with('_')) callee.bindings.emplace(name, value);
  }
  return callee;
}

class PlanBuilder {
 public:
  PlanBuilder(const Body& body, const SlotMap& slots, Plan& plan)
      : body_(body), slots_(slots), plan_(plan), inputs_(body.nodes.size()) {
    order_.needs.resize(body.nodes.size());
    order_.stateful.resize(body.nodes.size());
  }

  Status Build() {
    for (uint32_t node = 0; node < body_.nodes.size(); ++node) {
      FLOWSCOPE_RETURN_IF_ERROR(AddNeeds(node));
    }
    FLOWSCOPE_RETURN_IF_ERROR(AddReturns());
    FLOWSCOPE_RETURN_IF_ERROR(AddControlReturns());
    const std::optional<std::vector<uint32_t>> order = OrderNodes(order_);
    if (!order) return Unsupported("its nodes need each other in a circle");
    plan_.num_args = slots_.num_args();
    for (const uint32_t node : *order) FLOWSCOPE_RETURN_IF_ERROR(Emit(node));
    MarkLastUses();
    return Status::Ok();
  }

 private:
  // What a node reads, and all that must have run before it.
  Status AddNeeds(uint32_t node) {
    const BodyNode& body_node = body_.nodes[node];
    const bool runs = body_node.kind != NodeKind::kArgument && body_node.kind != NodeKind::kNothing;
    order_.stateful[node] = runs && body_node.op->is_stateful;
    for (const std::string_view input : body_node.def->inputs) {
      FLOWSCOPE_RETURN_IF_ERROR(input.starts_with('^') ? AddControl(node, input.substr(1))
                                                       : AddData(node, input));
    }
    uint64_t expected = 0;
    for (const tf::OpArg& arg : body_node.op->inputs) {
      const std::optional<uint64_t> length = ArgLength(arg, body_node.attrs);
      if (!length) return WrongInputs(body_node);
      expected += *length;
    }
    return expected == inputs_[node].size() ? Status::Ok() : WrongInputs(body_node);
  }

  static Status WrongInputs(const BodyNode& node) {
    return Unsupported("the inputs of '" + std::string(node.def->name) +
                       "' are not those of its op");
  }

  Status AddControl(uint32_t node, std::string_view name) {
    const auto found = body_.node_by_name.find(name);
    if (found != body_.node_by_name.end()) {
      order_.needs[node].push_back(found->second);
      return Status::Ok();
    }
    return slots_.Find(name).status();  // an argument is there from the start
  }

  Status AddData(uint32_t node, std::string_view reference) {
    Result<SlotRange> range = slots_.Find(reference);
    if (!range.ok()) return range.status();
    if (range->node != kNoNode) order_.needs[node].push_back(range->node);
    for (uint32_t i = 0; i < range->count; ++i) inputs_[node].push_back(range->first + i);
    return Status::Ok();
  }

  Status AddReturns() {
    const std::unordered_map<std::string_view, std::string_view> returns(
        body_.function.returns.begin(), body_.function.returns.end());
    for (const tf::OpArg& output : body_.function.signature.outputs) {
      const auto entry = returns.find(output.name);
      if (entry == returns.end())
        return Unsupported("nothing is returned as '" + output.name + "'");
      Result<SlotRange> range = slots_.Find(entry->second);
      if (!range.ok()) return range.status();
      if (range->node != kNoNode) order_.roots.push_back(range->node);
      for (uint32_t i = 0; i < range->count; ++i)
        plan_.returns.push_back({range->first + i, false});
    }
    return Status::Ok();
  }

  Status AddControlReturns() {
    for (const auto& [output, name] : body_.function.control_returns) {
      const auto node = body_.node_by_name.find(name);
      if (node == body_.node_by_name.end()) {
        return Unsupported("nothing has the name '" + std::string(name) + "'");
      }
      order_.roots.push_back(node->second);
    }
    return Status::Ok();
  }

  Status Emit(uint32_t index) {
    const BodyNode& body_node = body_.nodes[index];
    if (body_node.kind == NodeKind::kArgument || body_node.kind == NodeKind::kNothing) {
      return Status::Ok();
    }
    PlanNode node;
    node.kind = body_node.kind;
    node.name = body_node.def->name;
    node.device = body_node.def->device;
    node.attrs = Intern(body_node);
    if (node.kind == NodeKind::kConstant) FLOWSCOPE_RETURN_IF_ERROR(SetTensor(body_node, node));
    node.first_input = static_cast<uint32_t>(plan_.inputs.size());
    node.num_inputs = static_cast<uint32_t>(inputs_[index].size());
    for (const uint32_t slot : inputs_[index]) plan_.inputs.push_back({slot, false});
    node.first_output = slots_.OutputsOf(index).first;
    node.num_outputs = slots_.OutputsOf(index).count;
    AddCallees(body_node, node);
    plan_.nodes.push_back(std::move(node));
    return Status::Ok();
  }

  Status SetTensor(const BodyNode& body_node, PlanNode& node) {
    const std::string_view* attr = FindAttr(body_node.attrs, "value");
    const Result<AttrValue> value = attr ? ParseAttrValue(*attr) : AttrValue();
    if (!value.ok() || value->kind != AttrKind::kTensor) {
      return Unsupported("the constant '" + std::string(node.name) + "' has no value");
    }
    node.tensor = value->bytes;
    node.constant_index = plan_.num_constants++;
    return Status::Ok();
  }

  void AddCallees(const BodyNode& body_node, PlanNode& node) {
    node.first_callee = static_cast<uint32_t>(plan_.callees.size());
    node.num_callees = static_cast<uint32_t>(body_node.callees.size());
    std::ranges::move(CalleesOf(body_node), std::back_inserter(plan_.callees));
    for (const FunctionRef& function : body_node.run_by_kernel) {
      plan_.run_by_kernel.push_back(ToCallee(function));
    }
  }

  const AttrSet* Intern(const BodyNode& node) {
    AttrSet set{std::string(node.def->op), {}, {}};
    AttrList shown;
    for (const AttrEntry& attr : node.attrs) {
      if (node.kind == NodeKind::kConstant && attr.first == "value") continue;
      shown.push_back(attr);
      if (!attr.first.starts_with('_')) set.eager.emplace_back(attr.first, attr.second);
    }
    set.name_attr_list = WriteNameAttrList(set.op, shown);
    const auto known = attr_sets_.find(set.name_attr_list);
    if (known != attr_sets_.end()) return known->second;
    const AttrSet& kept = plan_.attr_sets.emplace_back(std::move(set));
    attr_sets_.emplace(kept.name_attr_list, &kept);
    return &kept;
  }

  void MarkLastUses() {
    plan_.kept.assign(slots_.num_slots(), false);
    const auto mark = [this](PlanInput& input) {
      input.last = !plan_.kept[input.slot];
      plan_.kept[input.slot] = true;
    };
    std::for_each(plan_.returns.rbegin(), plan_.returns.rend(), mark);
    std::for_each(plan_.inputs.rbegin(), plan_.inputs.rend(), mark);
  }

  const Body& body_;
  const SlotMap& slots_;
  Plan& plan_;
  std::vector<std::vector<uint32_t>> inputs_;  // by node: slots
  OrderInput order_;
  std::unordered_map<std::string_view, const AttrSet*> attr_sets_;
};

Status LayOut(const Body& body, const Bindings& bindings, Plan& plan) {
  Result<SlotMap> slots = SlotMap::LayOut(body, bindings);
  if (!slots.ok()) return slots.status();
  return PlanBuilder(body, *slots, plan).Build();
}

}  // namespace

std::vector<Callee> CalleesOf(const BodyNode& node) {
  std::vector<Callee> callees;
  for (size_t i = 0; i < node.callees.size(); ++i) {
    Callee& callee = callees.emplace_back(ToCallee(node.callees[i]));
    callee.label = LabelOf(node, i);
    callee.must_compile = IsTrue(node.attrs, "_XlaMustCompile");
  }
  return callees;
}

CalleeShape ShapeOfCallee(const PlanNode& node, uint32_t index) {
  switch (node.kind) {
    case NodeKind::kIf:
    case NodeKind::kCase:
      return {node.num_inputs - 1, node.num_outputs};
    case NodeKind::kWhile:
      return {node.num_inputs, index == 0 ? 1 : node.num_outputs};
    default:
      return {node.num_inputs, node.num_outputs};
  }
}

std::shared_ptr<const Plan> BuildPlan(std::string definition, const Bindings& bindings,
                                      const SignatureFinder& signature) {
  auto plan = std::make_shared<Plan>();
  plan->definition = std::move(definition);
  Result<FunctionDef> function = ParseFunctionDef(plan->definition);
  if (!function.ok()) {
    plan->findings.push_back(MakeFinding(kMalformed, function.status().message()));
    return plan;
  }
  plan->name = function->signature.name;
  plan->must_compile = IsTrue(function->attrs, "_XlaMustCompile");
  Body body;
  ResolveBody(*std::move(function), bindings, signature, body);
  plan->findings = Judge(body);
  plan->effect = FindEffect(body);
  if (HoldsAlways(plan->findings)) return plan;
  const Status laid_out = LayOut(body, bindings, *plan);
  if (!laid_out.ok()) {
    plan->nodes.clear();
    plan->findings.push_back(
        MakeFinding(kNoPlan, laid_out.message() + ", function '" + plan->name + "'"));
  }
  plan->strings = std::move(body.strings);
  return plan;
}

}  // namespace flowscope::interp
