#include "savedmodel/variable_copies.h"

#include <unordered_map>

namespace flowscope::savedmodel {
namespace {

tf::HandlePtr Read(TFE_Context* context, TFE_TensorHandle* variable, std::string_view dtype,
                   TF_Status* status) {
  const tf::OpPtr op(tf::Api().TFE_NewOp(context, "ReadVariableOp", status));
  if (op == nullptr) return nullptr;
  tf::Api().TFE_OpAddInput(op.get(), variable, status);
  if (tf::Api().TF_GetCode(status) != 0) return nullptr;
  tf::Api().TFE_OpSetAttrValueProto(op.get(), "dtype", dtype.data(), dtype.size(), status);
  TFE_TensorHandle* value = nullptr;
  int count = 1;
  if (tf::Api().TF_GetCode(status) == 0) tf::Api().TFE_Execute(op.get(), &value, &count, status);
  return tf::HandlePtr(value);
}

void Assign(TFE_Context* context, TFE_TensorHandle* variable, TFE_TensorHandle* value,
            std::string_view dtype, TF_Status* status) {
  const tf::OpPtr op(tf::Api().TFE_NewOp(context, "AssignVariableOp", status));
  if (op == nullptr) return;
  tf::Api().TFE_OpAddInput(op.get(), variable, status);
  if (tf::Api().TF_GetCode(status) != 0) return;
  tf::Api().TFE_OpAddInput(op.get(), value, status);
  if (tf::Api().TF_GetCode(status) != 0) return;
  tf::Api().TFE_OpSetAttrValueProto(op.get(), "dtype", dtype.data(), dtype.size(), status);
  int count = 0;
  TFE_TensorHandle* none = nullptr;
  if (tf::Api().TF_GetCode(status) == 0) tf::Api().TFE_Execute(op.get(), &none, &count, status);
}

}  // namespace

std::vector<VariableCopy> VariableCopies(const MetaGraph& graph) {
  std::unordered_map<std::string_view, const interp::NodeDef*> nodes;
  for (const interp::NodeDef& node : graph.nodes) nodes.emplace(node.name, &node);
  const auto find = [&nodes](std::string_view reference, std::string_view op) {
    const auto found = nodes.find(NodeOf(reference));
    return found != nodes.end() && found->second->op == op ? found->second : nullptr;
  };
  std::vector<VariableCopy> copies;
  for (const interp::NodeDef& node : graph.nodes) {
    if (node.op != "AssignVariableOp" || node.inputs.size() < 2) continue;
    const interp::NodeDef* copy = find(node.inputs[0], "VarHandleOp");
    const interp::NodeDef* read = find(node.inputs[1], "ReadVariableOp");
    if (copy == nullptr || read == nullptr || read->inputs.empty()) continue;
    const interp::NodeDef* original = find(read->inputs[0], "VarHandleOp");
    if (original != nullptr && original != copy) copies.emplace_back(copy->name, original->name);
  }
  return copies;
}

Status CopyVariable(TFE_Context* context, TFE_TensorHandle* from, TFE_TensorHandle* to,
                    std::string_view dtype) {
  const tf::StatusPtr status = tf::NewStatus();
  const tf::HandlePtr value = Read(context, from, dtype, status.get());
  if (value != nullptr && tf::Api().TF_GetCode(status.get()) == 0) {
    Assign(context, to, value.get(), dtype, status.get());
  }
  return tf::FromTf(status.get(), "giving a variable the value of its copy");
}

}  // namespace flowscope::savedmodel
