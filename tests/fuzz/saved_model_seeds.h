// Well-formed SavedModels for the fuzz targets that read one.
#pragma once

#include <string>
#include <vector>

#include "fake_runtime/function_writer.h"
#include "fake_runtime/saved_model_writer.h"

namespace flowscope::fuzz {

// A main graph with a variable, a function that restores it, a function that is called with a loop
// and a branch in it, and objects. Needs a running fake runtime.
inline std::vector<std::string> SavedModelSeeds() {
  using namespace fake;  // what its writer writes with
  const std::string types = TypesAttr({DType::kFloat32});
  const Attrs call = {{"f", FuncAttr("restore_1")},
                      {"Tin", TypesAttr({DType::kString, DType::kResource})},
                      {"Tout", TypesAttr({DType::kString})}};
  return {SavedModelWriter()
              .Node("x", "Placeholder", {}, {{"dtype", TypeAttr(DType::kFloat32)}})
              .Node("w", "VarHandleOp", {}, {{"dtype", TypeAttr(DType::kFloat32)}})
              .Node("read", "ReadVariableOp", {"w"}, {{"dtype", TypeAttr(DType::kFloat32)}})
              .Node("y", "AddV2", {"x", "read", "^w"}, {{"T", TypeAttr(DType::kFloat32)}})
              .Node("file", "Placeholder", {}, {{"dtype", TypeAttr(DType::kString)}})
              .Node("restore", "StatefulPartitionedCall", {"file", "w"}, call)
              .Function(FunctionWriter("restore_1")
                            .Arg("file", DType::kString)
                            .Arg("w", DType::kResource)
                            .Const("keys", 1)
                            .Node("assign", "AssignVariableOp", {"w", "keys:output:0"})
                            .Returns("out", "file")
                            .Bytes())
              .Node("call", "PartitionedCall", {"x"},
                    {{"f", FuncAttr("serve_2")}, {"Tin", types}, {"Tout", types}})
              .Function(
                  FunctionWriter("serve_2")
                      .Arg("x")
                      .Node("model/dense/while", "While", {"x"},
                            {{"T", types}, {"cond", FuncAttr("id_3")}, {"body", FuncAttr("id_3")}})
                      .Node("model/dense/neg", "Neg", {"model/dense/while:output:0"})
                      .Returns("out", "model/dense/neg:y:0")
                      .Bytes())
              .Function(FunctionWriter("id_3")
                            .Arg("x")
                            .Node("neg", "Neg", {"x"})
                            .Returns("r", "neg:y:0")
                            .Bytes())
              .Signature("called", {{"x", "x:0"}}, {{"z", "call:0"}})
              .Signature("serving_default", {{"x", "x:0"}}, {{"y", "y:0"}})
              .Saver("file:0", "restore")
              .Object({{"layer", 1}})
              .Object({{"w", 2}, {"up", 0}})
              .Object({}, "layer/w")
              .Bytes()};
}

}  // namespace flowscope::fuzz
