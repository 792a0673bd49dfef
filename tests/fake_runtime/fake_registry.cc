// The fake op registry, written as TensorFlow's REGISTER_OP is: "x: T", "values: N * T",
// "args: Tin" with "Tin: list(type)", "ref: Ref(T)", "transpose_a: bool = false".

#include <algorithm>
#include <charconv>
#include <string_view>

#include <protozero/pbf_writer.hpp>

#include "fake_runtime/fake_objects.h"

namespace flowscope::fake {
namespace {

struct OpSpec {
  std::string_view name;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> attrs;
  bool is_stateful = false;
  bool is_communication = false;
};

// Ops of function bodies, which the interpreter runs or refuses: most of them have no kernel here.
const std::vector<OpSpec>& FunctionSpecs() {
  static const std::vector<OpSpec> specs = {
      {"Const", {}, {"output: dtype"}, {"value: tensor", "dtype: type"}},
      {"NoOp", {}, {}, {}},
      {"_Arg", {}, {"output: T"}, {"T: type", "index: int"}, true},
      {"_Retval", {"input: T"}, {}, {"T: type", "index: int"}, true},
      {"PartitionedCall",
       {"args: Tin"},
       {"output: Tout"},
       {"Tin: list(type)", "Tout: list(type)", "f: func", "config_proto: string = "}},
      {"StatefulPartitionedCall",
       {"args: Tin"},
       {"output: Tout"},
       {"Tin: list(type)", "Tout: list(type)", "f: func", "config_proto: string = "},
       true,
       true},
      {"While",
       {"input: T"},
       {"output: T"},
       {"T: list(type)", "cond: func", "body: func", "parallel_iterations: int = 10"},
       true},
      {"StatelessWhile",
       {"input: T"},
       {"output: T"},
       {"T: list(type)", "cond: func", "body: func", "parallel_iterations: int = 10"}},
      {"If",
       {"cond: Tcond", "input: Tin"},
       {"output: Tout"},
       {"Tcond: type", "Tin: list(type)", "Tout: list(type)", "then_branch: func",
        "else_branch: func"},
       true},
      {"StatelessIf",
       {"cond: Tcond", "input: Tin"},
       {"output: Tout"},
       {"Tcond: type", "Tin: list(type)", "Tout: list(type)", "then_branch: func",
        "else_branch: func"}},
      {"Case",
       {"branch_index: int32", "input: Tin"},
       {"output: Tout"},
       {"Tin: list(type)", "Tout: list(type)", "branches: list(func)"},
       true},
      {"StatelessCase",
       {"branch_index: int32", "input: Tin"},
       {"output: Tout"},
       {"Tin: list(type)", "Tout: list(type)", "branches: list(func)"}},
      {"MapDefun",
       {"arguments: Targuments"},
       {"output: output_types"},
       {"Targuments: list(type)", "output_types: list(type)", "f: func"}},
      {"MapDataset", {"input: variant"}, {"handle: variant"}, {"f: func"}},
      {"Switch", {"data: T", "pred: bool"}, {"output_false: T", "output_true: T"}, {"T: type"}},
      {"Merge", {"inputs: N * T"}, {"output: T", "value_index: int32"}, {"T: type", "N: int"}},
      {"Assign", {"ref: Ref(T)", "value: T"}, {"output_ref: Ref(T)"}, {"T: type"}},
      {"CollectiveReduce", {"input: T"}, {"data: T"}, {"T: type", "group_size: int"}, true, true},
      {"CollectiveReduceV2",
       {"input: T", "group_size: int32"},
       {"data: T"},
       {"T: type"},
       true,
       true},
      {"FIFOQueueV2", {}, {"handle: resource"}, {"shared_name: string = "}, true},
      {"ImageSummary", {"tag: string"}, {"summary: string"}, {"bad_color: tensor"}},
      {"AccumulateNV2", {"inputs: N * T"}, {"sum: T"}, {"N: int", "T: type"}},
      {"XlaDot", {"lhs: T", "rhs: T"}, {"output: T"}, {"T: type"}},
      {"_Send", {"tensor: T"}, {}, {"T: type", "tensor_name: string"}, true},
      {"StatelessRandomUniform",
       {"shape: T", "seed: Tseed"},
       {"output: dtype"},
       {"dtype: type", "T: type", "Tseed: type"}},
      {"CudnnRNN",
       {"input: T"},
       {"output: T"},
       {"T: type", "dropout: float = 0", "seed: int = 0", "seed2: int = 0"},
       true},
      {"FractionalMaxPool", {"value: T"}, {"output: T"}, {"T: type", "seed: int = 0"}},
  };
  return specs;
}

const std::vector<OpSpec>& Specs() {
  static const std::vector<OpSpec> specs = {
      {"Add", {"x: T", "y: T"}, {"z: T"}, {"T: type"}},
      {"AddV2", {"x: T", "y: T"}, {"z: T"}, {"T: type"}},
      {"Sub", {"x: T", "y: T"}, {"z: T"}, {"T: type"}},
      {"Mul", {"x: T", "y: T"}, {"z: T"}, {"T: type"}},
      {"MatMul",
       {"a: T", "b: T"},
       {"product: T"},
       {"transpose_a: bool = false", "transpose_b: bool = false", "T: type"}},
      {"Relu", {"features: T"}, {"activations: T"}, {"T: type"}},
      {"Log", {"x: T"}, {"y: T"}, {"T: type"}},
      {"Neg", {"x: T"}, {"y: T"}, {"T: type"}},
      {"Less", {"x: T", "y: T"}, {"z: bool"}, {"T: type"}},
      {"Identity", {"input: T"}, {"output: T"}, {"T: type"}},
      {"_EagerConst", {"input: T"}, {"output: T"}, {"T: type"}},
      {"Fill", {"dims: int32", "value: T"}, {"output: T"}, {"T: type"}},
      {"Pack", {"values: N * T"}, {"output: T"}, {"N: int", "T: type", "axis: int = 0"}},
      {"Unpack", {"value: T"}, {"output: num * T"}, {"num: int", "T: type", "axis: int = 0"}},
      {"RandomUniform",
       {"shape: T"},
       {"output: dtype"},
       {"seed: int = 0", "seed2: int = 0", "dtype: type", "T: type"},
       true},
      {"VarHandleOp",
       {},
       {"resource: resource"},
       {"container: string = ", "shared_name: string = ", "dtype: type", "shape: shape"},
       true},
      {"ReadVariableOp", {"resource: resource"}, {"value: dtype"}, {"dtype: type"}, true},
      {"VarIsInitializedOp", {"resource: resource"}, {"is_initialized: bool"}, {}, true},
      {"AssignVariableOp", {"resource: resource", "value: dtype"}, {}, {"dtype: type"}, true},
      {"AssignAddVariableOp", {"resource: resource", "value: dtype"}, {}, {"dtype: type"}, true},
      {"Fail", {"x: T"}, {"y: T"}, {"message: string = this op always fails", "T: type"}},
  };
  return specs;
}

// Splits at the first `separator`; the second part is empty where there is none.
std::pair<std::string_view, std::string_view> Split(std::string_view text,
                                                    std::string_view separator) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + separator.size())};
}

