// Ops, contexts and functions of the fake C API.

#include <algorithm>
#include <optional>
#include <utility>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "fake_runtime/fake_objects.h"
#include "tf/op_registry.h"

namespace flowscope::fake {
namespace {

// TensorFlow's codes.
constexpr int kOk = 0;
constexpr int kInvalidArgument = 3;
constexpr int kNotFound = 5;
constexpr int kUnimplemented = 12;

std::optional<FunctionEntry> FindFunction(TFE_Context* context, const std::string& name) {
  std::lock_guard lock(context->mutex);
  const auto found = context->functions.find(name);
  if (found == context->functions.end()) return {};
  return found->second;
}

TFE_Op* NewOp(TFE_Context* context, const char* type, TF_Status* status) {
  if (FindKernel(type) == nullptr && !FindFunction(context, type)) {
    Set(status, kNotFound, std::string("Op type not registered '") + type + "'");
    return nullptr;
  }
  Set(status, kOk, "");
  auto* op = new TFE_Op;
  op->context = context;
  op->type = type;
  return op;
}

void DeleteOp(TFE_Op* op) {
  if (op == nullptr) return;
  for (TFE_TensorHandle* input : op->inputs) FakeApi().TFE_DeleteTensorHandle(input);
  delete op;
}

// TensorFlow takes a type attribute from the input that has it.
void InferType(TFE_Op* op, const TFE_TensorHandle* input) {
  const tf::OpDef* definition = tf::FindOpDef(op->type);
  const size_t index = op->inputs.size();
  if (definition == nullptr || index >= definition->inputs.size()) return;
  const std::string& attr = definition->inputs[index].type_attr;
  if (!attr.empty()) op->attrs.try_emplace(attr, TypeAttr(input->value.dtype));
}

void AddInput(TFE_Op* op, TFE_TensorHandle* input, TF_Status* status) {
  InferType(op, input);
  op->inputs.push_back(FakeApi().TFE_TensorHandleCopySharingTensor(input, status));
}

TFE_TensorHandle* GetInput(const TFE_Op* op, int index, TF_Status* status) {
  const bool exists = index >= 0 && static_cast<size_t>(index) < op->inputs.size();
  Set(status, exists ? kOk : kInvalidArgument, exists ? "" : "no such input");
  return exists ? op->inputs[static_cast<size_t>(index)] : nullptr;
}

void SetAttr(const TFE_Op* op, const char* name, const void* proto, size_t length,
             TF_Status* status) {
  Set(status, kOk, "");
  const_cast<TFE_Op*>(op)->attrs[name] = std::string(static_cast<const char*>(proto), length);
}

void SetBuffer(TF_Buffer* buffer, const std::string& bytes) {
  TF_Buffer* filled = FakeApi().TF_NewBufferFromString(bytes.data(), bytes.size());
  std::swap(*buffer, *filled);
  FakeApi().TF_DeleteBuffer(filled);
}

void SerializeAttrs(const TFE_OpAttrs* attrs, TF_Buffer* buffer, TF_Status* status) {
  const auto* op = reinterpret_cast<const TFE_Op*>(attrs);
  std::string bytes;
  protozero::pbf_writer list(bytes);
  list.add_string(1, op->type);
  for (const auto& [name, value] : op->attrs) {
    protozero::pbf_writer entry(list, 2);
    entry.add_string(1, name);
    entry.add_string(2, value);
  }
  SetBuffer(buffer, bytes);
  Set(status, kOk, "");
}

using Outputs = std::vector<TFE_TensorHandle*>;

Result<Outputs> RunKernel(const TFE_Op& op, const Kernel& kernel) {
  std::vector<TensorValue> inputs;
  for (const TFE_TensorHandle* input : op.inputs) {
    if (!input->error.empty()) return InvalidArgument(input->error);
    inputs.push_back(input->value);
  }
  Result<std::vector<TensorValue>> values = kernel(inputs, op.attrs);
  if (!values.ok()) return values.status();
  const std::string device = op.device.empty() ? DefaultDevice() : op.device;
  Outputs outputs;
  for (TensorValue& value : *values) outputs.push_back(NewHandle(std::move(value), device));
  return outputs;
}

Result<Outputs> RunFunction(const TFE_Op& op, const Function& body) {
  Result<std::vector<Handle>> results = body(op.inputs);
  if (!results.ok()) return results.status();
  Outputs outputs;
  for (Handle& output : *results) outputs.push_back(output.release());
  return outputs;
}

Result<Outputs> RunAny(const TFE_Op& op) {
  if (const Kernel* kernel = FindKernel(op.type)) return RunKernel(op, *kernel);
  const std::optional<FunctionEntry> function = FindFunction(op.context, op.type);
  if (!function) return NotFound("function " + op.type + " is not in the context");
  if (!function->body) return Unsupported("function " + op.type + " has no body here");
  return RunFunction(op, function->body);
}

int CodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return kOk;
    case StatusCode::kNotFound:
      return kNotFound;
    case StatusCode::kUnsupported:
      return kUnimplemented;
    default:
      return kInvalidArgument;
  }
}

// TensorFlow keeps attributes with '_' to itself.
const std::string* FindPrivateAttr(const TFE_Op& op) {
  for (const auto& [name, value] : op.attrs) {
    if (name.starts_with('_')) return &name;
  }
  return nullptr;
}

