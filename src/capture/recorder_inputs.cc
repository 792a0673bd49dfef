// Where each input of an op comes from.
#include <algorithm>
#include <ranges>

#include "capture/recorder.h"

namespace flowscope::capture {
namespace {

bool IsResource(TFE_TensorHandle* handle) {
  return tf::Api().TFE_TensorHandleDataType(handle) == static_cast<int>(DType::kResource);
}

bool IsVariant(TFE_TensorHandle* handle) {
  return tf::Api().TFE_TensorHandleDataType(handle) == static_cast<int>(DType::kVariant);
}

int RankOf(TFE_TensorHandle* handle) {
  const tf::StatusPtr status = tf::NewStatus();
  const int rank = tf::Api().TFE_TensorHandleNumDims(handle, status.get());
  return tf::Api().TF_GetCode(status.get()) == 0 ? rank : -1;
}

std::string HashOf(TFE_TensorHandle* handle) {
  const Result<Payload> payload = tf::ReadHandle(handle);
  return payload.ok() ? ContentHash(*payload) : std::string();
}

}  // namespace

void Recorder::DeclareInput(TFE_TensorHandle* handle, const std::string& path) {
  if (handles_.Find(handle)) return;
  AddSourceEdge(handle, OpKind::kInput, EdgeClass::kInput, path);
}

void Recorder::DeclareArrayInput(const std::vector<TFE_TensorHandle*>& forms,
                                 const std::string& path) {
  if (forms.empty()) return;
  const EdgeRecord edge = AddSourceEdge(forms[0], OpKind::kInput, EdgeClass::kInput, path);
  const Result<Dims> dims = tf::HandleDims(forms[0]);
  if (!dims.ok()) return;
  ArrayInput input{path, *dims, {edge.tensor, EdgeClass::kInput}, {}};
  for (TFE_TensorHandle* form : forms) {
    input.forms.push_back({tf::ShareHandle(form), HashOf(form), std::nullopt});
  }
  array_inputs_.push_back(std::move(input));
}

// The input is shown as the run took it. Where it took a second form too, that is a second source
// of the same path.
KnownHandle Recorder::TakeForm(ArrayInput& input, ArrayForm& form) {
  if (form.known) return *form.known;
  TFE_TensorHandle* value = form.value.get();
  const bool first = std::ranges::none_of(
      input.forms, [](const ArrayForm& other) { return other.known.has_value(); });
  if (!first) {
    const EdgeRecord edge = AddSourceEdge(value, OpKind::kInput, EdgeClass::kInput, input.path);
    form.known = KnownHandle{edge.tensor, EdgeClass::kInput};
    return *form.known;
  }
  TensorRecord& tensor = builder_.tables().tensors[input.source.tensor];
  TensorRecord record = DescribeTensor(builder_, value, true, asked_.get());
  record.producer = tensor.producer;
  record.handle = reinterpret_cast<uint64_t>(value);
  record.state = values_.KeepSource(input.source.tensor, record, value);
  tensor = record;
  handles_.InsertHeld(value, input.source);
  form.known = input.source;
  return input.source;
}

// TensorFlow wraps a Python number or array for a call: not an op of the model.
void Recorder::WrapConstant(TFE_TensorHandle* input, TFE_TensorHandle* output) {
  if (const auto known = handles_.Find(input)) {
    payloads_->Pin(tf::ShareHandle(output));
    handles_.InsertHeld(output, *known);
    return;
  }
  Wrapped wrapped;
  wrapped.handle = tf::ShareHandle(output);
  wrapped.rank = RankOf(output);
  wrapped_.insert_or_assign(output, std::move(wrapped));
}

void Recorder::ResolveInputs(const std::vector<TFE_TensorHandle*>& inputs, Pending& pending,
                             std::vector<EdgeRecord>& edges) {
  const bool literal_producer = !pending.in_body && IsLiteralProducer(inputs, pending);
  if (literal_producer) pending.traits.kind = OpKind::kLiteralProducer;
  edges.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    EdgeRecord edge = IsResource(inputs[i])
                          ? ResolveResource(inputs[i], pending)
                          : ResolveInput(inputs[i], pending, static_cast<int>(i),
                                         static_cast<int>(inputs.size()), literal_producer);
    // The address of a value that is let go comes back as another's: it would tell nothing.
    edge.handle = payloads_->lets_go() ? 0 : reinterpret_cast<uint64_t>(inputs[i]);
    edges.push_back(edge);
  }
}

EdgeRecord Recorder::ResolveInput(TFE_TensorHandle* handle, const Pending& pending, int index,
                                  int count, bool literal_producer) {
  if (const auto known = handles_.Find(handle)) return {known->tensor, known->edge_class, 0};
  const auto wrapped = wrapped_.find(handle);
  if (wrapped != wrapped_.end()) {
    return ResolveWrapped(handle, wrapped->second, pending, index, count, literal_producer);
  }
  return literal_producer ? AddLiteral(handle) : AddUnknown(handle);
}

