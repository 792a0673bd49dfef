#include "fake_runtime/saved_model_writer.h"

#include <protozero/pbf_writer.hpp>

namespace flowscope::fake {
namespace {

using protozero::pbf_writer;

std::string TensorInfo(std::string_view tensor) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_string(1, tensor.data(), tensor.size());
  writer.add_enum(2, static_cast<int32_t>(DType::kFloat32));
  pbf_writer(writer, 3).add_bool(3, true);
  return bytes;
}

void AddEntry(pbf_writer& parent, uint32_t field, std::string_view key, const std::string& value) {
  pbf_writer entry(parent, field);
  entry.add_string(1, key.data(), key.size());
  entry.add_message(2, value);
}

}  // namespace

SavedModelWriter& SavedModelWriter::Node(std::string_view name, std::string_view op,
                                         const std::vector<std::string>& inputs,
                                         const Attrs& attrs) {
  pbf_writer graph(nodes_);
  pbf_writer node(graph, 1);
  node.add_string(1, name.data(), name.size());
  node.add_string(2, op.data(), op.size());
  for (const std::string& input : inputs) node.add_string(3, input);
  for (const auto& [key, value] : attrs) AddEntry(node, 5, key, value);
  return *this;
}

SavedModelWriter& SavedModelWriter::Function(const std::string& definition) {
  pbf_writer(functions_).add_message(1, definition);
  return *this;
}

SavedModelWriter& SavedModelWriter::Signature(std::string_view key, const Tensors& inputs,
                                              const Tensors& outputs) {
  std::string bytes;
  pbf_writer writer(bytes);
  for (const auto& [name, tensor] : inputs) AddEntry(writer, 1, name, TensorInfo(tensor));
  for (const auto& [name, tensor] : outputs) AddEntry(writer, 2, name, TensorInfo(tensor));
  pbf_writer others(others_);
  AddEntry(others, 5, key, bytes);
  return *this;
}

SavedModelWriter& SavedModelWriter::Saver(std::string_view filename_tensor,
                                          std::string_view restore_op) {
  pbf_writer others(others_);
  pbf_writer saver(others, 3);
  saver.add_string(1, filename_tensor.data(), filename_tensor.size());
  saver.add_string(3, restore_op.data(), restore_op.size());
  return *this;
}

SavedModelWriter& SavedModelWriter::Object(
    const std::vector<std::pair<std::string, uint32_t>>& children, std::string_view variable) {
  pbf_writer objects(objects_);
  pbf_writer object(objects, 1);
  for (const auto& [name, child] : children) {
    pbf_writer reference(object, 1);
    reference.add_int32(1, static_cast<int32_t>(child));
    reference.add_string(2, name);
  }
  if (variable.empty()) {
    pbf_writer(object, 4).add_string(1, "_generic_user_object");
  } else {
    pbf_writer saved(object, 7);
    saved.add_enum(1, static_cast<int32_t>(DType::kFloat32));
    saved.add_bool(3, true);
    saved.add_string(6, variable.data(), variable.size());
  }
  return *this;
}

std::string SavedModelWriter::Bytes() const {
  std::string info;
  pbf_writer info_writer(info);
  info_writer.add_string(4, "serve");
  info_writer.add_string(5, "2.99.0");
  std::string graph = nodes_;
  pbf_writer(graph).add_message(2, functions_);
  std::string meta;
  pbf_writer meta_writer(meta);
  meta_writer.add_message(1, info);
  meta_writer.add_message(2, graph);
  meta_writer.add_message(7, objects_);
  meta += others_;
  std::string bytes;
  pbf_writer model(bytes);
  model.add_int64(1, 1);
  model.add_message(2, meta);
  return bytes;
}

}  // namespace flowscope::fake
