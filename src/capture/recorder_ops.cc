// One op from before it runs to after.
#include "capture/recorder.h"

namespace flowscope::capture {
namespace {

std::vector<TFE_TensorHandle*> FlatInputs(const TFE_Op* op, TF_Status* status) {
  const tf::CApi& api = tf::Api();
  const int count = api.TFE_OpGetFlatInputCount(op, status);
  std::vector<TFE_TensorHandle*> inputs;
  inputs.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) inputs.push_back(api.TFE_OpGetFlatInput(op, i, status));
  return inputs;
}

}  // namespace

void Recorder::Execute(TFE_Op* op, TFE_TensorHandle** outputs, int* num_outputs,
                       TF_Status* status) {
  const tf::CApi& api = tf::Api();
  const tf::StatusPtr ours = tf::NewStatus();
  const std::string_view type = api.TFE_OpGetName(op, ours.get());
  if (type == "_EagerConst") {
    api.TFE_Execute(op, outputs, num_outputs, status);
    if (api.TF_GetCode(status) == 0) {
      WrapConstant(api.TFE_OpGetFlatInput(op, 0, ours.get()), outputs[0]);
    }
    return;
  }
  if (type == "Cast" && CastsNewValue(api.TFE_OpGetFlatInput(op, 0, ours.get()))) {
    api.TFE_Execute(op, outputs, num_outputs, status);
    return;
  }
  ExecuteOp(op, outputs, num_outputs, status, {Locate(), {}, kNoId, false});
}

void Recorder::ExecuteOp(TFE_Op* op, TFE_TensorHandle** outputs, int* num_outputs,
                         TF_Status* status, const Place& place) {
  const tf::CApi& api = tf::Api();
  // A model that handles the error of the stop does not go on all the same.
  if (stopped_at_ != kNoId || !refused_.empty()) {
    FailAsStopped(num_outputs, status);
    return;
  }
  const tf::StatusPtr ours = tf::NewStatus();
  const std::string_view type = api.TFE_OpGetName(op, ours.get());
  const std::vector<TFE_TensorHandle*> inputs = FlatInputs(op, ours.get());
  TFE_Context* context = api.TFE_OpGetContext(op, ours.get());
  if (run_counter_ == 0) builder_.tables().info.asynchronous = tf::ContextIsAsync(context);
  Pending pending;
  const TypeInfo& info = InfoOf(type, context);
  pending.traits = info.traits;
  pending.def = info.def;
  pending.in_body = !place.node.empty();
  std::vector<EdgeRecord> edges;
  ResolveInputs(inputs, pending, edges);  // appends sources, which must stand before the op
  Begin(type, place.location, edges, pending);
  SetPlace(pending.id, place);
  ReadAttrs(op, pending.id);
  Run(op, context, pending, inputs, outputs, num_outputs, status);
  Progress();
}

// Tells the sink, and the user once where it has failed.
void Recorder::Progress() {
  if (options_.sink == nullptr) return;
  options_.sink->OnProgress(builder_.tables());
  std::string& degraded = builder_.tables().info.degraded;
  if (!degraded.empty() || options_.sink->status().ok()) return;
  degraded = options_.sink->status().message();
  if (options_.warn) options_.warn(degraded);
}

void Recorder::SetPlace(OpId id, const Place& place) {
  OpRecord& op = builder_.op(id);
  op.name = builder_.Intern(place.node);
  if (place.gradient_of != kNoId) {
    builder_.tables().gradients.push_back({id, place.gradient_of});
  }
  if (place.backward && op.kind == OpKind::kCompute) op.kind = OpKind::kBackward;
}

