#include "replay/replayer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "interp/attr_value.h"
#include "interp/op_facts.h"
#include "replay/purity.h"
#include "replay/values.h"
#include "trace/attrs.h"

namespace flowscope::replay {
namespace {

// Runs of an op whose value was not met again, to see whether it varies by itself.
constexpr int kTries = 24;

bool HasBytes(DType dtype) { return dtype == DType::kString || IsPlainBytes(dtype); }

bool IsPartitionedCall(std::string_view type) {
  return interp::KindOf(type) == interp::NodeKind::kCall;
}

// TensorFlow says in these words that it cannot run the op here, whatever its values.
bool CannotRunHere(const Outcome& outcome) {
  static constexpr std::string_view kWords[] = {"Could not find device for node",
                                                "No OpKernel was registered", "unknown device",
                                                "not compatible with device"};
  if (outcome.code == kTfNotFound || outcome.code == kTfUnimplemented ||
      outcome.code == kTfResourceExhausted) {
    return true;
  }
  return std::ranges::any_of(kWords, [&](std::string_view words) {
    return outcome.message.find(words) != std::string::npos;
  });
}

// The first line; TensorFlow lists every kernel that it has after it.
std::string FirstLine(const std::string& message) {
  return message.substr(0, std::min<size_t>(message.find('\n'), 300));
}

// A description of elements to come, which are sources when they come.
bool MakesDataset(const tf::OpDef& def) {
  return def.outputs.size() == 1 && def.outputs.front().name == "handle" &&
         def.outputs.front().type == DType::kVariant && interp::HasAttr(def, "output_shapes");
}

// True for what is wrong with this process or the file, and not with the record.
bool IsOurs(const Status& status) {
  return status.code() == StatusCode::kInternal || status.code() == StatusCode::kCorruption ||
         status.code() == StatusCode::kIo;
}

}  // namespace

Replayer::Replayer(const Trace& trace, Sandbox& sandbox, CompareOptions options)
    : trace_(trace),
      sandbox_(sandbox),
      options_(std::move(options)),
      history_(trace),
      opened_(trace.num_ops(), false),
      on_device_(trace.num_ops(), false) {
  for (const RegionRecord& region : trace.tables().regions) {
    if (region.op != kNoId) opened_[region.op] = true;
  }
}

std::string Replayer::Name(OpId id) const {
  return fmt::format("{} ({})", trace_.OpLabel(id), trace_.str(trace_.op(id).type));
}

Result<Payload> Replayer::Value(TensorId id) const {
  if (trace_.tensor(id).state != PayloadState::kKept) {
    return Unavailable("the value of a tensor was not kept");
  }
  return trace_.ReadTensor(id);
}

Result<Verdict> Replayer::Judge(OpId id) {
  std::optional<Verdict> source = JudgeSource(id);
  Verdict verdict = source ? *std::move(source) : JudgeExecuted(id);
  if (!error_.ok()) return error_;
  return verdict;
}

std::optional<Verdict> Replayer::JudgeSource(OpId id) const {
  const OpRecord& op = trace_.op(id);
  if (op.run_counter != 0) return std::nullopt;
  // What has run and what has not is an invariant, which holds by now.
  if (op.kind != OpKind::kIntervention && trace_.str(op.type) != OpKindName(op.kind)) {
    return Failed("kinds",
                  Name(id) + " is said to be a source of kind " + std::string(OpKindName(op.kind)));
  }
  return Declared("source:" + std::string(OpKindName(op.kind)));
}

// Calls of functions whose ops have rows of their own.
std::optional<Verdict> Replayer::JudgeCall(OpId id, const tf::OpDef* def) const {
  const OpRecord& op = trace_.op(id);
  const bool can_be = def == nullptr || interp::KindOf(def->name) == interp::NodeKind::kCall;
  if (op.kind == OpKind::kCall && !can_be) {
    return Failed("kinds", Name(id) + " is said to be a call of a function");
  }
  if (op.kind != OpKind::kCall || op.opaque_reason != 0) return std::nullopt;
  if (opened_[id]) return Proved("opened_call");
  if (op.error != 0 || trace_.info().recorder != "hook") return std::nullopt;
  return Failed("opened call", Name(id) + " neither has ops inside nor says why it was not opened");
}

Verdict Replayer::JudgeExecuted(OpId id) {
  const std::string type(trace_.str(trace_.op(id).type));
  const tf::OpDef* def = tf::FindOpDef(type);
  const auto attrs = SplitAttrs(trace_.tables().attrs.View(trace_.op(id).attrs));
  if (!attrs.ok()) return Failed("attributes", Name(id) + ": " + attrs.status().message());
  if (auto verdict = JudgeCall(id, def)) return *verdict;
  if (auto verdict = JudgeHistory(id)) return *verdict;
  if (auto verdict = JudgeDeclared(id, def, *attrs)) return *verdict;
  if (type == "ReadVariableOp") return JudgeRead(id);
  if (interp::KindOf(type) == interp::NodeKind::kConstant) return JudgeConstant(id, *attrs);
  if (auto verdict = JudgePurity(id, def, *attrs)) return *verdict;
  return JudgeRun(id);
}

std::optional<Verdict> Replayer::JudgeDeclared(OpId id, const tf::OpDef* def,
                                               const AttrMap& attrs) const {
  if (def == nullptr) return std::nullopt;
  if (auto verdict = JudgeResources(id, *def)) return verdict;
  if (interp::IsStatefulRandom(*def, {attrs.begin(), attrs.end()}) && !IsVariableOp(id)) {
    return Declared("source:random");
  }
  if (def->is_stateful && def->outputs.empty() && !IsVariableOp(id) &&
      interp::KindOf(def->name) == interp::NodeKind::kOp) {
    return Declared("effect");
  }
  return std::nullopt;
}

// Handles of what is no variable: its content is not in the record.
std::optional<Verdict> Replayer::JudgeResources(OpId id, const tf::OpDef& def) const {
  const auto edges = trace_.inputs(id);
  const bool takes_other = std::ranges::any_of(
      edges, [](const EdgeRecord& edge) { return edge.edge_class == EdgeClass::kResource; });
  const Span outputs = trace_.op(id).outputs;
  const auto is_handle = [&](uint32_t i) {
    return trace_.tensor(outputs.first + i).dtype == DType::kResource;
  };
  bool only_handles = outputs.count > 0;
  for (uint32_t i = 0; i < outputs.count; ++i) only_handles = only_handles && is_handle(i);
  if (only_handles) return Declared("handle");
  if (MakesDataset(def)) return Declared("dataset");
  if (!takes_other) return std::nullopt;
  if (outputs.count == 0) return Declared("effect");
  if (interp::HasInput(def, "table_handle")) return Declared("source:table");
  if (interp::HasInput(def, "iterator") && def.outputs.front().name == "components") {
    return Declared("source:iterator");
  }
  return Unverified("resource", Name(id) + " reads a resource whose content is not in the record");
}

std::optional<Verdict> Replayer::JudgePurity(OpId id, const tf::OpDef* def, const AttrMap& attrs) {
  const std::string type(trace_.str(trace_.op(id).type));
  const interp::AttrList list(attrs.begin(), attrs.end());
  std::vector<std::string> functions;
  if (def == nullptr) functions.push_back(type);
  for (const auto& [name, bytes] : attrs) {
    const Result<interp::AttrValue> value = interp::ParseAttrValue(bytes);
    if (!value.ok()) continue;
    for (const interp::FunctionRef& function : value->functions) {
      functions.emplace_back(function.name);
    }
  }
  if (def != nullptr) {
    const std::string reason = WhyNotAgain(*def, list);
    if (!reason.empty()) return Unverified("stateful", Name(id) + " " + reason);
  }
  for (const std::string& function : functions) {
    const Status added = sandbox_.AddFunction(function);
    if (added.ok()) continue;
    const bool unknown = def == nullptr && trace_.op(id).kind != OpKind::kCall;
    if (unknown) return Unverified("kernel", Name(id) + ": this TensorFlow has no op of that type");
    return Unverified("opaque", Name(id) + " cannot be run again whole: " + added.message());
  }
  return std::nullopt;
}

bool Replayer::IsVariableOp(OpId id) const {
  return std::ranges::any_of(trace_.inputs(id), [](const EdgeRecord& edge) {
    return edge.edge_class == EdgeClass::kVariable;
  });
}

std::optional<Verdict> Replayer::JudgeHistory(OpId id) const {
  const std::string problem = history_.Problem(id);
  if (!problem.empty()) return Failed("version history", Name(id) + " " + problem);
  const auto taken = std::ranges::count_if(trace_.inputs(id), [](const EdgeRecord& edge) {
    return edge.edge_class == EdgeClass::kVariable;
  });
  const auto told = std::ssize(trace_.AccessesOfOp(id));
  if (taken == told || AsksWhetherSet(id)) return std::nullopt;
  const std::string message = fmt::format(
      "{} takes {} variables, but the record tells what {} of them held", Name(id), taken, told);
  return taken < told ? Failed("version history", message) : Unverified("version history", message);
}

Verdict Replayer::JudgeRead(OpId id) {
  const AccessRecord access = trace_.AccessesOfOp(id).front();
  const std::string variable(trace_.str(trace_.variable(access.variable).address));
  if (access.write) {
    return Failed("version history", Name(id) + " is said to write " + variable);
  }
  const VersionRecord* version = history_.Version(access.variable, access.version);
  if (trace_.op(id).outputs.count != 1 || version->value == kNoId) {
    return Unverified("version history",
                      fmt::format("{}: version {} of {} has no value to compare with", Name(id),
                                  access.version, variable));
  }
  const Result<Payload> recorded = Value(trace_.output(id));
  const Result<Payload> held = Value(version->value);
  for (const Result<Payload>* value : {&recorded, &held}) {
    if (value->ok()) continue;
    if (IsOurs(value->status())) error_ = value->status();
    return NotKept(Name(id) + ": the value that was read was not kept");
  }
  if (SameBits(*held, *recorded)) return Proved("version_history");
  const Difference difference = replay::Compare(*held, *recorded, std::nullopt);
  return Failed("version history",
                fmt::format("{} does not give version {} of {}: {}", Name(id), access.version,
                            variable, Describe(difference, *held, *recorded)));
}

// Never executed: TensorFlow's eager kernels take two constants for one when their first elements
// agree. For the same reason a difference is no fault of the record.
Verdict Replayer::JudgeConstant(OpId id, const AttrMap& attrs) {
  const auto found = attrs.find("value");
  if (found == attrs.end()) return Failed("attributes", Name(id) + " has no value");
  const Result<interp::AttrValue> value = interp::ParseAttrValue(found->second);
  if (!value.ok() || value->kind != interp::AttrKind::kTensor) {
    return Failed("attributes", Name(id) + " has a value that is no tensor");
  }
  Result<tf::HandlePtr> made = HandleFromProto(value->bytes);
  if (!made.ok()) return Failed("attributes", Name(id) + ": " + made.status().message());
  bool exact = true;
  if (CompareTensor(id, "output 0", trace_.output(id), made->get(), exact)) {
    return Unverified("constant", Name(id) +
                                      " differs from its attribute, as an eager Const can whose "
                                      "kernel TensorFlow took for another's");
  }
  return Proved("replayed");
}

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
                      trace_.op(id).outputs.count);
}

