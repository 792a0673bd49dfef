#include "library/structure_walker.h"

#include <algorithm>

#include <fmt/format.h>

#include "capture/function_host.h"
#include "capture/live_payloads.h"
#include "interp/plan_cache.h"
#include "library/structure_types.h"
#include "tf/op_registry.h"
#include "trace/function_name.h"

namespace flowscope::library {

StructureWalker::StructureWalker(const std::vector<std::string_view>& functions,
                                 std::shared_ptr<capture::BodyOriginProvider> origins)
    : origins_(std::move(origins)) {
  for (const std::string_view bytes : functions) {
    Result<interp::FunctionDef> function = interp::ParseFunctionDef(bytes);
    if (function.ok()) functions_.emplace(function->signature.name, bytes);
  }
}

std::shared_ptr<const Trace> StructureWalker::Finish(const std::string& note) {
  TraceInfo& info = builder_.tables().info;
  info.recorder = "structure";
  info.tensorflow_version = tf::Api().TF_Version();
  info.num_executed = run_counter_;
  info.notes.insert(info.notes.begin(), note);
  return std::move(builder_).Finish(std::make_shared<capture::LivePayloads>());
}

std::shared_ptr<const capture::BodyOrigins> StructureWalker::OriginsOf(
    const std::string& function) {
  if (origins_ == nullptr) return nullptr;
  const auto known = origins_of_.find(function);
  if (known != origins_of_.end()) return known->second;
  return origins_of_.emplace(function, origins_->Of(function)).first->second;
}

interp::SignatureFinder StructureWalker::Finder() const {
  return [this](std::string_view name) -> std::optional<tf::OpDef> {
    const auto found = functions_.find(name);
    if (found == functions_.end()) return {};
    Result<interp::FunctionDef> function = interp::ParseFunctionDef(found->second);
    if (!function.ok()) return {};
    return std::move(function->signature);
  };
}

TensorId StructureWalker::AddTensor(OpId producer, uint32_t index, DType dtype,
                                    const std::optional<Dims>& dims, EdgeClass edge_class) {
  TensorRecord record;
  record.producer = producer;
  record.output_index = static_cast<uint16_t>(index);
  record.dtype = dtype;
  const bool has_value = dtype != DType::kResource && dtype != DType::kVariant;
  record.state = has_value ? PayloadState::kNotKept : PayloadState::kNoValue;
  if (dims) {
    record.dims = builder_.InternDims(*dims);
    record.shape_known = std::ranges::all_of(*dims, [](int64_t dim) { return dim >= 0; });
    if (record.shape_known) {
      record.nbytes = NumElements(*dims) * static_cast<int64_t>(DTypeSize(record.dtype));
    }
  }
  edge_classes_.push_back(edge_class);
  return builder_.AddTensor(record);
}

TensorId StructureWalker::AddInput(std::string_view path, DType dtype,
                                   const std::optional<Dims>& dims) {
  const OpId source = builder_.AddSource(OpKind::kInput, "input", path, 0);
  const TensorId tensor = AddTensor(source, 0, dtype, dims, EdgeClass::kInput);
  builder_.SetOutputs(source, {tensor, 1});
  return tensor;
}

TensorId StructureWalker::AddConstant(std::string_view name, DType dtype,
                                      const std::optional<Dims>& dims, bool literal) {
  if (literal || (dims && dims->empty())) {
    return AddTensor(kNoId, 0, dtype, dims, EdgeClass::kLiteral);
  }
  const OpId source = builder_.AddSource(OpKind::kConstant, "constant", name, 0);
  const TensorId tensor = AddTensor(source, 0, dtype, dims, EdgeClass::kConstant);
  builder_.SetOutputs(source, {tensor, 1});
  return tensor;
}

VariableId StructureWalker::AddVariable(const VariableRecord& variable) {
  TraceTables& tables = builder_.tables();
  const auto id = static_cast<VariableId>(tables.variables.size());
  tables.variables.push_back(variable);
  tables.versions.push_back({id, 0, kNoId, kNoId});
  newest_.push_back(0);
  return id;
}

TensorId StructureWalker::AddResource(VariableId variable) {
  const bool is_variable = variable != kNoId;
  const TensorId handle = AddTensor(kNoId, 0, DType::kResource, Dims(),
                                    is_variable ? EdgeClass::kVariable : EdgeClass::kResource);
  if (is_variable) variables_.emplace(handle, variable);
  return handle;
}

StructureValues StructureWalker::Run(const Site& site, const StructureValues& inputs,
                                     const capture::BodyOrigin& origin,
                                     capture::BodyScopes& scopes) {
  StructureValues values;
  switch (site.kind) {
    case interp::NodeKind::kCall:
      values = Call(site, inputs, origin, scopes);
      break;
    case interp::NodeKind::kIf:
    case interp::NodeKind::kCase: {
      if (site.callees.empty()) return AddOp(site, inputs, origin, scopes);
      const StructureValues args(inputs.begin() + (inputs.empty() ? 0 : 1), inputs.end());
      for (uint32_t i = 0; i < site.callees.size(); ++i) {
        const StructureValues branch = Callee(site, i, RegionKind::kBranch, args, scopes);
        if (i == 0) values = branch;
      }
      break;
    }
    case interp::NodeKind::kWhile:
      if (site.callees.size() < 2) return AddOp(site, inputs, origin, scopes);
      Callee(site, 0, RegionKind::kFunction, inputs, scopes);
      values = Callee(site, 1, RegionKind::kIteration, inputs, scopes);
      break;
    default:
      return AddOp(site, inputs, origin, scopes);
  }
  scopes.Made(site.name, values);
  return values;
}

StructureValues StructureWalker::AddOp(const Site& site, const StructureValues& inputs,
                                       const capture::BodyOrigin& origin,
                                       capture::BodyScopes& scopes) {
  const tf::OpDef* def = tf::FindOpDef(site.type);
  const capture::OpTraits traits = capture::TraitsOf(site.type, def, HasFunction(site.type));
  std::vector<EdgeRecord> edges;
  for (const TensorId tensor : inputs) edges.push_back({tensor, edge_classes_[tensor], 0});
  const Outputs outputs =
      OutputsOf(site.op.empty() ? def : tf::FindOpDef(site.op), site.attrs, site.num_outputs);
  OpRecord record;
  record.type = builder_.Intern(site.type);
  record.name = builder_.Intern(site.name);
  record.kind = traits.kind;
  record.run_counter = ++run_counter_;
  record.attrs = builder_.tables().attrs.Intern(outputs.shown_attrs);
  if (traits.takes_functions) {
    record.opaque_reason = builder_.Intern("the op's kernel runs functions itself");
  }
  const OpId id = builder_.BeginOp(record);
  AddOrigin(builder_.op(id), id, origin, scopes);
  builder_.SetInputs(id, edges);
  StructureValues values;
  for (uint32_t i = 0; i < site.num_outputs; ++i) {
    values.push_back(AddTensor(id, i, outputs.dtypes[i], outputs.dims[i], EdgeClass::kOp));
  }
  builder_.SetOutputs(id, {values.empty() ? 0 : values.front(), site.num_outputs});
  AddAccess(id, traits, inputs);
  scopes.Made(site.name, values);
  return values;
}

void StructureWalker::AddOrigin(OpRecord& record, OpId id, const capture::BodyOrigin& origin,
                                const capture::BodyScopes& scopes) {
  record.location = origin.location;
  if (!origin.backward) return;
  if (record.kind == OpKind::kCompute) record.kind = OpKind::kBackward;
  const ModuleId module = scopes.ModuleOf(origin.gradient_of);
  if (module != kNoId) builder_.tables().gradients.push_back({id, module});
}

void StructureWalker::AddAccess(OpId id, const capture::OpTraits& traits,
                                const StructureValues& inputs) {
  if (traits.is_function_call) return;
  TraceTables& tables = builder_.tables();
  for (const TensorId tensor : inputs) {
    const auto found = variables_.find(tensor);
    if (found == variables_.end()) continue;
    const VariableId variable = found->second;
    if (traits.is_variable_read) {
      builder_.op(id).kind = OpKind::kVariableRead;
      tables.accesses.push_back({id, variable, newest_[variable], false});
    } else if (traits.no_outputs) {
      builder_.op(id).kind = OpKind::kVariableWrite;
      tables.versions.push_back({variable, ++newest_[variable], kNoId, id});
      tables.accesses.push_back({id, variable, newest_[variable], true});
    }
  }
}

// A call is an op, and its function's body a region of its own; else the op says why not.
StructureValues StructureWalker::Call(const Site& site, const StructureValues& inputs,
                                      const capture::BodyOrigin& origin,
                                      capture::BodyScopes& scopes) {
  const OpId outer = call_;
  StructureValues values = AddOp(site, inputs, origin, scopes);
  const OpId call = static_cast<OpId>(builder_.tables().ops.size()) - 1;
  if (site.callees.size() != 1) return values;
  const interp::Callee& callee = site.callees.front();
  const std::shared_ptr<const interp::Plan> plan = PlanOf(callee);
  const std::string why = WhyOpaque(callee, plan.get(), inputs.size(), site.num_outputs);
  if (!why.empty()) {
    builder_.op(call).opaque_reason = builder_.Intern(why);
    return values;
  }
  call_ = call;
  if (outer == kNoId) constants_.clear();  // a call has constants of its own
  RegionRecord region;
  region.kind = RegionKind::kFunction;
  region.name = builder_.Intern(ReadableFunctionName(callee.name));
  region.op = call;
  values = Inside(region, *plan, inputs, scopes);
  call_ = outer;
  return values;
}

// Empty where the body can be looked into.
std::string StructureWalker::WhyOpaque(const interp::Callee& callee, const interp::Plan* plan,
                                       size_t num_args, size_t num_results) const {
  constexpr uint32_t kMaxOps = 10'000'000;
  if (plan == nullptr) {
    return fmt::format("the definition of function '{}' is not there", callee.name);
  }
  if (interp::HoldsAlways(plan->findings)) return interp::Explain(plan->findings.front());
  if (plan->num_args != num_args || plan->returns.size() != num_results) {
    return fmt::format(
        "function '{}' takes {} tensors and gives {}, but is called with {} for {}: the model is "
        "damaged",
        callee.name, plan->num_args, plan->returns.size(), num_args, num_results);
  }
  if (std::ranges::find(open_, plan) != open_.end()) {
    return fmt::format("function '{}' calls itself: its body is shown once", callee.name);
  }
  if (run_counter_ < kMaxOps) return {};
  return fmt::format("the functions hold more than {} ops", kMaxOps);
}

// A body that no op of the trace stands for: of a loop, of a branch, of a call in a body.
StructureValues StructureWalker::Callee(const Site& site, uint32_t index, RegionKind kind,
                                        const StructureValues& inputs,
                                        capture::BodyScopes& scopes) {
  const interp::Callee& callee = site.callees[index];
  const std::shared_ptr<const interp::Plan> plan = PlanOf(callee);
  const bool is_condition = site.kind == interp::NodeKind::kWhile && index == 0;
  const std::string why =
      WhyOpaque(callee, plan.get(), inputs.size(), is_condition ? 1 : site.num_outputs);
  if (!why.empty()) {
    StructureValues values = AddOp(site, inputs, {}, scopes);
    builder_.tables().ops.back().opaque_reason = builder_.Intern(why);
    return values;
  }
  RegionRecord region;
  region.kind = kind;
  region.name = builder_.Intern(kind == RegionKind::kFunction ? ReadableFunctionName(callee.label)
                                                              : callee.label);
  region.index = kind == RegionKind::kBranch ? index : 0;
  region.op = call_;
  return Inside(region, *plan, inputs, scopes);
}

std::shared_ptr<const interp::Plan> StructureWalker::PlanOf(const interp::Callee& callee) {
  const auto bytes = functions_.find(callee.name);
  if (bytes == functions_.end()) return nullptr;
  std::shared_ptr<const interp::Plan>& plan =
      plans_[interp::InstanceKey(callee.name, callee.bindings)];
  if (plan == nullptr) {
    plan = interp::BuildPlan(std::string(bytes->second), callee.bindings, Finder());
  }
  return plan;
}

StructureValues StructureWalker::Inside(const RegionRecord& region, const interp::Plan& plan,
                                        const StructureValues& args, capture::BodyScopes& scopes) {
  const RegionId id = builder_.OpenRegion(region);
  scopes.Enter(plan.name);
  Body body{plan, StructureValues(plan.kept.size(), kNoId), scopes};
  for (size_t i = 0; i < args.size() && i < body.slots.size(); ++i) body.slots[i] = args[i];
  scopes.Made("", {body.slots.data(), std::min<size_t>(plan.num_args, body.slots.size())});
  open_.push_back(&plan);
  for (const interp::PlanNode& node : plan.nodes) Step(body, node);
  open_.pop_back();
  scopes.Exit(false);
  builder_.CloseRegion(id);
  StructureValues results;
  for (const interp::PlanInput& result : plan.returns) {
    results.push_back(body.slots[result.slot]);
  }
  return results;
}

void StructureWalker::Step(Body& body, const interp::PlanNode& node) {
  const interp::Plan& plan = body.plan;
  StructureValues values;
  if (node.kind == interp::NodeKind::kConstant) {
    values = {ConstantOf(plan, node)};
  } else {
    const capture::BodyOrigin origin = body.scopes.Before(node.name);
    StructureValues inputs;
    for (uint32_t i = 0; i < node.num_inputs; ++i) {
      inputs.push_back(body.slots[plan.inputs[node.first_input + i].slot]);
    }
    const Site site{node.kind,        node.attrs->op,
                    node.name,        node.attrs->name_attr_list,
                    node.num_outputs, {plan.callees.data() + node.first_callee, node.num_callees}};
    if (node.kind == interp::NodeKind::kCall) {
      values = Callee(site, 0, RegionKind::kFunction, inputs, body.scopes);
      body.scopes.Made(node.name, values);
    } else {
      values = Run(site, inputs, origin, body.scopes);
    }
  }
  for (uint32_t i = 0; i < node.num_outputs && i < values.size(); ++i) {
    body.slots[node.first_output + i] = values[i];
  }
}

// Once for each constant of a body, however often the body stands in a call.
TensorId StructureWalker::ConstantOf(const interp::Plan& plan, const interp::PlanNode& node) {
  const auto [entry, is_new] = constants_.try_emplace({&plan, node.constant_index}, kNoId);
  if (is_new) {
    const ConstantType type = ConstantTypeOf(node.tensor);
    entry->second = AddConstant(node.name, type.dtype, type.dims, false);
  }
  return entry->second;
}

}  // namespace flowscope::library