void Execute(TFE_Op* op, TFE_TensorHandle** results, int* count, TF_Status* status) {
  if (const std::string* name = FindPrivateAttr(*op)) {
    const std::string message =
        "EagerOperation: " + op->type + " has a private attr '" + *name + "'.";
    return Set(status, kUnimplemented, message);
  }
  Result<Outputs> outputs = RunAny(*op);
  const Status outcome = outputs.status();
  Set(status, CodeOf(outcome), outcome.message());
  if (!outcome.ok()) return;
  if (static_cast<size_t>(*count) < outputs->size()) {
    for (TFE_TensorHandle* output : *outputs) FakeApi().TFE_DeleteTensorHandle(output);
    Set(status, kInvalidArgument, "Expecting " + std::to_string(outputs->size()) + " outputs");
    return;
  }
  std::ranges::copy(*outputs, results);
  *count = static_cast<int>(outputs->size());
}

void GetFunctionDef(TFE_Context* context, const char* name, TF_Buffer* buffer, TF_Status* status) {
  const std::optional<FunctionEntry> function = FindFunction(context, name);
  if (!function) return Set(status, kNotFound, std::string("Unable to find ") + name);
  SetBuffer(buffer, function->definition);
  Set(status, kOk, "");
}

// FunctionDef.signature.name
std::string FunctionName(const std::string& definition) {
  protozero::pbf_reader function(definition);
  if (!function.next(1)) return "";
  protozero::pbf_reader signature = function.get_message();
  return signature.next(1) ? signature.get_string() : "";
}

void AddFunctionDef(TFE_Context* context, const char* bytes, size_t length, TF_Status* status) {
  const std::string definition(bytes, length);
  std::lock_guard lock(context->mutex);
  context->functions[FunctionName(definition)].definition = definition;
  Set(status, kOk, "");
}

void FillOps(tf::CApi& api) {
  api.TFE_NewOp = NewOp;
  api.TFE_DeleteOp = DeleteOp;
  api.TFE_OpAddInput = AddInput;
  api.TFE_OpSetAttrValueProto = SetAttr;
  api.TFE_OpSetAttrType = [](TFE_Op* op, const char* name, int dtype) {
    op->attrs[name] = TypeAttr(static_cast<DType>(dtype));
  };
  api.TFE_OpGetName = [](const TFE_Op* op, TF_Status*) { return op->type.c_str(); };
  api.TFE_OpGetContext = [](const TFE_Op* op, TF_Status*) { return op->context; };
  api.TFE_OpGetDevice = [](const TFE_Op* op, TF_Status*) { return op->device.c_str(); };
  api.TFE_OpSetDevice = [](TFE_Op* op, const char* device, TF_Status* status) {
    op->device = device;
    Set(status, kOk, "");
  };
  api.TFE_OpGetAttrs = [](const TFE_Op* op) { return reinterpret_cast<const TFE_OpAttrs*>(op); };
  api.TFE_OpAttrsSerialize = SerializeAttrs;
  api.TFE_OpGetFlatInputCount = [](const TFE_Op* op, TF_Status*) {
    return static_cast<int>(op->inputs.size());
  };
  api.TFE_OpGetFlatInput = GetInput;
  api.TFE_Execute = Execute;
}

void FillContexts(tf::CApi& api) {
  api.TFE_ContextHasFunction = [](TFE_Context* context, const char* name) -> unsigned char {
    return FindFunction(context, name).has_value() ? 1 : 0;
  };
  api.TFE_ContextGetFunctionDef = GetFunctionDef;
  api.TFE_ContextAddFunctionDef = AddFunctionDef;
  api.TFE_ContextGetExecutorForThread = [](TFE_Context* context) {
    return new TFE_Executor{context->is_async};
  };
  api.TFE_ExecutorIsAsync = [](TFE_Executor* executor) { return executor->is_async; };
  api.TFE_DeleteExecutor = [](TFE_Executor* executor) { delete executor; };
  api.TFE_NewContextOptions = [] { return new TFE_ContextOptions; };
  api.TFE_DeleteContextOptions = [](TFE_ContextOptions* options) { delete options; };
  api.TFE_ContextOptionsSetConfig = [](TFE_ContextOptions* options, const void* proto, size_t size,
                                       TF_Status* status) {
    options->config.assign(static_cast<const char*>(proto), size);
    Set(status, kOk, "");
  };
  api.TFE_NewContext = [](const TFE_ContextOptions*, TF_Status* status) {
    Set(status, kOk, "");
    return NewContext();
  };
  api.TFE_DeleteContext = [](TFE_Context*) {};  // goes with the Runtime
  api.TF_Version = [] { return "2.21.0-fake"; };
  api.TF_GetAllOpList = [] {
    return FakeApi().TF_NewBufferFromString(OpListBytes().data(), OpListBytes().size());
  };
  api.TF_GetRegisteredKernelsForOp = [](const char* name, TF_Status* status) {
    Set(status, kOk, "");
    const std::string list = KernelListBytes(name);
    return FakeApi().TF_NewBufferFromString(list.data(), list.size());
  };
}

}  // namespace

void FillOpApi(tf::CApi& api) {
  FillOps(api);
  FillContexts(api);
}

}  // namespace flowscope::fake
