#include "interp/op_function.h"

#include <protozero/pbf_writer.hpp>

#include "interp/function_def.h"
#include "interp/op_facts.h"

namespace flowscope::interp {
namespace {

// As tf.while_loop, tf.cond and tf.switch_case name their nodes.
std::string_view NodeName(NodeKind kind) {
  switch (kind) {
    case NodeKind::kWhile:
      return "while";
    case NodeKind::kIf:
      return "cond";
    default:
      return "switch_case";
  }
}

std::string InputName(size_t index) { return "input_" + std::to_string(index); }

void AddText(protozero::pbf_writer& writer, protozero::pbf_tag_type tag, std::string_view text) {
  writer.add_bytes(tag, text.data(), text.size());
}

// A map entry: key = 1, value = 2.
void AddEntry(protozero::pbf_writer& writer, protozero::pbf_tag_type tag, std::string_view key,
              std::string_view value) {
  protozero::pbf_writer entry(writer, tag);
  AddText(entry, 1, key);
  AddText(entry, 2, value);
}

}  // namespace

bool IsControlFlowOp(std::string_view op) {
  const NodeKind kind = KindOf(op);
  return kind == NodeKind::kWhile || kind == NodeKind::kIf || kind == NodeKind::kCase;
}

// FunctionDef: signature = 1 { name = 1, input_arg = 2 { name = 1 }, output_arg = 3 }, node_def = 3
// { name = 1, op = 2, input = 3, attr = 5 }, ret = 4.
Result<std::string> FunctionOfOp(std::string_view op, std::string_view attrs, size_t num_inputs) {
  const Result<FunctionRef> ref = ParseFunctionRef(attrs);
  if (!ref.ok()) return ref.status();
  const std::string_view node_name = NodeName(KindOf(op));
  std::string bytes;
  protozero::pbf_writer function(bytes);
  {
    protozero::pbf_writer signature(function, 1);
    AddText(signature, 1, op);
    for (size_t i = 0; i < num_inputs; ++i) {
      protozero::pbf_writer argument(signature, 2);
      AddText(argument, 1, InputName(i));
    }
    protozero::pbf_writer output(signature, 3);
    AddText(output, 1, "output");
  }
  {
    protozero::pbf_writer node(function, 3);
    AddText(node, 1, node_name);
    AddText(node, 2, op);
    for (size_t i = 0; i < num_inputs; ++i) AddText(node, 3, InputName(i));
    for (const auto& [name, value] : ref->attrs) AddEntry(node, 5, name, value);
  }
  // All of them, however many.
  AddEntry(function, 4, "output", std::string(node_name) + ":output");
  return bytes;
}

}  // namespace flowscope::interp
