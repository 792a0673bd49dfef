#include "library/live_structure.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "library/structure_types.h"
#include "library/structure_walker.h"
#include "savedmodel/meta_graph.h"
#include "tf/op_registry.h"

namespace flowscope::library {
namespace {

class LiveWalker {
 public:
  LiveWalker(const LiveGraph& graph, savedmodel::MetaGraph& parsed,
             std::shared_ptr<capture::BodyOriginProvider> origins)
      : graph_(graph), walker_(parsed.functions, std::move(origins)), scopes_(walker_) {
    interp::FunctionDef main;
    main.nodes = std::move(parsed.nodes);
    interp::ResolveBody(std::move(main), {}, walker_.Finder(), body_);
    values_.resize(body_.nodes.size());
  }

  Status Walk() {
    SetInfo();
    for (const LiveGraph::Module& module : graph_.modules) AddModule(module);
    scopes_.Enter("");
    for (const LiveGraph::Variable& variable : graph_.variables) AddVariable(variable);
    for (const LiveGraph::Value& input : graph_.inputs) {
      Set(input.node, walker_.AddInput(input.path, input.dtype, input.dims));
    }
    for (const LiveGraph::Value& value : graph_.captured) {
      if (value.dtype == DType::kResource) Set(value.node, walker_.AddResource(kNoId));
      captured_[value.node] = &value;
    }
    for (uint32_t node = 0; node < body_.nodes.size(); ++node) {
      FLOWSCOPE_RETURN_IF_ERROR(AddNode(node));
    }
    scopes_.Exit(false);
    for (const LiveGraph::Output& output : graph_.outputs) {
      Result<TensorId> tensor = TensorOf(output.node, output.index, false);
      if (!tensor.ok()) return tensor.status();
      walker_.builder().tables().outputs.push_back({Intern(output.path), *tensor});
    }
    return Status::Ok();
  }

  std::shared_ptr<const Trace> Finish(const std::vector<capture::CallSite>& lines) {
    for (const capture::CallSite& line : lines) {
      walker_.builder().tables().locations.push_back(
          {Intern(line.file), Intern(line.function), Intern(line.text), line.line});
    }
    return walker_.Finish(
        "structure only: the program ran once on tensors without values; no kernel ran");
  }

 private:
  StringId Intern(std::string_view text) { return walker_.builder().Intern(text); }

  void SetInfo() {
    TraceInfo& info = walker_.builder().tables().info;
    info.name = graph_.name;
    info.root_kind = graph_.root_kind;
    info.root_class = graph_.root_class;
    info.keras_version = graph_.keras_version;
    info.notes = graph_.notes;
  }

  void AddModule(const LiveGraph::Module& module) {
    TraceBuilder& builder = walker_.builder();
    ModuleRecord record;
    record.addresses = builder.AddStrings(module.addresses);
    record.address = Intern(module.addresses.front());
    record.class_name = Intern(module.class_name);
    record.name = Intern(module.name);
    record.config = Intern(module.config);
    record.parent = module.parent;
    record.num_params = module.num_params;
    record.num_trainable_params = module.num_trainable;
    builder.AddModule(record);
  }

  void AddVariable(const LiveGraph::Variable& variable) {
    TraceBuilder& builder = walker_.builder();
    VariableRecord record;
    record.addresses = builder.AddStrings(variable.addresses);
    record.address = Intern(variable.addresses.front());
    record.name = Intern(variable.name);
    record.key = Intern("structure/" + std::to_string(builder.tables().variables.size()));
    record.trainable = variable.trainable;
    record.module = variable.module;
    record.dtype = variable.dtype;
    if (variable.dims) {
      record.dims = builder.InternDims(*variable.dims);
      record.shape_known =
          std::ranges::all_of(*variable.dims, [](int64_t dim) { return dim >= 0; });
    }
    const VariableId id = walker_.AddVariable(record);
    if (!variable.node.empty()) Set(variable.node, walker_.AddResource(id));
  }

  // The value of a placeholder.
  void Set(const std::string& node, TensorId tensor) {
    const auto found = body_.node_by_name.find(node);
    if (found == body_.node_by_name.end()) return;
    values_[found->second] = {tensor};
    scopes_.Made(node, values_[found->second]);
  }

  // A constant becomes a source when the first op takes it, as it would in a run. `literal`: the
  // op takes nothing that was not written in the call.
  Result<TensorId> TensorOf(std::string_view node, uint32_t index, bool literal) {
    const auto found = body_.node_by_name.find(node);
    if (found == body_.node_by_name.end()) {
      return Corruption("the graph has no node '" + std::string(node) + "'");
    }
    StructureValues& values = values_[found->second];
    if (values.empty()) AddConstant(body_.nodes[found->second], values, literal);
    if (index < values.size()) return values[index];
    return Corruption("node '" + std::string(node) + "' has no output " + std::to_string(index));
  }

  void AddConstant(const interp::BodyNode& node, StructureValues& values, bool literal) {
    const auto captured = captured_.find(node.def->name);
    if (captured != captured_.end()) {
      const LiveGraph::Value& value = *captured->second;
      values = {walker_.AddConstant("", value.dtype, value.dims, literal)};
    } else if (node.kind == interp::NodeKind::kConstant) {
      const ConstantType type = ConstantOf(node);
      values = {walker_.AddConstant("", type.dtype, type.dims, literal)};
    }
    scopes_.Made(node.def->name, values);
  }

  static ConstantType ConstantOf(const interp::BodyNode& node) {
    const std::string_view* attr = interp::FindAttr(node.attrs, "value");
    const Result<interp::AttrValue> value =
        attr ? interp::ParseAttrValue(*attr) : interp::AttrValue();
    return value.ok() ? ConstantTypeOf(value->bytes) : ConstantType();
  }

