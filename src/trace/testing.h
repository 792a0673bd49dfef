// Test fixture: makes small traces in a few lines, as a recorder would have made them.
//
//   TraceMaker m;
//   TensorId x = m.Input("x", {1, 3}, {1, 2, 3});
//   VariableId kernel = m.Variable("dense.kernel", {3, 4});
//   TensorId y = m.Call("dense", [&] {
//     return m.Op("MatMul", {x, m.Read(kernel)}, {.dims = {1, 4}});
//   });
//   m.Output("y", y);
//   std::shared_ptr<const Trace> trace = m.Finish();
//
// What Finish() gives passes Lint(), unless the test changed m.tables() to break something. Misuse
// of the fixture (an unknown id) is a fault of the test and ends in an assertion.
#pragma once

#include <algorithm>
#include <cassert>
#include <concepts>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "trace/builder.h"
#include "trace/testing_specs.h"
#include "trace/testing_tensors.h"
#include "trace/trace.h"

namespace flowscope {

// Builds a trace by telling what happened, in order. Every tensor gets a value: the one given, else
// zeros (dtypes of a known size), unless `state` says that it was not kept.
class TraceMaker : public TensorMaker {
 public:
  // Sources.
  TensorId Input(std::string_view path, Dims dims, const std::vector<float>& values = {}) {
    return Source(OpKind::kInput, "input", path, std::move(dims), values);
  }
  TensorId Constant(std::string_view name, Dims dims, const std::vector<float>& values = {}) {
    return Source(OpKind::kConstant, "constant", name, std::move(dims), values);
  }
  TensorId FromPython(Dims dims, const std::vector<float>& values = {}) {
    return Source(OpKind::kFromPython, "from_python", "", std::move(dims), values);
  }
  TensorId Literal(float value) {
    return AddTensor(kNoId, 0, {}, {value}, DType::kFloat32, PayloadState::kKept);
  }
  // A resource handle that names no variable: table, iterator, queue.
  TensorId Resource() {
    return AddTensor(kNoId, 0, {}, {}, DType::kResource, PayloadState::kNoValue);
  }

  // Runs an op in the current scope; gives its first output (kNoId where it has none).
  TensorId Op(std::string_view type, const std::vector<TensorId>& inputs, const OpSpec& spec) {
    std::vector<EdgeRecord> edges;
    for (TensorId tensor : inputs) edges.push_back(Edge(tensor));
    return RunOp(type, edges, spec);
  }
  TensorId Op(std::string_view type, const std::vector<TensorId>& inputs = {}) {
    OpSpec spec;
    if (!inputs.empty()) spec.dims = DimsOf(inputs.front());
    return Op(type, inputs, spec);
  }
  // An op whose only input nobody can explain.
  TensorId OpOnUnexplained(std::string_view type) {
    EdgeRecord edge;
    edge.handle = next_handle_++;
    return RunOp(type, {edge}, OpSpec());
  }

  // Variables. Read and Assign run the ops that TensorFlow would.
  VariableId Variable(std::string_view address, Dims dims) {
    return Variable(address, std::move(dims), VariableSpec());
  }
  VariableId Variable(std::string_view address, Dims dims, const VariableSpec& spec) {
    const auto id = static_cast<VariableId>(tables().variables.size());
    VariableRecord record;
    record.address = builder_.Intern(address);
    record.addresses = Addresses(address, spec.aliases);
    const std::string own_name(address.substr(address.rfind('.') + 1));
    record.name = builder_.Intern(spec.name.empty() ? own_name : spec.name);
    record.key = builder_.Intern("localhost/" + std::string(address));
    record.dtype = spec.dtype;
    record.dims = builder_.InternDims(dims);
    record.shape_known = true;
    record.trainable = spec.trainable;
    tables().variables.push_back(record);
    const TensorId initial =
        AddTensor(kNoId, 0, dims, spec.values, spec.dtype, PayloadState::kKept);
    tables().versions.push_back({id, 0, initial, kNoId});
    variables_.push_back({Resource(), 0, initial});
    return id;
  }
  TensorId Read(VariableId variable) {
    const VariableRecord& record = tables().variables[variable];
    OpSpec spec;
    spec.kind = OpKind::kVariableRead;
    spec.dtype = record.dtype;
    spec.dims = DimsFromPool(record.dims);
    const TensorId value = Op("ReadVariableOp", {variables_[variable].handle}, spec);
    CopyValue(variables_[variable].value, value);
    Access(variable, variables_[variable].version, false);
    return value;
  }
  void Assign(VariableId variable, TensorId value) {
    OpSpec spec;
    spec.kind = OpKind::kVariableWrite;
    spec.num_outputs = 0;
    Op("AssignVariableOp", {variables_[variable].handle, value}, spec);
    AddVersion(variable, value, last_op_);
    Access(variable, variables_[variable].version, true);
  }
  // The variable changed, but no op of this run did it.
  void ChangeOutside(VariableId variable, const std::vector<float>& values = {}) {
    const VariableRecord& record = tables().variables[variable];
    const Dims dims = DimsFromPool(record.dims);
    AddVersion(variable, AddTensor(kNoId, 0, dims, values, record.dtype, PayloadState::kKept),
               kNoId);
  }