EdgeRecord Recorder::ResolveWrapped(TFE_TensorHandle* handle, Wrapped& wrapped,
                                    const Pending& pending, int index, int count,
                                    bool literal_producer) {
  if (wrapped.rank != 0) {
    if (const auto input = FindArrayInput(handle)) {
      payloads_->Pin(tf::ShareHandle(handle));
      handles_.InsertHeld(handle, *input);
      return {input->tensor, input->edge_class, 0};
    }
  }
  if (wrapped.rank == 0 || literal_producer) return AddLiteral(handle);
  if (values_read_.empty() || IsArgumentInput(pending.def, index, count)) {
    return AddSourceEdge(handle, OpKind::kConstant, EdgeClass::kConstant, "");
  }
  const EdgeRecord edge = AddSourceEdge(handle, OpKind::kFromPython, EdgeClass::kFromPython, "");
  NoteOrigins(builder_.tables().tensors[edge.tensor].producer, handle);
  return edge;
}

EdgeRecord Recorder::AddLiteral(TFE_TensorHandle* handle) {
  TensorRecord record = Describe(handle);
  record.handle = reinterpret_cast<uint64_t>(handle);
  const TensorId tensor = builder_.AddTensor(record);
  builder_.tables().tensors[tensor].state = values_.KeepSource(tensor, record, handle);
  handles_.InsertHeld(handle, {tensor, EdgeClass::kLiteral});
  return {tensor, EdgeClass::kLiteral, 0};
}

// Nobody made this handle while we looked: it existed before, or it shares a buffer with a recorded
// tensor (DLPack).
EdgeRecord Recorder::AddUnknown(TFE_TensorHandle* handle) {
  // A variant of rank zero, such as a dataset, is no number that was written in the call.
  if (!IsVariant(handle) && RankOf(handle) == 0) return AddLiteral(handle);
  if (const auto alias = FindByBuffer(handle)) {
    payloads_->Pin(tf::ShareHandle(handle));
    handles_.InsertHeld(handle, *alias);
    return {alias->tensor, alias->edge_class, 0};
  }
  return AddSourceEdge(handle, OpKind::kConstant, EdgeClass::kConstant, "");
}

EdgeRecord Recorder::ResolveResource(TFE_TensorHandle* handle, Pending& pending) {
  const VariableId variable = variables_.Resolve(handle);
  if (variable != kNoId) pending.watches.push_back({variable, handle});
  const EdgeClass edge_class = variable != kNoId ? EdgeClass::kVariable : EdgeClass::kResource;
  if (const auto known = handles_.Find(handle)) return {known->tensor, edge_class, 0};
  TensorRecord record;
  record.dtype = DType::kResource;
  record.state = PayloadState::kNoValue;
  record.handle = reinterpret_cast<uint64_t>(handle);
  const TensorId tensor = builder_.AddTensor(record);
  handles_.InsertHeld(handle, {tensor, edge_class});  // pinned by the variable tracker
  return {tensor, edge_class, 0};
}

EdgeRecord Recorder::AddSourceEdge(TFE_TensorHandle* handle, OpKind kind, EdgeClass edge_class,
                                   std::string_view name) {
  const OpId source = builder_.AddSource(kind, OpKindName(kind), name, Now());
  TensorRecord record = Describe(handle);
  record.producer = source;
  record.handle = reinterpret_cast<uint64_t>(handle);
  const TensorId tensor = builder_.AddTensor(record);
  builder_.SetOutputs(source, {tensor, 1});
  builder_.tables().tensors[tensor].state = values_.KeepSource(tensor, record, handle);
  handles_.InsertHeld(handle, {tensor, edge_class});
  return {tensor, edge_class, 0};
}

// DLPack out and in gives a new handle on the same memory. While the recording holds the first, no
// other tensor can have that address. Several ops can share one memory: the last one of the same
// dtype and shape is meant.
std::optional<KnownHandle> Recorder::FindByBuffer(TFE_TensorHandle* handle) {
  const void* address = tf::BufferAddress(handle);
  if (address == nullptr) return std::nullopt;
  const std::vector<TensorRecord>& tensors = builder_.tables().tensors;
  for (; buffers_done_ < tensors.size(); ++buffers_done_) {
    TFE_TensorHandle* held = payloads_->Handle(buffers_done_);
    if (held == nullptr || tensors[buffers_done_].producer == kNoId) continue;
    if (const void* at = tf::BufferAddress(held)) buffers_[at].push_back(buffers_done_);
  }
  const auto found = buffers_.find(address);
  if (found == buffers_.end()) return std::nullopt;
  const TensorRecord wanted = DescribeTensor(builder_, handle, true, asked_.get());
  for (const TensorId id : std::views::reverse(found->second)) {
    const TensorRecord& tensor = tensors[id];
    const OpKind kind = builder_.op(tensor.producer).kind;
    if (kind == OpKind::kVariableRead) continue;  // the variable's own memory
    if (tensor.dtype != wanted.dtype || tensor.dims != wanted.dims) continue;
    return KnownHandle{id, EdgeClassOf(kind)};
  }
  return std::nullopt;
}

