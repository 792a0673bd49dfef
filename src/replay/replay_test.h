// The fixture of the tests of replay: a trace as a recording would have made it, with the values
// that the fake kernels give.
//
// The model: y = relu(x @ kernel + bias) in module "dense"; a function that doubles y while a
// counter is below 2 and then negates it in a branch; a step counter that is added to.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_runtime/fake_runtime.h"
#include "interp/attr_value.h"
#include "replay/validate.h"
#include "trace/testing.h"

namespace flowscope::replay {

class RecordedModel {
 public:
  RecordedModel() { Record(); }

  TraceMaker m;
  TensorId x, bias, kernel_read, product, sum, y, step_literal, result;
  VariableId kernel, steps;
  OpId call = kNoId;
  ModuleCallId dense = kNoId;
  RegionId first_iteration = kNoId;
  RegionId branch = kNoId;

  std::vector<OpRecord>& ops() { return m.tables().ops; }
  OpRecord& op_of(TensorId tensor) { return ops()[m.tables().tensors[tensor].producer]; }
  EdgeRecord& edge_of(TensorId tensor, uint32_t index) {
    return m.tables().edges[op_of(tensor).inputs.first + index];
  }

  // Changes a bit of the first number that changes the number by a fourth or so.
  void FlipBit(TensorId tensor) {
    const Result<Payload> value = m.payloads().Read(tensor);
    std::string bytes(static_cast<const char*>(value->data), value->nbytes);
    bytes[2] = static_cast<char>(bytes[2] ^ 0x20);
    m.payloads().Keep(tensor, value->dtype, value->dims, std::move(bytes));
  }

  // Runs the op in the fake runtime and records it with what it gave.
  TensorId Run(std::string_view type, const std::vector<TensorId>& inputs,
               const fake::Attrs& attrs = {}) {
    std::vector<fake::Handle> given;
    std::vector<TFE_TensorHandle*> handles;
    for (TensorId input : inputs) {
      const Result<Payload> value = m.payloads().Read(input);
      given.push_back(fake::RawTensor(value->dtype, value->dims,
                                      {static_cast<const char*>(value->data), value->nbytes}));
      handles.push_back(given.back().get());
    }
    Result<std::vector<fake::Handle>> made = fake::TryRun(type, handles, attrs);
    const Result<Payload> value = tf::ReadHandle(made->front().get());
    OpSpec spec;
    spec.dims = value->dims;
    spec.dtype = value->dtype;
    spec.attrs = AttrBytes(type, attrs);
    const TensorId tensor = m.Op(type, inputs, spec);
    m.payloads().Keep(tensor, value->dtype, value->dims,
                      std::string(static_cast<const char*>(value->data), value->nbytes));
    return tensor;
  }

  // With the dtype, which a hook is told of every op.
  static std::string AttrBytes(std::string_view type, fake::Attrs attrs) {
    const bool on_variable = type.find("VariableOp") != std::string_view::npos;
    attrs.emplace_back(on_variable ? "dtype" : "T", fake::TypeAttr(DType::kFloat32));
    return interp::WriteNameAttrList(type, {attrs.begin(), attrs.end()});
  }

 private:
  void Record() {
    m.info().tensorflow_version = tf::Api().TF_Version();
    x = m.Input("x", {2, 3}, {1, -2, 3, -4, 5, -6});
    kernel = m.Variable("dense.kernel", {3, 2}, {.values = {1, 2, 3, 4, 5, 7}});
    steps = m.Variable("steps", {}, {.values = {41}});
    bias = m.Constant("bias", {2}, {0.5F, -0.25F});
    dense = RecordDense();
    step_literal = m.Literal(1);
    RecordStep();
    RecordCall();
    m.Output("output", result);
    for (OpRecord& op : ops()) {
      const std::string type(m.tables().strings.View(op.type));
      if (type.find("VariableOp") == std::string::npos) continue;
      op.attrs = m.tables().attrs.Intern(AttrBytes(type, {}));
    }
  }

  ModuleCallId RecordDense() {
    m.Call("dense", [&] {
      kernel_read = m.Read(kernel);
      product =
          Run("MatMul", {x, kernel_read},
              {{"transpose_a", fake::BoolAttr(false)}, {"transpose_b", fake::BoolAttr(false)}});
      sum = Run("AddV2", {product, bias});
      y = Run("Relu", {sum});
      return y;
    });
    return m.last_call();
  }

  void RecordStep() {
    const TensorId old = m.Read(steps);
    m.Assign(steps, Run("AddV2", {old, step_literal}));
    m.Read(steps);
  }

  void RecordCall() {
    OpSpec spec;
    spec.kind = OpKind::kCall;
    spec.dims = {2, 2};
    spec.num_outputs = 0;
    m.Op("PartitionedCall", {y}, spec);
    call = m.last_op();
    m.Function("f", [&] { RecordLoop(); }, call);
    // A call lists what it gives once more, after what ran inside.
    TensorRecord copy = m.tables().tensors[result];
    copy.producer = call;
    copy.output_index = 0;
    copy.handle = 0;
    const TensorId output = m.builder().AddTensor(copy);
    const Result<Payload> value = m.payloads().Read(result);
    m.payloads().Keep(output, value->dtype, value->dims,
                      std::string(static_cast<const char*>(value->data), value->nbytes));
    m.builder().SetOutputs(call, {output, 1});
  }

  void RecordLoop() {
    TensorId value = y;
    TensorId counter = m.Literal(0);
    const TensorId limit = m.Literal(2);
    const TensorId one = m.Literal(1);
    for (uint32_t i = 0;; ++i) {
      TensorId goes_on = kNoId;
      InRegion(RegionKind::kFunction, "while:cond", i, kNoId,
               [&] { goes_on = Run("Less", {counter, limit}); });
      if (i == 2) break;
      const RegionId iteration = InRegion(RegionKind::kIteration, "while", i, goes_on, [&] {
        value = Run("AddV2", {value, value});
        counter = Run("AddV2", {counter, one});
      });
      if (i == 0) first_iteration = iteration;
    }
    const TensorId chosen = Run("Less", {one, limit});
    branch = InRegion(RegionKind::kBranch, "cond:then_branch", 0, chosen,
                      [&] { result = Run("Neg", {value}); });
  }

  template <typename Body>
  RegionId InRegion(RegionKind kind, std::string_view name, uint32_t index, TensorId predicate,
                    Body body) {
    RegionRecord record;
    record.kind = kind;
    record.name = m.builder().Intern(name);
    record.index = index;
    record.op = call;
    record.predicate = predicate;
    const RegionId region = m.builder().OpenRegion(record);
    body();
    m.builder().CloseRegion(region);
    return region;
  }
};

}  // namespace flowscope::replay
