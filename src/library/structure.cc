#include "library/structure.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>

#include "library/scope_origins.h"
#include "library/structure_types.h"
#include "library/structure_walker.h"
#include "savedmodel/main_graph.h"
#include "tf/op_registry.h"
#include "trace/attrs.h"

namespace flowscope::library {
namespace {

std::vector<ModuleId> ModuleNumbers(const savedmodel::ModelNames& names) {
  std::vector<ModuleId> numbers(names.modules().size());
  std::iota(numbers.begin(), numbers.end(), ModuleId{0});
  return numbers;
}

// The main graph of a file, as far as the outputs of a signature need it.
class MainWalker {
 public:
  MainWalker(const savedmodel::SavedModelFile& file, const std::string& name)
      : names_(file.graph()),
        definitions_(file.graph().functions),
        walker_(file.graph().functions, std::make_shared<ScopeOrigins>(
                                            names_.scopes(), ModuleNumbers(names_), definitions_)),
        scopes_(walker_) {
    TraceInfo& info = walker_.builder().tables().info;
    info.name = name;
    info.root_kind = "saved_model";
    info.root_class = "SavedModel";
    for (const savedmodel::ModelModule& module : names_.modules()) DeclareModule(module);
    interp::FunctionDef main;
    main.nodes = file.graph().nodes;
    interp::ResolveBody(std::move(main), {}, walker_.Finder(), body_);
  }

  Status Walk(const savedmodel::Signature& signature) {
    TraceBuilder& builder = walker_.builder();
    for (const auto& [name, info] : signature.inputs) {
      const TensorId tensor = walker_.AddInput(name, info.dtype, info.dims);
      const auto node = body_.node_by_name.find(info.name.substr(0, info.name.find(':')));
      if (node != body_.node_by_name.end()) values_[node->second] = {tensor};
    }
    const ModuleCallId root = names_.modules().empty() ? kNoId : builder.OpenModuleCall(0, 0);
    for (const auto& [name, info] : signature.outputs) {
      Result<TensorId> tensor = Fetch(info.name);
      if (!tensor.ok()) return tensor.status();
      builder.tables().outputs.push_back(
          {builder.Intern("output['" + std::string(name) + "']"), *tensor});
    }
    if (root != kNoId) builder.CloseModuleCall(root, 0, false);
    return Status::Ok();
  }

  std::shared_ptr<const Trace> Finish() {
    if (!names_.scopes().modules().empty()) {
      walker_.builder().tables().info.notes.emplace_back(kScopesNote);
    }
    if (has_loop_) {
      walker_.builder().tables().info.notes.emplace_back(
          "loops of TensorFlow 1 stand once, without the edge that leads back");
    }
    return walker_.Finish("structure only: nothing ran, and no value was kept");
  }

 private:
  void DeclareModule(const savedmodel::ModelModule& module) {
    TraceBuilder& builder = walker_.builder();
    ModuleRecord record;
    record.addresses = builder.AddStrings(std::vector<std::string>{module.address});
    record.address = builder.Intern(module.address);
    record.class_name = builder.Intern(module.class_name);
    record.name = builder.Intern(module.name);
    record.parent = module.parent == savedmodel::kNoScope ? kNoId : module.parent;
    record.num_params = module.num_params;
    record.num_trainable_params = module.num_trainable;
    builder.AddModule(record);
  }

  Result<TensorId> Fetch(std::string_view reference) {
    const auto node = body_.node_by_name.find(reference.substr(0, reference.find(':')));
    if (node == body_.node_by_name.end()) {
      return Corruption("the graph has no node '" + std::string(reference) + "'");
    }
    FLOWSCOPE_RETURN_IF_ERROR(Compute(node->second));
    while (!behind_.empty()) {
      const uint32_t next = behind_.back();
      behind_.pop_back();
      FLOWSCOPE_RETURN_IF_ERROR(Compute(next));
    }
    return At(node->second, reference);
  }

  Result<TensorId> At(uint32_t node, std::string_view reference) {
    const size_t colon = reference.rfind(':');
    const std::string digits(colon == std::string_view::npos ? "0" : reference.substr(colon + 1));
    const size_t index = digits.size() < 6 ? std::strtoul(digits.c_str(), nullptr, 10) : SIZE_MAX;
    if (index < values_[node].size()) return values_[node][index];
    return Corruption("'" + std::string(reference) + "' is no tensor of the graph");
  }

  // The node behind an input as it is written; a control input too.
  Result<uint32_t> Producer(std::string_view input) const {
    if (input.starts_with('^')) input.remove_prefix(1);
    const auto found = body_.node_by_name.find(input.substr(0, input.find(':')));
    if (found != body_.node_by_name.end()) return found->second;
    return Corruption("a node needs '" + std::string(input) + "', which is not there");
  }