  // "node" and "node:1".
  struct Reference {
    std::string_view node;
    uint32_t index = 0;
  };
  static Reference Parse(std::string_view input) {
    const size_t colon = input.find(':');
    Reference reference{input.substr(0, colon), 0};
    if (colon != std::string_view::npos) {
      const std::string_view digits = input.substr(colon + 1);
      std::from_chars(digits.data(), digits.data() + digits.size(), reference.index);
    }
    return reference;
  }

  static std::vector<Reference> InputsOf(const interp::BodyNode& node) {
    std::vector<Reference> references;
    for (const std::string_view input : node.def->inputs) {
      if (!input.starts_with('^')) references.push_back(Parse(input));
    }
    return references;
  }

  // Rank zero, or a constant that says how to compute: what counts as written in a call.
  bool IsWritten(const Reference& input, const tf::OpDef* def, size_t index, size_t count) const {
    const auto found = body_.node_by_name.find(input.node);
    if (found == body_.node_by_name.end()) return false;
    const StructureValues& values = values_[found->second];
    if (!values.empty()) {
      return input.index < values.size() &&
             walker_.edge_class(values[input.index]) == EdgeClass::kLiteral;
    }
    const interp::BodyNode& node = body_.nodes[found->second];
    const auto captured = captured_.find(node.def->name);
    const bool is_captured = captured != captured_.end();
    if (!is_captured && node.kind != interp::NodeKind::kConstant) return false;
    const std::optional<Dims> dims = is_captured ? captured->second->dims : ConstantOf(node).dims;
    return (dims && dims->empty()) ||
           capture::IsArgumentInput(def, static_cast<int>(index), static_cast<int>(count));
  }

  bool IsLiteralProducer(const interp::BodyNode& node, const std::vector<Reference>& inputs) const {
    if (node.kind != interp::NodeKind::kOp || node.op == nullptr || node.op->is_stateful)
      return false;
    const capture::OpTraits traits = capture::TraitsOf(node.def->op, node.op, false);
    if (traits.kind != OpKind::kCompute || traits.no_outputs) return false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!IsWritten(inputs[i], node.op, i, inputs.size())) return false;
    }
    return true;
  }

  Status AddNode(uint32_t index) {
    const interp::BodyNode& node = body_.nodes[index];
    const bool is_source = node.kind == interp::NodeKind::kConstant ||
                           captured_.contains(node.def->name) || !values_[index].empty();
    if (is_source || node.kind == interp::NodeKind::kNothing || node.def->op == "NoOp") {
      return Status::Ok();
    }
    if (node.op == nullptr) {
      return Unsupported("node '" + std::string(node.def->name) + "' is of type " +
                         std::string(node.def->op) + ", which this TensorFlow does not know");
    }
    const capture::BodyOrigin origin = scopes_.Before(node.def->name);
    const std::vector<Reference> references = InputsOf(node);
    const bool literal = IsLiteralProducer(node, references);
    StructureValues inputs;
    for (const Reference& reference : references) {
      Result<TensorId> tensor = TensorOf(reference.node, reference.index, literal);
      if (!tensor.ok()) return tensor.status();
      inputs.push_back(*tensor);
    }
    values_[index] = Run(node, inputs, origin);
    OpRecord& last = walker_.builder().tables().ops.back();
    if (literal && last.kind == OpKind::kCompute) last.kind = OpKind::kLiteralProducer;
    return Status::Ok();
  }

  StructureValues Run(const interp::BodyNode& node, const StructureValues& inputs,
                      const capture::BodyOrigin& origin) {
    const std::string attrs = interp::WriteNameAttrList(node.def->op, node.attrs);
    const std::vector<interp::Callee> callees = interp::CalleesOf(node);
    const bool is_call = node.kind == interp::NodeKind::kCall;
    uint32_t count = 0;
    for (const tf::OpArg& arg : node.op->outputs) {
      count += static_cast<uint32_t>(interp::ArgLength(arg, node.attrs).value_or(0) & 0xFFFF);
    }
    StructureWalker::Site site{node.kind, node.def->op, node.def->name, attrs, count, callees, {}};
    if (!is_call || callees.size() != 1) return walker_.Run(site, inputs, origin, scopes_);
    site.type = callees.front().name;  // by which an eager call goes
    site.op = node.def->op;
    if (!graph_.open_functions) site.callees = {};
    StructureValues values = walker_.Run(site, inputs, origin, scopes_);
    if (!graph_.open_functions) {
      walker_.builder().tables().ops.back().opaque_reason =
          Intern("functions= asks for this call as one op");
    }
    return values;
  }

  const LiveGraph& graph_;
  StructureWalker walker_;
  capture::BodyScopes scopes_;
  interp::Body body_;
  std::vector<StructureValues> values_;  // by node
  std::map<std::string_view, const LiveGraph::Value*> captured_;
};

}  // namespace

Result<std::shared_ptr<const Trace>> StructureOf(
    const LiveGraph& graph, std::shared_ptr<capture::BodyOriginProvider> origins,
    const std::vector<capture::CallSite>& lines) {
  Result<savedmodel::MetaGraph> parsed = savedmodel::ParseGraph(graph.graph_def);
  if (!parsed.ok()) return parsed.status();
  LiveWalker walker(graph, *parsed, std::move(origins));
  FLOWSCOPE_RETURN_IF_ERROR(walker.Walk());
  return walker.Finish(lines);
}

}  // namespace flowscope::library