bool Replayer::RanElsewhere(const Setup& setup, const Outcome& outcome) const {
  if (setup.on_device || setup.device.empty() || outcome.outputs.empty()) return false;
  const tf::StatusPtr status = tf::NewStatus();
  const char* device =
      tf::Api().TFE_TensorHandleDeviceName(outcome.outputs.front().get(), status.get());
  return device != nullptr && setup.device != device;
}

// A record tells where an op ran, not whether the program asked for that device. TensorFlow picks
// other kernels where it is asked (those of oneDNN), so both ways are tried.
Verdict Replayer::JudgeRun(OpId id) {
  Verdict verdict = JudgeRun(id, false);
  if (verdict.standing == Standing::kFailed && trace_.op(id).device != 0) {
    Verdict on_device = JudgeRun(id, true);
    if (on_device.standing == Standing::kProved) return on_device;
    on_device_[id] = false;
  }
  if (verdict.standing != Standing::kFailed || !VariesByNature(id)) return verdict;
  return Unverified("deterministic",
                    Name(id) + " gives another value every time that it runs on the same inputs");
}

Verdict Replayer::JudgeRun(OpId id, bool on_device) {
  on_device_[id] = on_device;
  const Result<Setup> setup = Prepare(id);
  if (!setup.ok()) {
    const Status status = setup.status();
    if (IsOurs(status)) error_ = status;
    const std::string message = Name(id) + ": " + status.message();
    return status.code() == StatusCode::kUnavailable ? NotKept(message)
                                                     : Unverified("inputs", message);
  }
  Outcome outcome = Run(id, *setup);
  if (outcome.ok() && RanElsewhere(*setup, outcome)) return JudgeRun(id, true);
  const bool failed_then = trace_.op(id).error != 0;
  if (!outcome.ok()) return failed_then ? Proved("replayed") : JudgeError(id, outcome);
  if (failed_then) {
    return Unverified("replay", Name(id) + " failed in the recording and does not fail here");
  }
  bool exact = true;
  if (auto verdict = Compare(id, *setup, outcome, exact)) return *std::move(verdict);
  Carry(id, outcome);
  if (!exact) return Proved("within_tolerance");
  if (!setup->variables.empty()) return Proved("private_variable");
  const bool whole = trace_.op(id).kind == OpKind::kCall || trace_.op(id).opaque_reason != 0 ||
                     IsPartitionedCall(setup->type);
  return Proved(whole ? "replayed_whole" : "replayed");
}