  // Modules. Addresses: "self" is the root; the parent is the nearest module that the address lies
  // under. Call() adds a module that is not there yet.
  ModuleId Module(std::string_view address) { return Module(address, ModuleSpec()); }
  ModuleId Module(std::string_view address, const ModuleSpec& spec) {
    ModuleRecord record;
    record.address = builder_.Intern(address);
    record.addresses = Addresses(address, spec.aliases);
    record.class_name = builder_.Intern(spec.class_name);
    record.name = builder_.Intern(spec.name.empty() ? address.substr(address.rfind('.') + 1)
                                                    : std::string_view(spec.name));
    record.config = builder_.Intern(spec.config);
    record.parent = ParentOf(address);
    record.variables = {static_cast<uint32_t>(tables().variable_lists.size()),
                        static_cast<uint32_t>(spec.variables.size())};
    record.num_params = spec.num_params;
    record.num_trainable_params = spec.num_trainable_params;
    const ModuleId id = builder_.AddModule(record);
    for (VariableId variable : spec.variables) {
      tables().variable_lists.push_back(variable);
      tables().variables[variable].module = id;
    }
    modules_.emplace(address, id);
    return id;
  }

  // Calls a module. A body that returns a TensorId makes it the call's output and gives it back.
  template <std::invocable Body>
  auto Call(std::string_view address, Body body) {
    return Call(address, CallSpec(), std::move(body));
  }
  template <std::invocable Body>
  auto Call(std::string_view address, const CallSpec& spec, Body body) {
    const ModuleCallId call = OpenCall(address, spec);
    if constexpr (std::is_same_v<std::invoke_result_t<Body>, TensorId>) {
      const TensorId output = body();
      CloseCall(call, {output}, spec.failed);
      return output;
    } else {
      body();
      CloseCall(call, {}, spec.failed);
    }
  }
  ModuleCallId last_call() const { return last_call_; }
  // Replaces what a call gave back, for calls with several outputs or none of their own ops.
  void SetCallOutputs(ModuleCallId call, const std::vector<TensorId>& outputs) {
    tables().module_calls[call].outputs = Named(outputs);
  }

  // Regions; `opened_by` is the op that runs what is inside, such as a While.
  template <std::invocable Body>
  auto Function(std::string_view name, Body body, OpId opened_by = kNoId) {
    return InRegion(RegionKind::kFunction, name, 0, opened_by, std::move(body));
  }
  template <std::invocable Body>
  auto Iteration(std::string_view loop, uint32_t index, Body body, OpId opened_by = kNoId) {
    return InRegion(RegionKind::kIteration, loop, index, opened_by, std::move(body));
  }
  template <std::invocable Body>
  auto Branch(std::string_view name, uint32_t index, Body body, OpId opened_by = kNoId) {
    return InRegion(RegionKind::kBranch, name, index, opened_by, std::move(body));
  }

  // The ops that follow stand on this line.
  void At(std::string_view file, uint32_t line, std::string_view text = "",
          std::string_view function = "call") {
    LocationRecord record;
    record.file = builder_.Intern(file);
    record.line = line;
    record.text = builder_.Intern(text);
    record.function = builder_.Intern(function);
    location_ = static_cast<LocationId>(tables().locations.size());
    tables().locations.push_back(record);
  }

  // The recorded call gives back this tensor.
  void Output(std::string_view path, TensorId tensor) {
    tables().outputs.push_back({builder_.Intern(path), tensor});
  }

  OpId last_op() const { return last_op_; }
  OpId OpOf(TensorId tensor) { return tables().tensors[tensor].producer; }
  TraceInfo& info() { return tables().info; }

  // Ends the recording; the maker is used up. Fields of info() that the test left empty get a
  // plausible value.
  std::shared_ptr<const Trace> Finish() {
    TraceInfo& about = info();
    if (about.name.empty()) about.name = "model";
    if (about.root_kind.empty()) about.root_kind = "keras";
    if (about.root_class.empty()) about.root_class = "Functional";
    if (about.recorder.empty()) about.recorder = "hook";
    if (about.duration_ns == 0) about.duration_ns = now_ns_;
    about.num_executed = run_counter_;
    return std::move(builder_).Finish(payloads_);
  }

 private:
  struct VariableState {
    TensorId handle = kNoId;
    uint32_t version = 0;
    TensorId value = kNoId;
  };

  TensorId Source(OpKind kind, std::string_view type, std::string_view name, Dims dims,
                  const std::vector<float>& values) {
    const OpId op = builder_.AddSource(kind, type, name, now_ns_);
    const TensorId tensor = AddTensor(op, 0, dims, values, DType::kFloat32, PayloadState::kKept);
    builder_.SetOutputs(op, {tensor, 1});
    return tensor;
  }

