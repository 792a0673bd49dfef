// What an op is run with, and what came out beside what was recorded.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "interp/body.h"
#include "replay/replayer.h"
#include "replay/values.h"
#include "trace/attrs.h"

namespace flowscope::replay {
namespace {

// As many outputs as an op has that nothing is known of.
constexpr size_t kAnyNumber = 1024;

bool HasBytes(DType dtype) { return dtype == DType::kString || IsPlainBytes(dtype); }

// The first line; TensorFlow lists every kernel that it has after it.
}  // namespace

Status Replayer::PrepareInput(const EdgeRecord& edge, Setup& setup) {
  if (edge.tensor == kNoId) return NotFound("an input is unexplained");
  const auto carried = carried_.find(edge.tensor);
  if (carried != carried_.end()) {
    setup.inputs.push_back(carried->second.get());
    return Status::Ok();
  }
  if (!HasBytes(trace_.tensor(edge.tensor).dtype)) {
    return NotFound("an input has no bytes in the record, and was not made again");
  }
  const Result<Payload> value = Value(edge.tensor);
  FLOWSCOPE_RETURN_IF_ERROR(value.status());
  Result<tf::HandlePtr> handle = ToHandle(*value);
  FLOWSCOPE_RETURN_IF_ERROR(handle.status());
  setup.owned.push_back(std::move(handle).value());
  setup.inputs.push_back(setup.owned.back().get());
  return Status::Ok();
}

std::map<VariableId, Replayer::VariableUse> Replayer::UsesOf(OpId id) const {
  std::map<VariableId, VariableUse> uses;
  for (const AccessRecord& access : trace_.AccessesOfOp(id)) {
    const uint32_t before = access.write ? access.version - 1 : access.version;
    const auto [it, is_new] = uses.try_emplace(access.variable, VariableUse{before, 0, false});
    it->second.after = access.version;
    it->second.wrote = it->second.wrote || access.write;
  }
  return uses;
}

// A private variable with the value that the recorded one had before the op.
Status Replayer::PrepareVariable(OpId id, const AccessRecord& access, Setup& setup) {
  const auto known = setup.variables.find(access.variable);
  if (known != setup.variables.end()) {
    setup.inputs.push_back(known->second);
    return Status::Ok();
  }
  const DType dtype = trace_.variable(access.variable).dtype;
  Result<tf::HandlePtr> variable = sandbox_.MakeVariable(dtype, setup.device);
  FLOWSCOPE_RETURN_IF_ERROR(variable.status());
  TFE_TensorHandle* handle = variable->get();
  setup.owned.push_back(std::move(variable).value());
  setup.variables.emplace(access.variable, handle);
  setup.inputs.push_back(handle);
  const uint32_t before = UsesOf(id).at(access.variable).before;
  const VersionRecord* version = history_.Version(access.variable, before);
  if (version == nullptr || version->value == kNoId) return Status::Ok();  // was not initialized
  const Result<Payload> value = Value(version->value);
  FLOWSCOPE_RETURN_IF_ERROR(value.status());
  Result<tf::HandlePtr> tensor = ToHandle(*value);
  FLOWSCOPE_RETURN_IF_ERROR(tensor.status());
  return sandbox_.Assign(handle, tensor->get(), dtype);
}

// A private variable without a value, of any dtype.
Status Replayer::PrepareUnset(Setup& setup) {
  Result<tf::HandlePtr> variable = sandbox_.MakeVariable(DType::kFloat32, setup.device);
  FLOWSCOPE_RETURN_IF_ERROR(variable.status());
  setup.owned.push_back(std::move(variable).value());
  setup.inputs.push_back(setup.owned.back().get());
  return Status::Ok();
}

Result<Replayer::Setup> Replayer::Prepare(OpId id) {
  const OpRecord& op = trace_.op(id);
  Setup setup;
  setup.type = trace_.str(op.type);
  setup.device = trace_.str(op.device);
  setup.on_device = on_device_[id];
  Result<AttrMap> attrs = SplitAttrs(trace_.tables().attrs.View(op.attrs));
  FLOWSCOPE_RETURN_IF_ERROR(attrs.status());
  setup.attrs = std::move(attrs).value();
  const std::vector<AccessRecord> accesses = trace_.AccessesOfOp(id);
  size_t next_access = 0;
  for (const EdgeRecord& edge : trace_.inputs(id)) {
    const bool is_variable = edge.edge_class == EdgeClass::kVariable;
    FLOWSCOPE_RETURN_IF_ERROR(!is_variable ? PrepareInput(edge, setup)
                              : accesses.empty()
                                  ? PrepareUnset(setup)
                                  : PrepareVariable(id, accesses[next_access++], setup));
  }
  return setup;
}

Outcome Replayer::Run(OpId id, const Setup& setup) {
  return sandbox_.Run(setup.type, setup.attrs, setup.on_device ? setup.device : "", setup.inputs,
                      NumOutputs(id, setup));
}

// Room for what it gives; the record of an op that failed does not tell.
size_t Replayer::NumOutputs(OpId id, const Setup& setup) const {
  const OpRecord& op = trace_.op(id);
  const tf::OpDef* def = op.error == 0 ? nullptr : tf::FindOpDef(setup.type);
  if (def == nullptr) return op.error == 0 ? op.outputs.count : kAnyNumber;
  const interp::AttrList attrs(setup.attrs.begin(), setup.attrs.end());
  size_t count = 0;
  for (const tf::OpArg& output : def->outputs) {
    const uint64_t length = interp::ArgLength(output, attrs).value_or(kAnyNumber);
    count += std::min<uint64_t>(length, kAnyNumber);
  }
  return count;
}

std::optional<Verdict> Replayer::Compare(OpId id, const Setup& setup, Outcome& outcome,
                                         bool& exact) {
  const Span outputs = trace_.op(id).outputs;
  if (outcome.outputs.size() != outputs.count) {
    return Failed("replay", fmt::format("{} has {} outputs in the record and {} here", Name(id),
                                        outputs.count, outcome.outputs.size()));
  }
  for (uint32_t i = 0; i < outputs.count; ++i) {
    auto verdict = CompareTensor(id, fmt::format("output {}", i), outputs.first + i,
                                 outcome.outputs[i].get(), exact);
    if (verdict) return verdict;
  }
  return CompareVariables(id, setup, exact);
}

std::optional<Verdict> Replayer::CompareTensor(OpId id, const std::string& what, TensorId tensor,
                                               TFE_TensorHandle* replayed, bool& exact) {
  const auto dtype = static_cast<DType>(tf::Api().TFE_TensorHandleDataType(replayed));
  const TensorRecord& record = trace_.tensor(tensor);
  if (dtype != record.dtype) {
    return Failed("replay", fmt::format("{} of {} is {} in the record and {} here", what, Name(id),
                                        DTypeName(record.dtype), DTypeName(dtype)));
  }
  if (!HasBytes(record.dtype)) {
    const bool is_handle = dtype == DType::kResource || dtype == DType::kVariant;
    if (is_handle) return std::nullopt;
    return Unverified("dtype", fmt::format("{} of {} is {}, whose values cannot be compared here",
                                           what, Name(id), DTypeName(dtype)));
  }
  const Result<Payload> recorded = Value(tensor);
  if (!recorded.ok()) {
    if (IsOurs(recorded.status())) error_ = recorded.status();
    return NotKept(fmt::format("{}: the value of {} was not kept", Name(id), what));
  }
  const Result<Payload> value = tf::ReadHandle(replayed);
  if (!value.ok()) {
    error_ = Internal(fmt::format("{} of {} cannot be read after it was run again: {}", what,
                                  Name(id), value.status().message()));
    return NotKept("");
  }
  if (SameBits(*recorded, *value)) return std::nullopt;
  std::optional<Tolerance> tolerance;
  if (options_.tolerance) tolerance = options_.tolerance(record.dtype);
  const Difference difference = replay::Compare(*recorded, *value, tolerance);
  exact = false;
  if (difference.within()) {
    if (distance_.empty()) {
      distance_ =
          fmt::format("{} of {}: {}", what, Name(id), Describe(difference, *recorded, *value));
    }
    return std::nullopt;
  }
  return Failed("replay", fmt::format("{} of {}: {}", what, Name(id),
                                      Describe(difference, *recorded, *value)));
}

std::optional<Verdict> Replayer::CompareVariables(OpId id, const Setup& setup, bool& exact) {
  const std::map<VariableId, VariableUse> uses = UsesOf(id);
  for (const auto& [variable, handle] : setup.variables) {
    const VariableUse& use = uses.at(variable);
    const VersionRecord* version = history_.Version(variable, use.after);
    if (version == nullptr) continue;
    const std::string what = fmt::format("version {} of variable {} after", use.after,
                                         trace_.str(trace_.variable(variable).address));
    const Outcome now = sandbox_.Read(handle, trace_.variable(variable).dtype);
    if (!now.ok()) {
      if (!use.wrote) continue;  // an op that takes the variable away
      return Failed("replay", fmt::format("{} {}: {}", what, Name(id), FirstLine(now.message)));
    }
    if (version->value == kNoId) {
      if (!use.wrote) continue;
      return NotKept(fmt::format("the record has no value of {} {}", what, Name(id)));
    }
    auto verdict = CompareTensor(id, what, version->value, now.outputs.front().get(), exact);
    if (verdict) return verdict;
  }
  return std::nullopt;
}

void Replayer::Carry(OpId id, Outcome& outcome) {
  const Span outputs = trace_.op(id).outputs;
  for (uint32_t i = 0; i < outputs.count; ++i) {
    if (HasBytes(trace_.tensor(outputs.first + i).dtype)) continue;
    carried_[outputs.first + i] = std::move(outcome.outputs[i]);
  }
}

Replayer::Values Replayer::Recorded(OpId id) const {
  Values values;
  const auto add = [&](TensorId tensor) {
    Result<Payload> value = tensor == kNoId ? Unavailable("") : Value(tensor);
    values.push_back(value.ok() ? std::optional(std::move(value).value()) : std::nullopt);
  };
  const Span outputs = trace_.op(id).outputs;
  for (uint32_t i = 0; i < outputs.count; ++i) add(outputs.first + i);
  for (const auto& [variable, use] : UsesOf(id)) {
    const VersionRecord* version = history_.Version(variable, use.after);
    add(version == nullptr ? kNoId : version->value);
  }
  return values;
}

Replayer::Values Replayer::RunOnce(OpId id, const std::map<size_t, TFE_TensorHandle*>& inputs) {
  Result<Setup> setup = Prepare(id);
  if (!setup.ok()) return {};
  for (const auto& [input, handle] : inputs) setup->inputs[input] = handle;
  Outcome outcome = Run(id, *setup);
  if (!outcome.ok() || outcome.outputs.size() != trace_.op(id).outputs.count) return {};
  Values values;
  const auto add = [&](Result<Payload> value) {
    values.push_back(value.ok() ? std::optional(std::move(value).value()) : std::nullopt);
  };
  for (const tf::HandlePtr& output : outcome.outputs) add(tf::ReadHandle(output.get()));
  for (const auto& [variable, use] : UsesOf(id)) {
    const auto held = setup->variables.find(variable);
    if (held == setup->variables.end()) return {};
    const Outcome now = sandbox_.Read(held->second, trace_.variable(variable).dtype);
    add(now.ok() ? tf::ReadHandle(now.outputs.front().get()) : Result<Payload>(Unavailable("")));
  }
  return values;
}

}  // namespace flowscope::replay
