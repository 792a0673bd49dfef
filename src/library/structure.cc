#include "library/structure.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "capture/function_host.h"
#include "capture/live_payloads.h"
#include "capture/op_kinds.h"
#include "interp/plan.h"
#include "interp/plan_cache.h"
#include "library/structure_types.h"
#include "savedmodel/main_graph.h"
#include "tf/op_registry.h"
#include "trace/attrs.h"
#include "trace/builder.h"

namespace flowscope::library {
namespace {

using Values = std::vector<TensorId>;

class Walker {
 public:
  Walker(const savedmodel::SavedModelFile& file, const std::string& name)
      : file_(file), names_(file.graph()) {
    TraceInfo& info = builder_.tables().info;
    info.name = name;
    info.root_kind = "saved_model";
    info.root_class = "SavedModel";
    info.recorder = "structure";
    info.tensorflow_version = tf::Api().TF_Version();
    info.notes.emplace_back("structure only: nothing ran, and no value was kept");
    for (const std::string_view bytes : file.graph().functions) {
      Result<interp::FunctionDef> function = interp::ParseFunctionDef(bytes);
      if (function.ok()) functions_.emplace(function->signature.name, bytes);
    }
    for (const savedmodel::ModelModule& module : names_.modules()) DeclareModule(module);
  }

  Status Walk(const savedmodel::Signature& signature) {
    interp::FunctionDef main;
    main.nodes = file_.graph().nodes;
    interp::ResolveBody(std::move(main), {}, Finder(), body_);
    for (const auto& [name, info] : signature.inputs) AddInput(name, info);
    const ModuleCallId root = names_.modules().empty() ? kNoId : builder_.OpenModuleCall(0, 0);
    for (const auto& [name, info] : signature.outputs) {
      Result<TensorId> tensor = Fetch(info.name);
      if (!tensor.ok()) return tensor.status();
      builder_.tables().outputs.push_back(
          {builder_.Intern("output['" + std::string(name) + "']"), *tensor});
    }
    if (root != kNoId) builder_.CloseModuleCall(root, 0, false);
    return Status::Ok();
  }

  std::shared_ptr<const Trace> Finish() {
    builder_.tables().info.num_executed = run_counter_;
    return std::move(builder_).Finish(std::make_shared<capture::LivePayloads>());
  }

 private:
  interp::SignatureFinder Finder() const {
    return [this](std::string_view name) -> std::optional<tf::OpDef> {
      const auto found = functions_.find(name);
      if (found == functions_.end()) return {};
      Result<interp::FunctionDef> function = interp::ParseFunctionDef(found->second);
      if (!function.ok()) return {};
      return std::move(function->signature);
    };
  }

  void DeclareModule(const savedmodel::ModelModule& module) {
    ModuleRecord record;
    record.addresses = builder_.AddStrings(std::vector<std::string>{module.address});
    record.address = builder_.Intern(module.address);
    record.class_name = builder_.Intern(module.class_name);
    record.name = builder_.Intern(module.name);
    record.parent = module.parent == savedmodel::kNoScope ? kNoId : module.parent;
    record.num_params = module.num_params;
    record.num_trainable_params = module.num_trainable;
    builder_.AddModule(record);
  }

  TensorId AddTensor(OpId producer, uint32_t index, DType dtype, const std::optional<Dims>& dims,
                     EdgeClass edge_class) {
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
        record.nbytes = NumElements(*dims) * static_cast<int64_t>(DTypeSize(dtype));
      }
    }
    edge_classes_.push_back(edge_class);
    return builder_.AddTensor(record);
  }

  void AddInput(std::string_view name, const savedmodel::TensorInfo& info) {
    const OpId source = builder_.AddSource(OpKind::kInput, "input", name, 0);
    const TensorId tensor = AddTensor(source, 0, info.dtype, info.dims, EdgeClass::kInput);
    builder_.SetOutputs(source, {tensor, 1});
    const auto node = body_.node_by_name.find(info.name.substr(0, info.name.find(':')));
    if (node != body_.node_by_name.end()) main_values_[node->second] = {tensor};
  }

  Result<TensorId> Fetch(std::string_view reference) {
    const size_t colon = reference.find(':');
    const auto node = body_.node_by_name.find(reference.substr(0, colon));
    if (node == body_.node_by_name.end()) {
      return Corruption("the graph has no node '" + std::string(reference) + "'");
    }
    FLOWSCOPE_RETURN_IF_ERROR(Compute(node->second));
    return At(node->second, reference);
  }