  // The edge that leads back in a loop of TensorFlow 1.
  bool LeadsBack(uint32_t producer) const {
    const std::string_view op = body_.nodes[producer].def->op;
    return op == "NextIteration" || op == "RefNextIteration";
  }

  // Nodes of the main graph, deepest first.
  Status Compute(uint32_t root) {
    std::vector<std::pair<uint32_t, size_t>> stack = {{root, 0}};
    std::vector<bool> open(body_.nodes.size());
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      const auto& inputs = body_.nodes[node].def->inputs;
      if (values_.contains(node) || next == inputs.size()) {
        if (!values_.contains(node)) FLOWSCOPE_RETURN_IF_ERROR(AddNode(node));
        stack.pop_back();
        continue;
      }
      open[node] = true;
      const Result<uint32_t> needed = Producer(inputs[next++]);
      if (!needed.ok()) return needed.status();
      if (values_.contains(*needed)) continue;
      if (LeadsBack(*needed)) {
        has_loop_ = true;
        behind_.push_back(*needed);
        continue;
      }
      if (open[*needed]) return Corruption("nodes of the main graph need each other in a circle");
      stack.emplace_back(*needed, 0);
    }
    return Status::Ok();
  }

  Result<StructureValues> InputsOf(const interp::BodyNode& node) {
    StructureValues inputs;
    for (const std::string_view input : node.def->inputs) {
      if (input.starts_with('^')) continue;
      const Result<uint32_t> producer = Producer(input);
      if (!producer.ok()) return producer.status();
      if (LeadsBack(*producer) && !values_.contains(*producer)) continue;
      Result<TensorId> tensor = At(*producer, input);
      if (!tensor.ok()) return tensor.status();
      inputs.push_back(*tensor);
    }
    return inputs;
  }

  Status AddNode(uint32_t index) {
    const interp::BodyNode& node = body_.nodes[index];
    const Result<StructureValues> inputs = InputsOf(node);
    if (!inputs.ok()) return inputs.status();
    const std::string attrs = interp::WriteNameAttrList(node.def->op, ShownAttrs(node));
    StructureValues& values = values_[index];
    if (node.def->op == "VarHandleOp") {
      values = {AddVariable(node.def->name, attrs)};
    } else if (IsResource(node)) {
      values = {walker_.AddResource(kNoId)};
    } else if (node.kind == interp::NodeKind::kConstant) {
      const Outputs outputs = OutputsOf(tf::FindOpDef("Const"), attrs, 1);
      values = {walker_.AddConstant(node.def->name, outputs.dtypes[0], outputs.dims[0], false)};
    } else if (node.kind != interp::NodeKind::kNothing) {
      const std::vector<interp::Callee> callees = interp::CalleesOf(node);
      values =
          walker_.Run({node.kind, node.def->op, node.def->name, attrs, CountOutputs(node), callees},
                      *inputs, {}, scopes_);
    }
    return Status::Ok();
  }

  static uint32_t CountOutputs(const interp::BodyNode& node) {
    uint32_t count = 0;
    for (const tf::OpArg& arg : node.op != nullptr ? node.op->outputs : std::vector<tf::OpArg>()) {
      count += static_cast<uint32_t>(interp::ArgLength(arg, node.attrs).value_or(0) & 0xFFFF);
    }
    return count;
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
    TraceBuilder& builder = walker_.builder();
    const savedmodel::ModelVariable named = names_.VariableOf(node);
    VariableRecord record;
    record.addresses = builder.AddStrings(named.addresses);
    record.address = builder.Intern(named.addresses.front());
    record.name = builder.Intern(named.name);
    record.key = builder.Intern(node);
    record.trainable = named.trainable;
    record.module = named.module == savedmodel::kNoScope ? kNoId : named.module;
    SetType(attrs, record);
    return walker_.AddResource(walker_.AddVariable(record));
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
      record.dims = walker_.builder().InternDims(*dims);
      record.shape_known = std::ranges::all_of(*dims, [](int64_t dim) { return dim >= 0; });
    }
  }

  savedmodel::ModelNames names_;
  FunctionDefinitions definitions_;
  StructureWalker walker_;
  capture::BodyScopes scopes_;
  interp::Body body_;
  std::map<uint32_t, StructureValues> values_;  // by node
  std::vector<uint32_t> behind_;                // nodes that only a loop's next iteration takes
  bool has_loop_ = false;
};

}  // namespace

Result<std::shared_ptr<const Trace>> StructureOf(const savedmodel::SavedModelFile& file,
                                                 std::string_view signature,
                                                 const std::string& name) {
  const auto found = file.graph().signatures.find(signature);
  if (found == file.graph().signatures.end()) {
    return NotFound("no signature '" + std::string(signature) + "'");
  }
  MainWalker walker(file, name);
  FLOWSCOPE_RETURN_IF_ERROR(walker.Walk(found->second));
  return walker.Finish();
}

}  // namespace flowscope::library
