// Writes the FunctionDef of a function and gives it to the fake's context. Needs a live Runtime.
//
//   FunctionWriter("double").Arg("x").Node("sum", "AddV2", {"x", "x"}).Returns("y",
//   "sum:z:0").Add();
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fake_runtime/fake_runtime.h"

namespace flowscope::fake {

// More serialized AttrValues.
std::string TypesAttr(const std::vector<DType>& types);
std::string FunctionsAttr(const std::vector<std::string>& names);
std::string PlaceholderAttr(std::string_view name);
// A func attribute that binds attributes of the function.
std::string BoundFuncAttr(std::string_view name, const Attrs& bound);
std::string TensorAttr(const Dims& dims, const std::vector<float>& values);
std::string IntTensorAttr(const Dims& dims, const std::vector<int32_t>& values);

class FunctionWriter {
 public:
  using Inputs = std::vector<std::string>;

  explicit FunctionWriter(std::string name);

  FunctionWriter& Arg(const std::string& name, DType type = DType::kFloat32);
  // `number` tensors, as an attribute of the function says.
  FunctionWriter& ListArg(const std::string& name, const std::string& number_attr);
  FunctionWriter& Returns(const std::string& name, const std::string& reference,
                          DType type = DType::kFloat32);
  FunctionWriter& ControlReturns(const std::string& node);
  FunctionWriter& Stateful();
  FunctionWriter& Attr(const std::string& name, const std::string& value);
  // Input "^node" is a control edge. A type "T" that the op takes is float32 where it is not given.
  FunctionWriter& Node(const std::string& name, const std::string& op, const Inputs& inputs = {},
                       const Attrs& attrs = {}, const std::string& device = {});
  FunctionWriter& Const(const std::string& name, float value);
  FunctionWriter& IntConst(const std::string& name, int32_t value);

  std::string Bytes() const;
  void Add() const;

 private:
  std::string name_;
  std::string signature_;  // without its name
  std::string body_;       // the other fields of the FunctionDef
};

}  // namespace flowscope::fake