  Result<TensorId> At(uint32_t node, std::string_view reference) {
    const size_t colon = reference.rfind(':');
    const std::string digits(colon == std::string_view::npos ? "0" : reference.substr(colon + 1));
    const size_t index = digits.size() < 6 ? std::strtoul(digits.c_str(), nullptr, 10) : SIZE_MAX;
    if (index < main_values_[node].size()) return main_values_[node][index];
    return Corruption("'" + std::string(reference) + "' is no tensor of the graph");
  }

  // Nodes of the main graph, deepest first.
  Status Compute(uint32_t root) {
    std::vector<std::pair<uint32_t, size_t>> stack = {{root, 0}};
    std::vector<bool> open(body_.nodes.size());
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      const auto& inputs = body_.nodes[node].def->inputs;
      if (main_values_.contains(node) || next == inputs.size()) {
        if (!main_values_.contains(node)) FLOWSCOPE_RETURN_IF_ERROR(AddMainNode(node));
        stack.pop_back();
        continue;
      }
      open[node] = true;
      std::string_view input = inputs[next++];
      if (input.starts_with('^')) input.remove_prefix(1);
      const auto needed = body_.node_by_name.find(input.substr(0, input.find(':')));
      if (needed == body_.node_by_name.end()) {
        return Corruption("a node needs '" + std::string(input) + "', which is not there");
      }
      if (main_values_.contains(needed->second)) continue;
      if (open[needed->second]) return Unsupported("the main graph has a loop of TensorFlow 1");
      stack.emplace_back(needed->second, 0);
    }
    return Status::Ok();
  }

  Status AddMainNode(uint32_t index) {
    const interp::BodyNode& node = body_.nodes[index];
    Values inputs;
    for (const std::string_view input : node.def->inputs) {
      if (input.starts_with('^')) continue;
      const auto producer = body_.node_by_name.find(input.substr(0, input.find(':')));
      Result<TensorId> tensor = At(producer->second, input);
      if (!tensor.ok()) return tensor.status();
      inputs.push_back(*tensor);
    }
    uint32_t count = 0;
    if (node.op != nullptr) {
      for (const tf::OpArg& arg : node.op->outputs) {
        count += static_cast<uint32_t>(interp::ArgLength(arg, node.attrs).value_or(0) & 0xFFFF);
      }
    }
    const std::string attrs = interp::WriteNameAttrList(node.def->op, ShownAttrs(node));
    Values& values = main_values_[index];
    if (node.def->op == "VarHandleOp") {
      values = {AddVariable(node.def->name, attrs)};
    } else if (IsResource(node)) {
      values = {AddTensor(kNoId, 0, DType::kResource, Dims(), EdgeClass::kResource)};
    } else if (node.kind == interp::NodeKind::kConstant) {
      values = {AddConstant(node.def->name, attrs)};
    } else if (node.kind != interp::NodeKind::kNothing) {
      values = AddOp(node.def->op, node.def->name, attrs, inputs, count);
      const std::string function = node.callees.size() == 1 && node.kind == interp::NodeKind::kCall
                                       ? std::string(node.callees.front().name)
                                       : "";
      const OpId call = static_cast<OpId>(builder_.tables().ops.size()) - 1;
      if (!function.empty()) Open(function, {}, call, inputs, values);
    }
    return Status::Ok();
  }

  static interp::AttrList ShownAttrs(const interp::BodyNode& node) {
    interp::AttrList shown;
    for (const interp::AttrEntry& attr : node.attrs) {
      if (node.kind != interp::NodeKind::kConstant || attr.first != "value") shown.push_back(attr);
    }
    return shown;
  }

  static bool IsResource(const interp::BodyNode& node) {
    return node.op != nullptr && node.op->is_stateful && node.op->outputs.size() == 1 &&
           node.op->outputs[0].type == DType::kResource && node.kind == interp::NodeKind::kOp;
  }

  TensorId AddVariable(std::string_view node, const std::string& attrs) {
    const savedmodel::ModelVariable named = names_.VariableOf(node);
    VariableRecord record;
    record.addresses = builder_.AddStrings(named.addresses);
    record.address = builder_.Intern(named.addresses.front());
    record.name = builder_.Intern(named.name);
    record.key = builder_.Intern(node);
    record.trainable = named.trainable;
    record.module = named.module == savedmodel::kNoScope ? kNoId : named.module;
    SetType(attrs, record);
    TraceTables& tables = builder_.tables();
    const auto variable = static_cast<VariableId>(tables.variables.size());
    tables.variables.push_back(record);
    tables.versions.push_back({variable, 0, kNoId, kNoId});
    const TensorId handle = AddTensor(kNoId, 0, DType::kResource, Dims(), EdgeClass::kVariable);
    variables_.emplace(handle, variable);
    return handle;
  }

  void SetType(const std::string& name_attr_list, VariableRecord& record) {
    const Result<std::map<std::string, std::string>> attrs = SplitAttrs(name_attr_list);
    if (!attrs.ok()) return;
    for (const auto& [name, bytes] : *attrs) {
      const Result<AttrData> data = DecodeAttr(bytes);
      if (!data.ok()) continue;
      const auto* text = std::get_if<std::string>(&data->scalar);
      const auto* dims = std::get_if<std::vector<int64_t>>(&data->scalar);
      if (name == "dtype" && text != nullptr) record.dtype = DTypeNamed(*text);
      if (name != "shape" || dims == nullptr) continue;
      record.dims = builder_.InternDims(*dims);
      record.shape_known = std::ranges::all_of(*dims, [](int64_t dim) { return dim >= 0; });
    }
  }

  TensorId AddConstant(std::string_view name, std::string_view attrs) {
    const Outputs outputs = OutputsOf(tf::FindOpDef("Const"), attrs, 1);
    if (outputs.dims[0] && outputs.dims[0]->empty()) {
      return AddTensor(kNoId, 0, outputs.dtypes[0], outputs.dims[0], EdgeClass::kLiteral);
    }
    const OpId source = builder_.AddSource(OpKind::kConstant, "constant", name, 0);
    const TensorId tensor =
        AddTensor(source, 0, outputs.dtypes[0], outputs.dims[0], EdgeClass::kConstant);
    builder_.SetOutputs(source, {tensor, 1});
    return tensor;
  }

  Values AddOp(std::string_view type, std::string_view name, std::string_view attrs,
               const Values& inputs, uint32_t count) {
    const tf::OpDef* def = tf::FindOpDef(type);
    const capture::OpTraits traits = capture::TraitsOf(type, def, false);
    std::vector<EdgeRecord> edges;
    for (const TensorId tensor : inputs) edges.push_back({tensor, edge_classes_[tensor], 0});
    OpRecord record;
    record.type = builder_.Intern(type);
    record.name = builder_.Intern(name);
    record.kind = traits.kind;
    record.run_counter = ++run_counter_;
    record.attrs = builder_.tables().attrs.Intern(attrs);
    if (traits.takes_functions) {
      record.opaque_reason = builder_.Intern("the op's kernel runs functions itself");
    }
    const OpId id = builder_.BeginOp(record);
    builder_.SetInputs(id, edges);
    const Outputs outputs = OutputsOf(def, attrs, count);
    Values values;
    for (uint32_t i = 0; i < count; ++i) {
      values.push_back(AddTensor(id, i, outputs.dtypes[i], outputs.dims[i], EdgeClass::kOp));
    }
    builder_.SetOutputs(id, {values.empty() ? 0 : values.front(), count});
    AddAccess(id, traits, inputs);
    return values;
  }

  void AddAccess(OpId id, const capture::OpTraits& traits, const Values& inputs) {
    for (const TensorId tensor : inputs) {
      const auto variable = variables_.find(tensor);
      if (variable == variables_.end() || traits.is_function_call) continue;
      if (traits.is_variable_read) {
        builder_.op(id).kind = OpKind::kVariableRead;
        builder_.tables().accesses.push_back({id, variable->second, 0, false});
      } else if (traits.no_outputs) {
        builder_.op(id).kind = OpKind::kVariableWrite;
      }
    }
  }

  // The function's body in a region of its own. `values`: what the call gives, replaced by the
  // values inside where it could be opened; else the op says why not.
  void Open(const std::string& function, const interp::Bindings& bindings, OpId call,
            const Values& inputs, Values& values) {
    call_ = call;
    const std::shared_ptr<const interp::Plan> plan = PlanOf(function, bindings);
    if (plan == nullptr) {
      builder_.op(call).opaque_reason =
          builder_.Intern("the SavedModel does not hold the function '" + function + "'");
      return;
    }
    if (!interp::HoldsAlways(plan->findings)) {
      RegionRecord region;
      region.kind = RegionKind::kFunction;
      region.name = builder_.Intern(capture::ReadableFunctionName(function));
      region.op = call;
      values = Inside(region, *plan, inputs);
      return;
    }
    builder_.op(call).opaque_reason = builder_.Intern(interp::Explain(plan->findings.front()));
  }

  std::shared_ptr<const interp::Plan> PlanOf(const std::string& function,
                                             const interp::Bindings& bindings) {
    const auto bytes = functions_.find(function);
    if (bytes == functions_.end()) return nullptr;
    std::shared_ptr<const interp::Plan>& plan = plans_[interp::InstanceKey(function, bindings)];
    if (plan == nullptr) plan = interp::BuildPlan(std::string(bytes->second), bindings, Finder());
    return plan;
  }

  Values Inside(const RegionRecord& region, const interp::Plan& plan, const Values& args) {
    constexpr int kMaxDepth = 500;  // a function that calls itself has no end here
    const RegionId id = builder_.OpenRegion(region);
    Values slots(plan.kept.size(), kNoId);
    for (size_t i = 0; i < args.size() && i < slots.size(); ++i) slots[i] = args[i];
    if (++depth_ < kMaxDepth) {
      for (const interp::PlanNode& node : plan.nodes) Step(plan, node, slots);
    }
    --depth_;
    builder_.CloseRegion(id);
    Values results;
    for (const interp::PlanInput& result : plan.returns)
      results.push_back(Known(slots[result.slot]));
    return results;
  }

  // A stand-in where a body could not be looked into.
  TensorId Known(TensorId tensor) {
    return tensor != kNoId ? tensor
                           : AddTensor(kNoId, 0, DType::kInvalid, {}, EdgeClass::kUnexplained);
  }

  void Step(const interp::Plan& plan, const interp::PlanNode& node, Values& slots) {
    Values inputs;
    for (uint32_t i = 0; i < node.num_inputs; ++i) {
      inputs.push_back(Known(slots[plan.inputs[node.first_input + i].slot]));
    }
    const std::string& attrs = node.attrs->name_attr_list;
    Values values;
    switch (node.kind) {
      case interp::NodeKind::kConstant:
        values = {ConstantOf(plan, node)};
        break;
      case interp::NodeKind::kCall:
        values = Callee(plan, node, 0, RegionKind::kFunction, inputs);
        break;
      case interp::NodeKind::kIf:
      case interp::NodeKind::kCase:
        inputs.erase(inputs.begin());
        for (uint32_t i = 0; i < node.num_callees; ++i) {
          const Values branch = Callee(plan, node, i, RegionKind::kBranch, inputs);
          if (i == 0) values = branch;
        }
        break;
      case interp::NodeKind::kWhile:
        Callee(plan, node, 0, RegionKind::kFunction, inputs);
        values = Callee(plan, node, 1, RegionKind::kIteration, inputs);
        break;
      default:
        values = AddOp(node.attrs->op, node.name, attrs, inputs, node.num_outputs);
    }
    for (uint32_t i = 0; i < node.num_outputs && i < values.size(); ++i) {
      slots[node.first_output + i] = values[i];
    }
  }

  // Once for each constant of a body, however often the body stands in the structure.
  TensorId ConstantOf(const interp::Plan& plan, const interp::PlanNode& node) {
    const auto [entry, is_new] = constants_.try_emplace({&plan, node.constant_index}, kNoId);
    if (is_new) entry->second = AddConstant(node.name, node.attrs->name_attr_list);
    return entry->second;
  }

  Values Callee(const interp::Plan& plan, const interp::PlanNode& node, uint32_t index,
                RegionKind kind, const Values& inputs) {
    const interp::Callee& callee = plan.callees[node.first_callee + index];
    const std::shared_ptr<const interp::Plan> inner = PlanOf(callee.name, callee.bindings);
    if (inner == nullptr || interp::HoldsAlways(inner->findings)) {
      return AddOp(node.attrs->op, node.name, node.attrs->name_attr_list, inputs, node.num_outputs);
    }
    RegionRecord region;
    region.kind = kind;
    region.name = builder_.Intern(
        kind == RegionKind::kFunction ? capture::ReadableFunctionName(callee.label) : callee.label);
    region.index = kind == RegionKind::kBranch ? index : 0;
    region.op = call_;
    return Inside(region, *inner, inputs);
  }

  const savedmodel::SavedModelFile& file_;
  savedmodel::ModelNames names_;
  TraceBuilder builder_;
  interp::Body body_;
  std::map<std::string, std::string_view, std::less<>> functions_;
  std::map<std::string, std::shared_ptr<const interp::Plan>> plans_;
  std::map<std::pair<const interp::Plan*, uint32_t>, TensorId> constants_;
  std::map<uint32_t, Values> main_values_;    // by node
  std::map<TensorId, VariableId> variables_;  // by handle
  std::vector<EdgeClass> edge_classes_;       // by tensor
  OpId call_ = kNoId;                         // the call of the main graph that is open
  uint32_t run_counter_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<std::shared_ptr<const Trace>> StructureOf(const savedmodel::SavedModelFile& file,
                                                 std::string_view signature,
                                                 const std::string& name) {
  const auto found = file.graph().signatures.find(signature);
  if (found == file.graph().signatures.end()) {
    return NotFound("no signature '" + std::string(signature) + "'");
  }
  Walker walker(file, name);
  FLOWSCOPE_RETURN_IF_ERROR(walker.Walk(found->second));
  return walker.Finish();
}

}  // namespace flowscope::library