void Recorder::Run(TFE_Op* op, TFE_Context* context, Pending& pending,
                   const std::vector<TFE_TensorHandle*>& inputs, TFE_TensorHandle** outputs,
                   int* num_outputs, TF_Status* status) {
  const OpId id = pending.id;
  const std::string function =
      pending.traits.is_function_call ? FunctionToOpen(context, id) : std::string();
  const int64_t start = Now();
  if (!function.empty()) {
    RunInside(context, function, id, inputs, outputs, num_outputs, status);
    CompareCompiled(op, id, outputs, *num_outputs, status);
  } else if (refused_.empty()) {
    if (!pending.traits.is_variable_read) {
      for (const VariableTracker::Watch& watch : pending.watches) variables_.Before(op, watch);
    }
    builder_.op(id).start_ns = Now();
    tf::Api().TFE_Execute(op, outputs, num_outputs, status);
  } else {
    FailAsStopped(num_outputs, status);
  }
  if (!function.empty()) builder_.op(id).start_ns = start;
  builder_.op(id).duration_ns = Now() - builder_.op(id).start_ns;
  if (tf::Api().TF_GetCode(status) != 0) {
    builder_.op(id).error = builder_.Intern(tf::Api().TF_Message(status));
    return;
  }
  const std::span<TFE_TensorHandle*> made(outputs, static_cast<size_t>(*num_outputs));
  const bool draws = pending.traits.kind == OpKind::kRandom && options_.replace_draws != nullptr;
  if (draws && !ReplaceDraws(id, made, num_outputs, status)) return;
  if (!function.empty()) {
    FinishCall(pending, made);
    return;
  }
  Finish(op, pending, made);
  StopAfter(id, outputs, num_outputs, status);
}

// A Python number of another dtype is cast while it is wrapped, the first time only: a part of the
// wrapping, or the second recording of one program would have fewer ops.
bool Recorder::CastsNewValue(TFE_TensorHandle* input) const {
  return call_sites_ != nullptr && call_sites_->ConvertsValue() && !handles_.Find(input);
}

// The op has drawn, so that its generator stands where it would; what it gave is exchanged.
bool Recorder::ReplaceDraws(OpId id, std::span<TFE_TensorHandle*> outputs, int* num_outputs,
                            TF_Status* status) {
  const Status replaced = options_.replace_draws(
      builder_.OpLabel(id), builder_.tables().strings.View(builder_.op(id).type), outputs);
  if (replaced.ok()) return true;
  for (TFE_TensorHandle*& handle : outputs) {
    tf::Api().TFE_DeleteTensorHandle(handle);
    handle = nullptr;
  }
  *num_outputs = 0;
  tf::Api().TF_SetStatus(status, kTfInvalidArgument, replaced.message().c_str());
  builder_.op(id).error = builder_.Intern(replaced.message());
  return false;
}

LocationId Recorder::Locate() {
  if (!options_.code_context || call_sites_ == nullptr) return kNoId;
  return call_sites_->Current();
}

const Recorder::TypeInfo& Recorder::InfoOf(std::string_view type, TFE_Context* context) {
  const auto it = types_.find(type);
  if (it != types_.end()) return it->second;
  std::string name(type);
  TypeInfo info;
  info.def = tf::FindOpDef(type);
  const bool is_function =
      context != nullptr && tf::Api().TFE_ContextHasFunction(context, name.c_str()) != 0;
  info.traits = TraitsOf(type, info.def, is_function);
  return types_.emplace(std::move(name), info).first->second;
}

void Recorder::Begin(std::string_view type, LocationId location,
                     const std::vector<EdgeRecord>& edges, Pending& pending) {
  OpRecord record;
  record.type = builder_.Intern(type);
  record.kind = pending.traits.kind;
  record.location = location;
  record.run_counter = ++run_counter_;
  record.start_ns = Now();
  if (pending.traits.takes_functions) {
    record.opaque_reason = builder_.Intern("the op's kernel runs functions itself");
  }
  pending.id = builder_.BeginOp(record);
  builder_.SetInputs(pending.id, edges);
}

void Recorder::ReadAttrs(TFE_Op* op, OpId id) {
  const tf::CApi& api = tf::Api();
  const tf::StatusPtr status = tf::NewStatus();
  const tf::BufferPtr buffer(api.TF_NewBuffer());
  api.TFE_OpAttrsSerialize(api.TFE_OpGetAttrs(op), buffer.get(), status.get());
  if (api.TF_GetCode(status.get()) != 0) return;
  builder_.op(id).attrs =
      builder_.tables().attrs.Intern({static_cast<const char*>(buffer->data), buffer->length});
}