DType TypeByName(std::string_view name) {
  for (int number = 1; number <= static_cast<int>(kLastDType); ++number) {
    if (DTypeName(static_cast<DType>(number)) == name) return static_cast<DType>(number);
  }
  return DType::kInvalid;
}

bool IsTypeList(const OpSpec& op, std::string_view attr) {
  return std::ranges::any_of(op.attrs, [attr](std::string_view spec) {
    const auto [name, type] = Split(spec, ": ");
    return name == attr && type == "list(type)";
  });
}

void AddArg(protozero::pbf_writer& op, uint32_t field, std::string_view spec, const OpSpec& owner) {
  protozero::pbf_writer arg(op, field);
  auto [name, type] = Split(spec, ": ");
  arg.add_string(1, std::string(name));
  if (type.starts_with("Ref(")) {
    arg.add_bool(16, true);
    type = type.substr(4, type.size() - 5);
  }
  if (type.find(" * ") != std::string_view::npos) {
    const auto [number, element] = Split(type, " * ");
    arg.add_string(5, std::string(number));
    type = element;
  }
  if (const DType dtype = TypeByName(type); dtype != DType::kInvalid) {
    arg.add_enum(3, static_cast<int32_t>(dtype));
  } else if (IsTypeList(owner, type)) {
    arg.add_string(6, std::string(type));
  } else {
    arg.add_string(4, std::string(type));
  }
}

std::string DefaultValue(std::string_view type, std::string_view text) {
  if (type == "bool") return BoolAttr(text == "true");
  if (type == "string") return StringAttr(text);
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return type == "float" ? FloatAttr(static_cast<float>(number)) : IntAttr(number);
}

void AddAttr(protozero::pbf_writer& op, std::string_view spec) {
  protozero::pbf_writer attr(op, 4);
  const auto [name, rest] = Split(spec, ": ");
  const auto [type, text] = Split(rest, " = ");
  attr.add_string(1, std::string(name));
  attr.add_string(2, std::string(type));
  if (rest.size() > type.size()) attr.add_string(3, DefaultValue(type, text));
}

void AddOp(protozero::pbf_writer& list, const OpSpec& spec) {
  protozero::pbf_writer op(list, 1);
  op.add_string(1, std::string(spec.name));
  for (const std::string_view input : spec.inputs) AddArg(op, 2, input, spec);
  for (const std::string_view output : spec.outputs) AddArg(op, 3, output, spec);
  for (const std::string_view attr : spec.attrs) AddAttr(op, attr);
  if (spec.is_stateful) op.add_bool(17, true);
  if (spec.is_communication) op.add_bool(21, true);
}

std::string Serialize() {
  std::string bytes;
  protozero::pbf_writer list(bytes);
  for (const OpSpec& spec : Specs()) AddOp(list, spec);
  for (const OpSpec& spec : FunctionSpecs()) AddOp(list, spec);
  return bytes;
}

}  // namespace

const std::string& OpListBytes() {
  static const std::string bytes = Serialize();
  return bytes;
}

// One kernel for each op: of XLA's compiler where the op is XLA's, else of the CPU.
std::string KernelListBytes(std::string_view op) {
  std::string kernel;
  protozero::pbf_writer writer(kernel);
  writer.add_string(1, std::string(op));
  writer.add_string(2, op.starts_with("Xla") ? "XLA_CPU_JIT" : "CPU");
  std::string list;
  protozero::pbf_writer(list).add_message(1, kernel);
  return list;
}

}  // namespace flowscope::fake
