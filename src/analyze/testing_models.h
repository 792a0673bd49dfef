// For tests: a small model as a recorder would have seen it.
#pragma once

#include <memory>
#include <string>

#include "trace/testing.h"

namespace flowscope {

// self: embed, a Mul of its own, three like blocks of attn and ffn, a MyTopK of its own; a module
// that holds parameters and is never called.
struct SmallModel {
  TraceMaker m;
  VariableId kernel = m.Variable("embed.table", {10, 4});

  SmallModel() {
    m.info().name = "tiny";
    m.info().root_class = "Tiny";
    m.info().tensorflow_version = "2.21.0";
    m.info().keras_version = "3.15.1";
    m.info().duration_ns = 1500000;
    m.Module("self", {.class_name = "Tiny", .num_params = 1000, .num_trainable_params = 900});
    m.Module("embed", {.class_name = "Embedding", .variables = {kernel}, .num_params = 40});
    for (int i = 0; i < 3; ++i) AddBlock("blocks." + std::to_string(i));
    m.Module("spare", {.class_name = "Dense", .num_params = 60});
    m.Module("input_layer", {.class_name = "InputLayer"});
    const TensorId ids = m.Input("ids", {2, 4});
    m.At("/project/tiny/model.py", 12, "h = self.embed(ids)");
    const TensorId out = m.Call("self", {.inputs = {ids}, .training = "False"}, [&] {
      TensorId h = m.Call(
          "embed", [&] { return m.Op("GatherV2", {m.Read(kernel), ids}, {.dims = {2, 4}}); });
      h = m.Op("Mul", {h, m.Literal(8)}, {.dims = {2, 4}});
      for (int i = 0; i < 3; ++i) h = CallBlock("blocks." + std::to_string(i), h);
      return m.Op("MyTopK", {h, m.Literal(3)}, {.dims = {2, 3}, .num_outputs = 2});
    });
    m.Output("y", out);
  }

 private:
  void AddBlock(const std::string& address) {
    m.Module(address, {.class_name = "Block", .num_params = 300, .num_trainable_params = 300});
    m.Module(address + ".attn", {.class_name = "Attention", .num_params = 100});
    m.Module(address + ".ffn", {.class_name = "Dense", .num_params = 200});
  }

  TensorId CallBlock(const std::string& address, TensorId h) {
    return m.Call(address, [&] {
      const TensorId a = m.Call(address + ".attn", [&] { return m.Op("Softmax", {h}); });
      const TensorId sum = m.Op("AddV2", {a, h});
      return m.Call(address + ".ffn", [&] { return m.Op("Relu", {sum}); });
    });
  }
};

}  // namespace flowscope