TensorRecord Recorder::DescribeTensor(TFE_TensorHandle* handle) {
  TensorRecord record;
  record.dtype = static_cast<DType>(tf::Api().TFE_TensorHandleDataType(handle));
  // Under asynchronous execution the question would wait for the op.
  if (builder_.tables().info.asynchronous) return record;
  const Result<Dims> dims = tf::HandleDims(handle);
  if (!dims.ok()) return record;
  record.dims = builder_.InternDims(*dims);
  record.shape_known = true;
  record.nbytes = NumElements(*dims) * static_cast<int64_t>(DTypeSize(record.dtype));
  return record;
}

void Recorder::Finish(TFE_Op* op, Pending& pending, std::span<TFE_TensorHandle*> outputs) {
  const bool keep = Keeps(pending.id);
  const auto first = static_cast<TensorId>(builder_.tables().tensors.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    AddOutput(outputs[i], pending.id, static_cast<int>(i), keep);
  }
  builder_.SetOutputs(pending.id, {first, static_cast<uint32_t>(outputs.size())});
  RecordVariableUse(op, pending, outputs);
  const tf::StatusPtr status = tf::NewStatus();
  const char* device = outputs.empty()
                           ? tf::Api().TFE_OpGetDevice(op, status.get())
                           : tf::Api().TFE_TensorHandleDeviceName(outputs[0], status.get());
  if (device != nullptr) builder_.op(pending.id).device = builder_.Intern(device);
}

void Recorder::RecordVariableUse(TFE_Op* op, const Pending& pending,
                                 std::span<TFE_TensorHandle*> outputs) {
  OpRecord& record = builder_.op(pending.id);
  for (const VariableTracker::Watch& watch : pending.watches) {
    if (pending.traits.is_variable_read && !outputs.empty()) {
      variables_.OnRead(watch.variable, pending.id, outputs[0], record.outputs.first);
      record.kind = OpKind::kVariableRead;
    } else if (variables_.After(op, watch, pending.id, pending.traits.no_outputs,
                                options_.keep_values) &&
               record.kind != OpKind::kCall) {
      record.kind = OpKind::kVariableWrite;
    }
  }
}

void Recorder::AddOutput(TFE_TensorHandle* handle, OpId id, int index, bool keep) {
  TensorRecord record = DescribeTensor(handle);
  record.producer = id;
  record.output_index = static_cast<uint16_t>(index);
  const bool has_value = record.dtype != DType::kResource && record.dtype != DType::kVariant;
  const bool over = has_value && keep && OverBudget(record.nbytes);
  const bool stats = has_value && keep && (over || !options_.keep_values);
  record.state = !has_value ? PayloadState::kNoValue
                 : stats    ? PayloadState::kStats
                 : keep     ? PayloadState::kKept
                            : PayloadState::kNotKept;
  // Resource and variant handles are held for their identity; they carry no value to speak of.
  const bool kept = record.state == PayloadState::kKept;
  const bool held = (kept && !payloads_->lets_go()) || !has_value;
  // An op that gives back a handle that is known already has made no new one.
  if (held && !handles_.Find(handle)) record.handle = reinterpret_cast<uint64_t>(handle);
  const TensorId tensor = builder_.AddTensor(record);
  const KnownHandle known{tensor, EdgeClass::kOp};
  if (stats) {
    if (const Result<Payload> value = tf::ReadHandle(handle); value.ok()) {
      payloads_->KeepStats(tensor, ComputeStats(*value));
    }
  }
  if (kept && payloads_->lets_go()) {
    payloads_->Store(tensor, tf::ShareHandle(handle));
    handles_.InsertUnheld(handle, known);
  } else if (held) {
    payloads_->Keep(tensor, tf::ShareHandle(handle));
    handles_.InsertHeld(handle, known, true);
  } else {
    handles_.InsertUnheld(handle, known);
  }
}