Verdict Replayer::JudgeError(OpId id, const Outcome& outcome) const {
  const std::string message = FirstLine(outcome.message);
  if (CannotRunHere(outcome)) {
    return Unverified("kernel", Name(id) + " cannot be run here: " + message);
  }
  if (!options_.same_tensorflow) {
    return Unverified("kernel", Name(id) + " cannot be run by this TensorFlow: " + message);
  }
  return Failed("replay", Name(id) + " ran in the recording and fails here: " + message);
}

bool Replayer::VariesByNature(OpId id) {
  std::vector<Outcome> runs;
  for (int i = 0; i < kTries; ++i) {
    const Result<Setup> setup = Prepare(id);
    if (!setup.ok()) return false;
    runs.push_back(Run(id, *setup));
    if (!runs.back().ok() || runs.back().outputs.size() != runs.front().outputs.size()) {
      return false;
    }
  }
  for (size_t i = 0; i < runs.front().outputs.size(); ++i) {
    const Result<Payload> first = tf::ReadHandle(runs.front().outputs[i].get());
    if (!first.ok()) continue;
    for (const Outcome& run : runs) {
      const Result<Payload> other = tf::ReadHandle(run.outputs[i].get());
      if (other.ok() && !SameBits(*first, *other)) return true;
    }
  }
  return false;
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
  if (!HasBytes(record.dtype)) return std::nullopt;
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
  if (difference.within()) return std::nullopt;
  return Failed("replay", fmt::format("{} of {}: {}", what, Name(id),
                                      Describe(difference, *recorded, *value)));
}

std::optional<Verdict> Replayer::CompareVariables(OpId id, const Setup& setup, bool& exact) {
  const std::map<VariableId, VariableUse> uses = UsesOf(id);
  for (const auto& [variable, handle] : setup.variables) {
    const VariableUse& use = uses.at(variable);
    const VersionRecord* version = history_.Version(variable, use.after);
    if (version == nullptr || version->value == kNoId) continue;
    const std::string what = fmt::format("version {} of variable {} after", use.after,
                                         trace_.str(trace_.variable(variable).address));
    const Outcome now = sandbox_.Read(handle, trace_.variable(variable).dtype);
    if (!now.ok()) {
      if (!use.wrote) continue;  // an op that takes the variable away
      return Failed("replay", fmt::format("{} {}: {}", what, Name(id), FirstLine(now.message)));
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

}  // namespace flowscope::replay
