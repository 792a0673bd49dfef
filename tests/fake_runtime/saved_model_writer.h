// Writes the bytes of a saved_model.pb.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fake_runtime/fake_runtime.h"

namespace flowscope::fake {

class SavedModelWriter {
 public:
  SavedModelWriter& Node(std::string_view name, std::string_view op,
                         const std::vector<std::string>& inputs = {}, const Attrs& attrs = {});
  SavedModelWriter& Function(const std::string& definition);
  // Inputs and outputs: name and tensor of the graph, of float32 and of any shape.
  using Tensors = std::vector<std::pair<std::string, std::string>>;
  SavedModelWriter& Signature(std::string_view key, const Tensors& inputs, const Tensors& outputs);
  SavedModelWriter& Saver(std::string_view filename_tensor, std::string_view restore_op);
  // An object with children; `variable` is its name where it is one.
  SavedModelWriter& Object(const std::vector<std::pair<std::string, uint32_t>>& children,
                           std::string_view variable = {});

  std::string Bytes() const;

 private:
  std::string nodes_;      // fields of the GraphDef
  std::string functions_;  // fields of its library
  std::string others_;     // fields of the MetaGraphDef
  std::string objects_;    // fields of the object graph
};

}  // namespace flowscope::fake