std::optional<KnownHandle> Recorder::FindArrayInput(TFE_TensorHandle* handle) {
  if (array_inputs_.empty()) return std::nullopt;
  const Result<Dims> dims = tf::HandleDims(handle);
  if (!dims.ok()) return std::nullopt;
  std::string hash;
  for (ArrayInput& input : array_inputs_) {
    if (input.dims != *dims) continue;
    if (hash.empty()) hash = HashOf(handle);
    for (ArrayForm& form : input.forms) {
      if (form.hash == hash) return TakeForm(input, form);
    }
  }
  return std::nullopt;
}

bool Recorder::IsWrappedArgument(TFE_TensorHandle* handle, const Pending& pending, int index,
                                 int count) {
  const auto known = handles_.Find(handle);
  if (known) return known->edge_class == EdgeClass::kLiteral;
  if (IsResource(handle) || IsVariant(handle)) return false;
  const auto wrapped = wrapped_.find(handle);
  const bool is_wrapped = wrapped != wrapped_.end();
  if ((is_wrapped ? wrapped->second.rank : RankOf(handle)) == 0) return true;
  // Also where it was wrapped before the run: TensorFlow and models keep shapes for the next time.
  return IsArgumentInput(pending.def, index, count) && (is_wrapped || !FindByBuffer(handle));
}

// Fill, Range, LinSpace: everything the op takes was written in the call.
bool Recorder::IsLiteralProducer(const std::vector<TFE_TensorHandle*>& inputs,
                                 const Pending& pending) {
  if (pending.traits.kind != OpKind::kCompute || pending.def == nullptr) return false;
  if (pending.def->is_stateful || pending.traits.no_outputs) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!IsWrappedArgument(inputs[i], pending, static_cast<int>(i),
                           static_cast<int>(inputs.size()))) {
      return false;
    }
  }
  return true;
}

void Recorder::OnValueRead(TFE_TensorHandle* handle) {
  if (const auto known = handles_.Find(handle)) values_read_.emplace_back(handle, known->tensor);
}

void Recorder::OnExport(TFE_TensorHandle* handle) {
  const auto known = handles_.Find(handle);
  if (!known || payloads_->Handle(known->tensor) != nullptr) return;  // a held one is found anyway
  const void* address = tf::BufferAddress(handle);
  if (address == nullptr) return;
  payloads_->Pin(tf::ShareHandle(handle));
  buffers_[address].push_back(known->tensor);
}

void Recorder::NoteOrigins(OpId source, TFE_TensorHandle* handle) {
  const TensorRecord made = DescribeTensor(builder_, handle, true, asked_.get());
  const std::string hash = HashOf(handle);
  for (const auto& [read, tensor] : values_read_) {
    const TensorRecord& record = builder_.tables().tensors[tensor];
    if (record.dtype != made.dtype || record.dims != made.dims) continue;
    if (payloads_->Handle(tensor) == nullptr || HashOf(payloads_->Handle(tensor)) != hash) continue;
    builder_.tables().origins.push_back({source, tensor});
  }
}

void Recorder::ForgetInputs(const TFE_Op* op) {
  std::erase_if(added_inputs_, [op](const AddedInput& added) { return added.op == op; });
}

void Recorder::OnAddInput(TFE_Op* op, TFE_TensorHandle* handle) {
  if (!handles_.watching() && added_inputs_.empty()) return;
  // TensorFlow uses an op object again after it was cleared, also where it never ran.
  if (tf::Api().TFE_OpGetFlatInputCount(op, asked_.get()) == 0) ForgetInputs(op);
  if (const auto known = handles_.FindUnheld(handle)) added_inputs_.push_back({op, handle, *known});
}

// The op has held these since it got them, so no other tensor can have their addresses; but their
// entries went when everybody else let go.
std::vector<TFE_TensorHandle*> Recorder::ReviveInputs(const TFE_Op* op) {
  std::vector<TFE_TensorHandle*> revived;
  if (added_inputs_.empty()) return revived;
  const std::vector<TFE_TensorHandle*> inputs = tf::FlatInputs(op, asked_.get());
  for (const AddedInput& added : added_inputs_) {
    const bool held = added.op == op && std::ranges::find(inputs, added.handle) != inputs.end();
    if (held && handles_.Revive(added.handle, added.known)) revived.push_back(added.handle);
  }
  ForgetInputs(op);
  return revived;
}

}  // namespace flowscope::capture
