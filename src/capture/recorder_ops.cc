// One op from before it runs to after.
#include <utility>

#include "capture/recorder.h"
#include "interp/op_facts.h"

namespace flowscope::capture {
namespace {

// A description of elements to come: nothing that could run again.
bool MakesDataset(const tf::OpDef& def) {
  return def.outputs.size() == 1 && def.outputs.front().type == DType::kVariant;
}

}  // namespace

void Recorder::Execute(TFE_Op* op, TFE_TensorHandle** outputs, int* num_outputs,
                       TF_Status* status) {
  const tf::CApi& api = tf::Api();
  const std::string_view type = api.TFE_OpGetName(op, asked_.get());
  const std::vector<TFE_TensorHandle*> revived = ReviveInputs(op);
  ++depth_;
  if (type == "_EagerConst") {
    api.TFE_Execute(op, outputs, num_outputs, status);
    if (api.TF_GetCode(status) == 0) {
      WrapConstant(api.TFE_OpGetFlatInput(op, 0, asked_.get()), outputs[0]);
    }
  } else if (type == "Cast" && CastsNewValue(api.TFE_OpGetFlatInput(op, 0, asked_.get()))) {
    api.TFE_Execute(op, outputs, num_outputs, status);
  } else {
    ExecuteOp(op, outputs, num_outputs, status, {Locate(), {}, kNoId, false});
  }
  --depth_;
  for (TFE_TensorHandle* handle : revived) handles_.OnDelete(handle);
}

void Recorder::ExecuteOp(TFE_Op* op, TFE_TensorHandle** outputs, int* num_outputs,
                         TF_Status* status, const Place& place) {
  const tf::CApi& api = tf::Api();
  // A model that handles the error of the stop does not go on all the same.
  if (stopped_at_ != kNoId || !refused_.empty()) {
    FailAsStopped(num_outputs, status);
    return;
  }
  const std::string_view type = api.TFE_OpGetName(op, asked_.get());
  const std::vector<TFE_TensorHandle*> inputs = tf::FlatInputs(op, asked_.get());
  TFE_Context* context = api.TFE_OpGetContext(op, asked_.get());
  LookAtContext(context);
  Pending pending;
  const TypeInfo& info = InfoOf(type, context);
  pending.traits = info.traits;
  pending.def = info.def;
  pending.in_body = !place.node.empty();
  std::vector<EdgeRecord> edges;
  ResolveInputs(inputs, pending, edges);  // appends sources, which must stand before the op
  Begin(info.name, place.location, edges, pending);
  SetPlace(pending.id, place);
  const bool shows_bodies = pending.traits.takes_functions || pending.traits.is_function_call;
  if (shows_bodies) ReadAttrs(op, pending.id);  // they name functions
  if (pending.in_body && options_.interpret_random && pending.def != nullptr &&
      interp::IsStatefulRandom(*pending.def, {})) {
    AddNote(
        "random=\"interpret\": the stateful random ops in functions draw other numbers than a run "
        "without a recording, and shift the draws of later plain calls");
  }
  if (pending.traits.takes_functions && !MakesDataset(*pending.def)) {
    KeepBodies(context, pending.id);
  }
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
  if (!place.node.empty()) op.name = builder_.Intern(place.node);
  if (place.gradient_of != kNoId) {
    builder_.tables().gradients.push_back({id, place.gradient_of});
  }
  if (place.backward && op.kind == OpKind::kCompute) op.kind = OpKind::kBackward;
}

void Recorder::Run(TFE_Op* op, TFE_Context* context, Pending& pending,
                   const std::vector<TFE_TensorHandle*>& inputs, TFE_TensorHandle** outputs,
                   int* num_outputs, TF_Status* status) {
  const OpId id = pending.id;
  const CalledFunction function =
      pending.traits.is_function_call ? FunctionToOpen(context, id) : CalledFunction();
  const bool opens = !function.name.empty();
  builder_.op(id).start_ns = Now();
  if (opens) {
    const uint32_t ran_before = run_counter_;
    RunInside(context, function, id, inputs, outputs, num_outputs, status);
    // Nothing inside shows where its outputs come from.
    if (run_counter_ == ran_before) KeepBodies(context, id);
    CompareCompiled(op, id, outputs, *num_outputs, status);
  } else if (refused_.empty()) {
    if (!pending.traits.is_variable_read && !pending.watches.empty()) {
      for (const VariableTracker::Watch& watch : pending.watches) variables_.Before(op, watch);
      builder_.op(id).start_ns = Now();
    }
    tf::Api().TFE_Execute(op, outputs, num_outputs, status);
  } else {
    FailAsStopped(num_outputs, status);
  }
  builder_.op(id).duration_ns = Now() - builder_.op(id).start_ns;
  if (builder_.op(id).attrs == 0) ReadAttrs(op, id);  // TensorFlow has the fingerprint ready now
  if (tf::Api().TF_GetCode(status) != 0) {
    builder_.op(id).error = builder_.Intern(tf::Api().TF_Message(status));
    return;
  }
  const std::span<TFE_TensorHandle*> made(outputs, static_cast<size_t>(*num_outputs));
  const bool draws = pending.traits.kind == OpKind::kRandom && options_.draws != nullptr;
  if (draws && !ReplaceDraws(id, made, num_outputs, status)) return;
  if (opens) {
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
  const OpRecord& drawn = builder_.op(id);
  const StringPool& strings = builder_.tables().strings;
  const SiteRecord& site = builder_.tables().sites[drawn.site];
  const Status replaced = options_.draws->Replace(
      {strings.View(drawn.type), strings.View(site.region_path), strings.View(site.module_address),
       site.nth, drawn.pass, builder_.OpLabel(id)},
      outputs);
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

// Programs reset TensorFlow's context in the middle of a run, and turn asynchronous execution on
// and off.
void Recorder::LookAtContext(TFE_Context* context) {
  async_now_ = tf::ContextIsAsync(context);
  if (async_now_ && !builder_.tables().info.asynchronous) {
    builder_.tables().info.asynchronous = true;
    AddNote("ops ran asynchronously: durations are those of starting them");
  }
  if (context == context_) return;
  if (context_ != nullptr) {
    AddNote("TensorFlow's context was replaced after op " + std::to_string(run_counter_) +
            " of this run: what was made before it lives in another context");
    types_.clear();
    last_device_ = nullptr;
    variables_.ForgetNames();
  }
  context_ = context;
}

LocationId Recorder::Locate() {
  if (call_sites_ == nullptr || !(options_.code_context || lines_now_)) return kNoId;
  return LocationOf(call_sites_->Current());
}

const Recorder::TypeInfo& Recorder::InfoOf(std::string_view type, TFE_Context* context) {
  const auto it = types_.find(type);
  if (it != types_.end()) return it->second;
  std::string name(type);
  TypeInfo info;
  info.name = builder_.Intern(type);
  info.def = tf::FindOpDef(type);
  // Op callbacks do not tell the context. What ran and is no registered op is a function.
  const bool is_function = context == nullptr
                               ? info.def == nullptr
                               : tf::Api().TFE_ContextHasFunction(context, name.c_str()) != 0;
  info.traits = TraitsOf(type, info.def, is_function);
  return types_.emplace(std::move(name), info).first->second;
}

void Recorder::Begin(StringId type, LocationId location, const std::vector<EdgeRecord>& edges,
                     Pending& pending) {
  OpRecord record;
  record.type = type;
  record.kind = pending.traits.kind;
  record.location = location;
  record.run_counter = ++run_counter_;
  if (pending.traits.takes_functions) {
    record.opaque_reason = builder_.Intern("the op's kernel runs functions itself");
  }
  pending.id = builder_.BeginOp(record);
  builder_.SetInputs(pending.id, edges);
}

// To write an op's attributes costs more than all else that is recorded of it: what has the same
// fingerprint has been written before.
void Recorder::ReadAttrs(TFE_Op* op, OpId id) {
  const std::optional<tf::OpFingerprint> fingerprint = tf::FingerprintOf(op, asked_.get());
  if (fingerprint) {
    if (const auto known = attrs_.find(*fingerprint); known != attrs_.end()) {
      builder_.op(id).attrs = known->second;
      return;
    }
  }
  const tf::CApi& api = tf::Api();
  const tf::StatusPtr status = tf::NewStatus();
  const tf::BufferPtr buffer(api.TF_NewBuffer());
  api.TFE_OpAttrsSerialize(api.TFE_OpGetAttrs(op), buffer.get(), status.get());
  if (api.TF_GetCode(status.get()) != 0) return;
  const StringId attrs =
      builder_.tables().attrs.Intern({static_cast<const char*>(buffer->data), buffer->length});
  builder_.op(id).attrs = attrs;
  if (fingerprint) attrs_.emplace(*fingerprint, attrs);
}

TensorRecord Recorder::Describe(TFE_TensorHandle* handle) {
  return DescribeTensor(builder_, handle, !async_now_, asked_.get());
}

// The kind is settled before anybody is asked about the op.
void Recorder::Finish(TFE_Op* op, Pending& pending, std::span<TFE_TensorHandle*> outputs) {
  const OpId id = pending.id;
  const bool reads = pending.traits.is_variable_read && !outputs.empty();
  std::vector<VariableTracker::Use> uses;
  for (const VariableTracker::Watch& watch : pending.watches) {
    OpKind& kind = builder_.op(id).kind;
    if (reads) {
      kind = OpKind::kVariableRead;
      continue;
    }
    uses.push_back(variables_.After(op, watch, pending.traits.no_outputs));
    if (uses.back().wrote && kind != OpKind::kCall) kind = OpKind::kVariableWrite;
  }
  const bool wanted = Wants(id);
  AddOutputs(id, outputs, wanted);
  for (size_t i = 0; i < pending.watches.size(); ++i) {
    const VariableTracker::Watch& watch = pending.watches[i];
    if (reads) {
      variables_.OnRead(watch.variable, id, outputs[0], builder_.op(id).outputs.first);
    } else {
      variables_.Record(watch, id, std::move(uses[i]), wanted);
    }
  }
  builder_.op(id).device = DeviceOf(op, outputs);
}

StringId Recorder::DeviceOf(TFE_Op* op, std::span<TFE_TensorHandle* const> outputs) {
  if (outputs.empty()) {
    const char* device = tf::Api().TFE_OpGetDevice(op, asked_.get());
    return device != nullptr ? builder_.Intern(device) : StringId{0};
  }
  const char* device = tf::Api().TFE_TensorHandleDeviceName(outputs[0], asked_.get());
  if (device == nullptr) return 0;
  if (device != std::exchange(last_device_, device)) last_device_id_ = builder_.Intern(device);
  return last_device_id_;
}

void Recorder::AddOutputs(OpId id, std::span<TFE_TensorHandle* const> outputs, bool wanted) {
  const auto first = static_cast<TensorId>(builder_.tables().tensors.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    AddOutput(outputs[i], id, static_cast<int>(i), wanted);
  }
  builder_.SetOutputs(id, {first, static_cast<uint32_t>(outputs.size())});
}

void Recorder::AddOutput(TFE_TensorHandle* handle, OpId id, int index, bool wanted) {
  TensorRecord record = Describe(handle);
  record.producer = id;
  record.output_index = static_cast<uint16_t>(index);
  const TensorId tensor = builder_.AddTensor(record);
  const PayloadState state = values_.Keep(tensor, record, handle, wanted);
  builder_.tables().tensors[tensor].state = state;
  const KnownHandle known{tensor, EdgeClass::kOp};
  if (payloads_->Handle(tensor) != nullptr) {
    // An op that gives back a handle that is known already has made no new one.
    const bool is_new = handles_.InsertHeld(handle, known, true);
    if (is_new) builder_.tables().tensors[tensor].handle = reinterpret_cast<uint64_t>(handle);
  } else if (callbacks_) {
    // Nobody tells of deletions.
    handles_.InsertPinned(handle, known);
  } else {
    handles_.InsertUnheld(handle, known);
  }
}

bool Recorder::Wants(OpId id) {
  if (options_.save == nullptr) return true;
  if (saves_nothing_) return false;
  FactsScratch scratch;
  const bool wanted = options_.save->Matches(FactsOf(builder_.tables(), id, scratch), nullptr);
  if (wanted) ++num_selected_;
  return wanted;
}

bool Recorder::HasNonFinite(std::span<TFE_TensorHandle* const> outputs) const {
  for (TFE_TensorHandle* handle : outputs) {
    const Result<Payload> value = tf::ReadHandle(handle);
    if (!value.ok()) continue;
    const auto counts = CountNonFinite(*value);
    if (counts[0] + counts[1] + counts[2] > 0) return true;
  }
  return false;
}

bool Recorder::StopsAt(OpId id, std::span<TFE_TensorHandle* const> outputs) {
  if (options_.halt != nullptr) {
    FactsScratch scratch;
    halted_ = options_.halt->Matches(FactsOf(builder_.tables(), id, scratch), nullptr);
  }
  if (!halted_ && !(options_.raise_on_nan && HasNonFinite(outputs))) return false;
  stopped_at_ = id;
  if (!halted_) KeepWhatStopped(id, outputs);
  return true;
}

// The report is about these values, whatever save= says.
void Recorder::KeepWhatStopped(OpId id, std::span<TFE_TensorHandle* const> outputs) {
  const Span tensors = builder_.tables().ops[id].outputs;
  for (uint32_t i = 0; i < tensors.count && i < outputs.size(); ++i) {
    const TensorId tensor = tensors.first + i;
    const TensorRecord& record = builder_.tables().tensors[tensor];
    if (record.state != PayloadState::kNotKept) continue;
    const PayloadState state = values_.Keep(tensor, record, outputs[i], true);
    if (payloads_->Handle(tensor) != nullptr) {
      handles_.InsertHeld(outputs[i], {tensor, EdgeClass::kOp});
    }
    builder_.tables().tensors[tensor].state = state;
  }
}

// Ends the run by making this op fail in TensorFlow's eyes: the model unwinds as from any error.
void Recorder::StopAfter(OpId id, TFE_TensorHandle** outputs, int* num_outputs, TF_Status* status) {
  if (!StopsAt(id, {outputs, static_cast<size_t>(*num_outputs)})) return;
  for (int i = 0; i < *num_outputs; ++i) {
    if (HandleMap::NumWatching() > 0) OnDelete(outputs[i]);
    tf::Api().TFE_DeleteTensorHandle(outputs[i]);
    outputs[i] = nullptr;
  }
  FailAsStopped(num_outputs, status);
}

std::string Recorder::WhyStopped() const {
  return (halted_ ? "recording halted after " : "non-finite value in ") +
         builder_.OpLabel(stopped_at_);
}

void Recorder::FailAsStopped(int* num_outputs, TF_Status* status) const {
  *num_outputs = 0;
  if (!refused_.empty()) {
    tf::Api().TF_SetStatus(status, kTfFailedPrecondition, refused_.c_str());
    return;
  }
  tf::Api().TF_SetStatus(status, halted_ ? kTfCancelled : kTfInvalidArgument, WhyStopped().c_str());
}

// Op callbacks come after the op and do not show variables' state before it.
Status Recorder::RecordCallback(const std::string& type,
                                const std::vector<TFE_TensorHandle*>& inputs,
                                const std::vector<TFE_TensorHandle*>& outputs) {
  if (stopped_at_ != kNoId) return FailedPrecondition(WhyStopped());
  if (type == "_EagerConst" && inputs.size() == 1 && outputs.size() == 1) {
    WrapConstant(inputs[0], outputs[0]);
    return Status::Ok();
  }
  const LocationId location = Locate();
  Pending pending;
  const TypeInfo& info = InfoOf(type, nullptr);
  pending.traits = info.traits;
  pending.def = info.def;
  std::vector<EdgeRecord> edges;
  ResolveInputs(inputs, pending, edges);
  Begin(info.name, location, edges, pending);
  builder_.op(pending.id).start_ns = Now();
  if (pending.traits.is_function_call) {
    builder_.op(pending.id).opaque_reason =
        builder_.Intern("op callbacks do not see inside a compiled function");
  }
  const bool reads =
      pending.traits.is_variable_read && !pending.watches.empty() && !outputs.empty();
  if (reads) builder_.op(pending.id).kind = OpKind::kVariableRead;
  AddOutputs(pending.id, outputs, Wants(pending.id));
  if (reads) {
    const TensorId first = builder_.op(pending.id).outputs.first;
    variables_.OnRead(pending.watches[0].variable, pending.id, outputs[0], first);
  }
  Progress();
  return StopsAt(pending.id, outputs) ? FailedPrecondition(WhyStopped()) : Status::Ok();
}

}  // namespace flowscope::capture
