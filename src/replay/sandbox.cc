#include "replay/sandbox.h"

#include <utility>

#include <protozero/pbf_writer.hpp>

#include "interp/attr_value.h"
#include "interp/function_bodies.h"
#include "replay/purity.h"

namespace flowscope::replay {
namespace {

// AttrValue: s = 2, type = 6, shape = 7 { unknown_rank = 3 }.
std::string StringAttr(std::string_view text) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_bytes(2, text.data(), text.size());
  return bytes;
}

std::string TypeAttr(DType dtype) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_enum(6, static_cast<int32_t>(dtype));
  return bytes;
}

std::string UnknownShapeAttr() {
  std::string bytes;
  protozero::pbf_writer value(bytes);
  protozero::pbf_writer(value, 7).add_bool(3, true);
  return bytes;
}

Status SetUp(TFE_Op* op, const AttrMap& attrs, const std::string& device,
             std::span<TFE_TensorHandle* const> inputs, TF_Status* status, int& code) {
  const tf::CApi& api = tf::Api();
  const auto failed = [&] { return (code = api.TF_GetCode(status)) != kTfOk; };
  if (!device.empty()) api.TFE_OpSetDevice(op, device.c_str(), status);
  for (size_t i = 0; !failed() && i < inputs.size(); ++i) {
    api.TFE_OpAddInput(op, inputs[i], status);
  }
  for (const auto& [name, value] : attrs) {
    if (failed()) break;
    if (name.starts_with('_')) continue;
    api.TFE_OpSetAttrValueProto(op, name.c_str(), value.data(), value.size(), status);
  }
  return failed() ? Unavailable(api.TF_Message(status)) : Status::Ok();
}

}  // namespace

Result<std::unique_ptr<Sandbox>> Sandbox::Make(const SandboxOptions& options) {
  if (!tf::ApiLoaded()) return Unavailable("TensorFlow is not loaded in this process");
  Result<tf::ContextPtr> context = tf::NewContext(options.config);
  FLOWSCOPE_RETURN_IF_ERROR(context.status());
  return std::unique_ptr<Sandbox>(new Sandbox(std::move(context).value(), options));
}

Outcome Sandbox::Run(const std::string& type, const AttrMap& attrs, const std::string& device,
                     std::span<TFE_TensorHandle* const> inputs, size_t max_outputs) {
  const tf::CApi& api = tf::Api();
  const tf::StatusPtr status = tf::NewStatus();
  Outcome outcome;
  const auto take_status = [&] {
    outcome.code = api.TF_GetCode(status.get());
    if (!outcome.ok()) outcome.message = api.TF_Message(status.get());
    return outcome.ok();
  };
  const tf::OpPtr op(api.TFE_NewOp(context_.get(), type.c_str(), status.get()));
  if (!take_status() || op == nullptr) return outcome;
  if (const Status set = SetUp(op.get(), attrs, device, inputs, status.get(), outcome.code);
      !set.ok()) {
    outcome.message = set.message();
    return outcome;
  }
  std::vector<TFE_TensorHandle*> raw(max_outputs + 1, nullptr);
  auto count = static_cast<int>(max_outputs);
  api.TFE_Execute(op.get(), raw.data(), &count, status.get());
  if (!take_status()) return outcome;
  for (int i = 0; i < count; ++i) outcome.outputs.emplace_back(raw[static_cast<size_t>(i)]);
  return outcome;
}

Result<tf::HandlePtr> Sandbox::MakeVariable(DType dtype, const std::string& device) {
  const AttrMap attrs = {
      {"container", StringAttr("flowscope")},
      {"shared_name", StringAttr("flowscope_replay_" + std::to_string(num_variables_++))},
      {"dtype", TypeAttr(dtype)},
      {"shape", UnknownShapeAttr()}};
  Outcome made = Run("VarHandleOp", attrs, device, {}, 1);
  if (!made.ok()) return Unavailable("a private variable: " + made.message);
  return std::move(made.outputs.front());
}

Status Sandbox::Assign(TFE_TensorHandle* variable, TFE_TensorHandle* value, DType dtype) {
  TFE_TensorHandle* const inputs[] = {variable, value};
  const Outcome done = Run("AssignVariableOp", {{"dtype", TypeAttr(dtype)}}, "", inputs, 0);
  return done.ok() ? Status::Ok() : Unavailable("a value for a private variable: " + done.message);
}

Outcome Sandbox::Read(TFE_TensorHandle* variable, DType dtype) {
  TFE_TensorHandle* const inputs[] = {variable};
  return Run("ReadVariableOp", {{"dtype", TypeAttr(dtype)}}, "", inputs, 1);
}

Result<std::string> Sandbox::Definition(const std::string& function) const {
  const auto recorded = bodies_.find(function);
  if (recorded != bodies_.end()) return std::string(recorded->second);
  if (functions_ == nullptr ||
      tf::Api().TFE_ContextHasFunction(functions_, function.c_str()) == 0) {
    return NotFound("neither the record nor this process has the function '" + function + "'");
  }
  return interp::FetchFunctionDef(functions_, function);
}

Status Sandbox::AddFunction(const std::string& function) {
  const auto known = added_.find(function);
  if (known != added_.end()) return known->second;
  std::set<std::string> seen;
  Status status = tf::Api().TFE_ContextAddFunctionDef == nullptr
                      ? Unavailable("this TensorFlow cannot be given a function")
                      : Copy(function, seen);
  return added_.emplace(function, std::move(status)).first->second;
}

Status Sandbox::Copy(const std::string& function, std::set<std::string>& seen) {
  if (!seen.insert(function).second) return Status::Ok();
  const auto known = added_.find(function);
  if (known != added_.end()) return known->second;
  const Result<std::string> bytes = Definition(function);
  FLOWSCOPE_RETURN_IF_ERROR(bytes.status());
  const Result<interp::FunctionDef> body = interp::ParseFunctionDef(*bytes);
  FLOWSCOPE_RETURN_IF_ERROR(body.status());
  for (const interp::NodeDef& node : body->nodes) {
    const tf::OpDef* op = tf::FindOpDef(node.op);
    if (op != nullptr) {
      if (const std::string reason = WhyNotAgain(*op, node.attrs); !reason.empty()) {
        return Unsupported("node '" + std::string(node.name) + "' (" + std::string(node.op) +
                           ") of function '" + function + "' " + reason);
      }
    }
    for (const std::string_view callee : interp::FunctionsNamedBy(node.op, node.attrs)) {
      FLOWSCOPE_RETURN_IF_ERROR(Copy(std::string(callee), seen));
    }
  }
  const tf::StatusPtr status = tf::NewStatus();
  tf::Api().TFE_ContextAddFunctionDef(context_.get(), bytes->data(), bytes->size(), status.get());
  const Status added = tf::FromTf(status.get(), "function '" + function + "'");
  if (added.ok()) added_.emplace(function, added);
  return added;
}

}  // namespace flowscope::replay