bool Recorder::Keeps(OpId id) const {
  if (options_.save == nullptr) return true;
  FactsScratch scratch;
  return options_.save->Matches(FactsOf(builder_.tables(), id, scratch), nullptr);
}

bool Recorder::OverBudget(int64_t nbytes) {
  if (options_.save_budget < 0 || !options_.keep_values) return false;
  if (kept_bytes_ + nbytes <= options_.save_budget) {
    kept_bytes_ += nbytes;
    return false;
  }
  std::string& degraded = builder_.tables().info.degraded;
  if (degraded.empty()) {
    degraded = "values kept reached save_budget (" + std::to_string(options_.save_budget) +
               " bytes); later values are statistics only";
    if (options_.warn) options_.warn(degraded);
  }
  return true;
}

bool Recorder::HasNonFinite(std::span<TFE_TensorHandle*> outputs) const {
  for (TFE_TensorHandle* handle : outputs) {
    const Result<Payload> value = tf::ReadHandle(handle);
    if (!value.ok()) continue;
    const auto counts = CountNonFinite(*value);
    if (counts[0] + counts[1] + counts[2] > 0) return true;
  }
  return false;
}

// Ends the run by making this op fail in TensorFlow's eyes: the model unwinds as from any error.
void Recorder::StopAfter(OpId id, TFE_TensorHandle** outputs, int* num_outputs, TF_Status* status) {
  if (options_.halt != nullptr) {
    FactsScratch scratch;
    halted_ = options_.halt->Matches(FactsOf(builder_.tables(), id, scratch), nullptr);
  }
  const bool bad = !halted_ && options_.raise_on_nan &&
                   HasNonFinite({outputs, static_cast<size_t>(*num_outputs)});
  if (!halted_ && !bad) return;
  stopped_at_ = id;
  for (int i = 0; i < *num_outputs; ++i) {
    if (HandleMap::NumWatching() > 0) OnDelete(outputs[i]);
    tf::Api().TFE_DeleteTensorHandle(outputs[i]);
    outputs[i] = nullptr;
  }
  FailAsStopped(num_outputs, status);
}

void Recorder::FailAsStopped(int* num_outputs, TF_Status* status) const {
  *num_outputs = 0;
  if (!refused_.empty()) {
    tf::Api().TF_SetStatus(status, kTfFailedPrecondition, refused_.c_str());
    return;
  }
  const std::string what = (halted_ ? "recording halted after " : "non-finite value in ") +
                           builder_.OpLabel(stopped_at_);
  tf::Api().TF_SetStatus(status, halted_ ? kTfCancelled : kTfInvalidArgument, what.c_str());
}

// Op callbacks come after the op and do not show variables' state before it.
void Recorder::RecordCallback(const std::string& type, const std::vector<TFE_TensorHandle*>& inputs,
                              const std::vector<TFE_TensorHandle*>& outputs) {
  if (type == "_EagerConst" && inputs.size() == 1 && outputs.size() == 1) {
    WrapConstant(inputs[0], outputs[0]);
    return;
  }
  const LocationId location = Locate();
  Pending pending;
  const TypeInfo& info = InfoOf(type, nullptr);
  pending.traits = info.traits;
  pending.def = info.def;
  std::vector<EdgeRecord> edges;
  ResolveInputs(inputs, pending, edges);
  Begin(type, location, edges, pending);
  const bool keep = Keeps(pending.id);
  const auto first = static_cast<TensorId>(builder_.tables().tensors.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    AddOutput(outputs[i], pending.id, static_cast<int>(i), keep);
  }
  builder_.SetOutputs(pending.id, {first, static_cast<uint32_t>(outputs.size())});
  if (pending.traits.is_variable_read && !pending.watches.empty() && !outputs.empty()) {
    variables_.OnRead(pending.watches[0].variable, pending.id, outputs[0], first);
    builder_.op(pending.id).kind = OpKind::kVariableRead;
  }
  Progress();
}

}  // namespace flowscope::capture
