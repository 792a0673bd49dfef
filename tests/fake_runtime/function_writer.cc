#include "fake_runtime/function_writer.h"

#include <algorithm>
#include <utility>

#include <protozero/pbf_writer.hpp>

#include "tf/op_registry.h"

namespace flowscope::fake {
namespace {

using protozero::pbf_writer;

void AddEntry(pbf_writer& message, uint32_t field, std::string_view key, std::string_view value) {
  pbf_writer entry(message, field);
  entry.add_string(1, key.data(), key.size());
  entry.add_bytes(2, value.data(), value.size());
}

void AddArgDef(std::string& signature, uint32_t field, const std::string& name, DType type,
               const std::string& number_attr) {
  pbf_writer writer(signature);
  pbf_writer arg(writer, field);
  arg.add_string(1, name);
  arg.add_enum(3, static_cast<int32_t>(type));
  if (!number_attr.empty()) arg.add_string(5, number_attr);
}

// AttrValue.tensor with dtype and shape; `add` writes the elements.
template <typename Add>
std::string WriteTensor(DType dtype, const Dims& dims, Add add) {
  std::string bytes;
  pbf_writer attr(bytes);
  pbf_writer tensor(attr, 8);
  tensor.add_enum(1, static_cast<int32_t>(dtype));
  {
    pbf_writer shape(tensor, 2);
    for (const int64_t dim : dims) pbf_writer(shape, 2).add_int64(1, dim);
  }
  add(tensor);
  return bytes;
}

bool TakesType(const std::string& op) {
  const tf::OpDef* definition = tf::FindOpDef(op);
  return definition != nullptr &&
         std::ranges::any_of(definition->attrs, [](const tf::OpAttr& attr) {
           return attr.name == "T" && attr.type == "type";
         });
}

}  // namespace

std::string TypesAttr(const std::vector<DType>& types) {
  std::vector<int32_t> numbers;
  for (const DType type : types) numbers.push_back(static_cast<int32_t>(type));
  std::string bytes;
  pbf_writer attr(bytes);
  pbf_writer(attr, 1).add_packed_enum(6, numbers.begin(), numbers.end());
  return bytes;
}

std::string FunctionsAttr(const std::vector<std::string>& names) {
  std::string bytes;
  pbf_writer attr(bytes);
  pbf_writer list(attr, 1);
  for (const std::string& name : names) pbf_writer(list, 9).add_string(1, name);
  return bytes;
}

std::string PlaceholderAttr(std::string_view name) {
  std::string bytes;
  pbf_writer(bytes).add_string(9, name.data(), name.size());
  return bytes;
}

std::string BoundFuncAttr(std::string_view name, const Attrs& bound) {
  std::string bytes;
  pbf_writer attr(bytes);
  pbf_writer function(attr, 10);
  function.add_string(1, name.data(), name.size());
  for (const auto& [key, value] : bound) AddEntry(function, 2, key, value);
  return bytes;
}

std::string TensorAttr(const Dims& dims, const std::vector<float>& values) {
  return WriteTensor(DType::kFloat32, dims, [&](pbf_writer& tensor) {
    tensor.add_packed_float(5, values.begin(), values.end());
  });
}

std::string IntTensorAttr(const Dims& dims, const std::vector<int32_t>& values) {
  return WriteTensor(DType::kInt32, dims, [&](pbf_writer& tensor) {
    tensor.add_packed_int32(7, values.begin(), values.end());
  });
}

FunctionWriter::FunctionWriter(std::string name) : name_(std::move(name)) {}

FunctionWriter& FunctionWriter::Arg(const std::string& name, DType type) {
  AddArgDef(signature_, 2, name, type, "");
  return *this;
}

FunctionWriter& FunctionWriter::ListArg(const std::string& name, const std::string& number_attr) {
  AddArgDef(signature_, 2, name, DType::kFloat32, number_attr);
  pbf_writer writer(signature_);
  pbf_writer attr(writer, 4);
  attr.add_string(1, number_attr);
  attr.add_string(2, "int");
  return *this;
}

FunctionWriter& FunctionWriter::Returns(const std::string& name, const std::string& reference,
                                        DType type) {
  AddArgDef(signature_, 3, name, type, "");
  pbf_writer writer(body_);
  AddEntry(writer, 4, name, reference);
  return *this;
}

FunctionWriter& FunctionWriter::ControlReturns(const std::string& node) {
  pbf_writer writer(body_);
  AddEntry(writer, 6, node, node);
  return *this;
}

FunctionWriter& FunctionWriter::Stateful() {
  pbf_writer(signature_).add_bool(17, true);
  return *this;
}

FunctionWriter& FunctionWriter::Attr(const std::string& name, const std::string& value) {
  pbf_writer writer(body_);
  AddEntry(writer, 5, name, value);
  return *this;
}

FunctionWriter& FunctionWriter::Node(const std::string& name, const std::string& op,
                                     const Inputs& inputs, const Attrs& attrs,
                                     const std::string& device) {
  pbf_writer writer(body_);
  pbf_writer node(writer, 3);
  node.add_string(1, name);
  node.add_string(2, op);
  for (const std::string& input : inputs) node.add_string(3, input);
  if (!device.empty()) node.add_string(4, device);
  for (const auto& [key, value] : attrs) AddEntry(node, 5, key, value);
  const auto is_type = [](const auto& attr) { return attr.first == "T"; };
  if (TakesType(op) && std::ranges::none_of(attrs, is_type)) {
    AddEntry(node, 5, "T", TypeAttr(DType::kFloat32));
  }
  return *this;
}

FunctionWriter& FunctionWriter::Const(const std::string& name, float value) {
  return Node(name, "Const", {},
              {{"dtype", TypeAttr(DType::kFloat32)}, {"value", TensorAttr({}, {value})}});
}

FunctionWriter& FunctionWriter::IntConst(const std::string& name, int32_t value) {
  return Node(name, "Const", {},
              {{"dtype", TypeAttr(DType::kInt32)}, {"value", IntTensorAttr({}, {value})}});
}

std::string FunctionWriter::Bytes() const {
  std::string signature;
  pbf_writer(signature).add_string(1, name_);
  std::string bytes;
  pbf_writer(bytes).add_message(1, signature + signature_);
  return bytes + body_;
}

void FunctionWriter::Add() const { AddFunction(name_, {}, Bytes()); }

}  // namespace flowscope::fake