  TensorId RunOp(std::string_view type, const std::vector<EdgeRecord>& edges, const OpSpec& spec) {
    OpRecord record;
    record.type = builder_.Intern(type);
    record.device = builder_.Intern(spec.device);
    record.attrs = tables().attrs.Intern(spec.attrs);
    record.error = builder_.Intern(spec.error);
    record.opaque_reason = builder_.Intern(spec.opaque_reason);
    record.location = location_;
    record.kind = spec.kind;
    record.run_counter = ++run_counter_;
    record.start_ns = now_ns_;
    record.duration_ns = spec.duration_ns;
    now_ns_ += spec.duration_ns;
    last_op_ = builder_.BeginOp(record);
    builder_.SetInputs(last_op_, edges);
    return AddOutputs(last_op_, spec);
  }

  TensorId AddOutputs(OpId op, const OpSpec& spec) {
    const auto first = static_cast<TensorId>(tables().tensors.size());
    const uint32_t count = spec.error.empty() ? spec.num_outputs : 0;
    for (uint32_t i = 0; i < count; ++i) {
      const bool given = i == 0 && spec.state == PayloadState::kKept;
      AddTensor(op, static_cast<uint16_t>(i), spec.dims, given ? spec.values : std::vector<float>(),
                spec.dtype, spec.state);
    }
    builder_.SetOutputs(op, {first, count});
    return count == 0 ? kNoId : first;
  }

  EdgeRecord Edge(TensorId tensor) {
    assert(tensor < tables().tensors.size());
    return {tensor, ClassOf(tensor), handles_[tensor]};
  }

  EdgeClass ClassOf(TensorId tensor) {
    const TensorRecord& record = tables().tensors[tensor];
    if (record.dtype == DType::kResource) {
      const auto is_it = [tensor](const VariableState& v) { return v.handle == tensor; };
      const bool variable = std::any_of(variables_.begin(), variables_.end(), is_it);
      return variable ? EdgeClass::kVariable : EdgeClass::kResource;
    }
    if (record.producer == kNoId) return EdgeClass::kLiteral;
    return EdgeClassOf(tables().ops[record.producer].kind);
  }

  void AddVersion(VariableId variable, TensorId value, OpId writer) {
    variables_[variable].value = value;
    tables().versions.push_back({variable, ++variables_[variable].version, value, writer});
  }

  void Access(VariableId variable, uint32_t version, bool write) {
    tables().accesses.push_back({last_op_, variable, version, write});
  }

  ModuleCallId OpenCall(std::string_view address, const CallSpec& spec) {
    const auto known = modules_.find(address);
    const ModuleId module = known == modules_.end() ? Module(address) : known->second;
    const ModuleCallId call = builder_.OpenModuleCall(module, now_ns_);
    ModuleCallRecord& record = tables().module_calls[call];
    record.inputs = Named(spec.inputs);
    record.training = builder_.Intern(spec.training);
    record.kwargs = builder_.Intern(spec.kwargs);
    record.method = builder_.Intern("__call__");
    return call;
  }

  void CloseCall(ModuleCallId call, const std::vector<TensorId>& outputs, bool failed) {
    builder_.CloseModuleCall(call, now_ns_, failed);
    SetCallOutputs(call, outputs);
    last_call_ = call;
  }

  template <typename Body>
  auto InRegion(RegionKind kind, std::string_view name, uint32_t index, OpId opened_by, Body body) {
    RegionRecord record;
    record.kind = kind;
    record.name = builder_.Intern(name);
    record.index = index;
    record.op = opened_by;
    const RegionId region = builder_.OpenRegion(record);
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      body();
      builder_.CloseRegion(region);
    } else {
      auto result = body();
      builder_.CloseRegion(region);
      return result;
    }
  }

  Span Addresses(std::string_view address, const std::vector<std::string>& aliases) {
    std::vector<std::string> all{std::string(address)};
    all.insert(all.end(), aliases.begin(), aliases.end());
    return builder_.AddStrings(all);
  }

  // "x" for one tensor; "[0]", "[1]" for several.
  Span Named(const std::vector<TensorId>& tensors) {
    std::vector<NamedTensor> named;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::string path = tensors.size() == 1 ? "x" : "[" + std::to_string(i) + "]";
      named.push_back({builder_.Intern(path), tensors[i]});
    }
    return builder_.AddNamedTensors(named);
  }

  ModuleId ParentOf(std::string_view address) {
    while (!address.empty()) {
      const size_t dot = address.rfind('.');
      address = dot == std::string_view::npos ? std::string_view() : address.substr(0, dot);
      const auto it = modules_.find(address.empty() ? "self" : address);
      if (it != modules_.end()) return it->second;
    }
    return kNoId;
  }

  std::vector<VariableState> variables_;
  std::map<std::string, ModuleId, std::less<>> modules_;
  int64_t now_ns_ = 0;
  uint32_t run_counter_ = 0;
  LocationId location_ = kNoId;
  OpId last_op_ = kNoId;
  ModuleCallId last_call_ = kNoId;
};

}  // namespace flowscope
