// A compiled function, opened: its body runs op by op inside the recording.
#include <algorithm>

#include "capture/compiled_difference.h"
#include "capture/function_host.h"
#include "capture/recorder.h"
#include "interp/function_bodies.h"
#include "interp/op_function.h"
#include "trace/attrs.h"
#include "trace/function_name.h"

namespace flowscope::capture {

std::shared_ptr<interp::PlanCache> Recorder::Plans() {
  static const std::shared_ptr<interp::PlanCache> plans = interp::NewPlanCache();
  return plans;
}

std::string Recorder::FunctionOf(OpId call) const {
  const OpRecord& op = builder_.tables().ops[call];
  std::string type(builder_.tables().strings.View(op.type));
  if (type != "PartitionedCall" && type != "StatefulPartitionedCall") return type;
  const Result<std::map<std::string, std::string>> attrs =
      SplitAttrs(builder_.tables().attrs.View(op.attrs));
  if (!attrs.ok() || attrs->count("f") == 0) return "";
  const Result<AttrData> function = DecodeAttr(attrs->at("f"));
  if (!function.ok()) return "";
  const auto* name = std::get_if<std::string>(&function->scalar);
  return name == nullptr ? "" : *name;
}

bool Recorder::OpensFunction(OpId call) {
  if (options_.functions == FunctionMode::kInside) return true;
  if (options_.functions == FunctionMode::kCall) return false;
  FactsScratch scratch;
  return options_.open_functions->Matches(FactsOf(builder_.tables(), call, scratch), nullptr);
}

// A loop or branch that the program runs by itself is the one node of a function of its own.
Recorder::CalledFunction Recorder::Called(OpId call) const {
  const OpRecord& op = builder_.tables().ops[call];
  const std::string type(builder_.tables().strings.View(op.type));
  if (!interp::IsControlFlowOp(type)) return {FunctionOf(call), {}};
  Result<std::string> definition =
      interp::FunctionOfOp(type, builder_.tables().attrs.View(op.attrs), op.inputs.count);
  return definition.ok() ? CalledFunction{type, *std::move(definition)} : CalledFunction();
}

// Empty where the call must run compiled; its record then says why.
Recorder::CalledFunction Recorder::FunctionToOpen(TFE_Context* context, OpId call) {
  std::string reason;
  CalledFunction called = Called(call);
  const std::string& function = called.name;
  if (!OpensFunction(call)) {
    reason = "functions= asks for this call as one op";
  } else if (function.empty()) {
    reason = "the call does not name its function";
  } else {
    const interp::Interpreter::Findings findings =
        interpreter_.Examine(context, function, called.definition);
    reason = findings.refused.value_or("");
    if (reason.empty()) NoteFindings(function, findings);
  }
  builder_.op(call).opaque_reason = builder_.Intern(reason);
  if (!reason.empty()) KeepBodies(context, call);
  return reason.empty() && refused_.empty() ? called : CalledFunction();
}

// The bodies of what runs compiled: replay needs them, and the program may have dropped them by
// then.
void Recorder::KeepBodies(TFE_Context* context, OpId op) {
  TraceTables& tables = builder_.tables();
  const std::string type(tables.strings.View(tables.ops[op].type));
  const std::string attrs(tables.attrs.View(tables.ops[op].attrs));
  const Result<std::map<std::string, std::string>> split = SplitAttrs(attrs);
  if (!split.ok()) return;
  const interp::AttrList list(split->begin(), split->end());
  for (const std::string_view name : interp::FunctionsNamedBy(type, list)) {
    for (const auto& [function, body] :
         interp::FetchWithCallees(context, std::string(name), kept_bodies_)) {
      tables.functions.push_back({builder_.Intern(function), tables.attrs.Intern(body)});
    }
  }
}

void Recorder::NoteFindings(const std::string& function,
                            const interp::Interpreter::Findings& findings) {
  if (!findings.compiled_by_xla.empty()) {
    AddNote("the plain run compiles '" + ReadableFunctionName(findings.compiled_by_xla) +
            "' with XLA; opened, it gives what its ops give, which can differ in the last bits "
            "(compare_compiled=True tells by how much)");
  }
  if (options_.compare_compiled && calls_inside_ == 0 && !findings.effect.empty()) {
    refused_ = "compare_compiled=True would run function '" + ReadableFunctionName(function) +
               "' twice, and it has an effect: " + findings.effect;
  }
}

void Recorder::RunInside(TFE_Context* context, const CalledFunction& called, OpId call,
                         const std::vector<TFE_TensorHandle*>& inputs, TFE_TensorHandle** outputs,
                         int* num_outputs, TF_Status* status) {
  FunctionHost host(*this, call, builder_.op(call).location, !called.definition.empty());
  ++calls_inside_;
  std::vector<tf::HandlePtr> results =
      interpreter_.Run(context, called.name, inputs, host, status, called.definition);
  --calls_inside_;
  if (tf::Api().TF_GetCode(status) != 0) return;
  if (results.size() > static_cast<size_t>(*num_outputs)) {
    tf::Api().TF_SetStatus(status, kTfInternal, "a function gave more outputs than were asked for");
    return;
  }
  *num_outputs = static_cast<int>(results.size());
  for (size_t i = 0; i < results.size(); ++i) outputs[i] = results[i].release();
}

// The same call compiled, as TensorFlow would have run it: its outputs are compared and dropped.
void Recorder::CompareCompiled(TFE_Op* op, OpId call, TFE_TensorHandle* const* outputs,
                               int num_outputs, TF_Status* status) {
  if (!options_.compare_compiled || calls_inside_ > 0 || tf::Api().TF_GetCode(status) != 0) return;
  std::vector<TFE_TensorHandle*> raw(static_cast<size_t>(std::max(num_outputs, 1)), nullptr);
  const tf::StatusPtr ours = tf::NewStatus();
  int count = num_outputs;
  tf::Api().TFE_Execute(op, raw.data(), &count, ours.get());
  if (tf::Api().TF_GetCode(ours.get()) != 0) {
    return AddNote("compare_compiled: " + builder_.OpLabel(call) +
                   " could not be run compiled: " + tf::Api().TF_Message(ours.get()));
  }
  for (int i = 0; i < count; ++i) {
    const tf::HandlePtr compiled(raw[static_cast<size_t>(i)]);
    const Result<Payload> a = tf::ReadHandle(outputs[i]);
    const Result<Payload> b = tf::ReadHandle(compiled.get());
    if (!a.ok() || !b.ok()) continue;  // a variant or a resource
    Result<CompiledDifference> difference = Compare(*a, *b);
    if (!difference.ok()) {
      AddNote("compare_compiled: output " + std::to_string(i) + " of " + builder_.OpLabel(call) +
              ": " + difference.status().message());
      continue;
    }
    difference->call = call;
    difference->output = static_cast<uint32_t>(i);
    builder_.tables().compiled_differences.push_back(*difference);
  }
}

void Recorder::AddLineTo(TF_Status* status, LocationId location) const {
  const bool is_ours = stopped_at_ != kNoId || !refused_.empty();
  if (is_ours || location == kNoId || call_sites_ == nullptr) return;
  CallSite site;
  if (lines_now_) {
    const LocationRecord& row = builder_.tables().locations[location];
    const StringPool& strings = builder_.tables().strings;
    site = {std::string(strings.View(row.file)), std::string(strings.View(row.function)),
            std::string(strings.View(row.text)), row.line};
  } else {
    site = call_sites_->Resolve(location);
  }
  std::string message = tf::Api().TF_Message(status);
  message += "\n\t [[asked for in " + site.file + ", line " + std::to_string(site.line) + ", in " +
             site.function + (site.text.empty() ? "" : ": " + site.text) + "]]";
  tf::Api().TF_SetStatus(status, tf::Api().TF_GetCode(status), message.c_str());
}

// The call's outputs are those of ops inside: consumers keep those as parents, and the call lists
// the same values as its own.
void Recorder::FinishCall(const Pending& pending, std::span<TFE_TensorHandle*> outputs) {
  const bool wanted = Wants(pending.id);
  const auto first = static_cast<TensorId>(builder_.tables().tensors.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    TensorRecord record = Describe(outputs[i]);
    record.producer = pending.id;
    record.output_index = static_cast<uint16_t>(i);
    const TensorId tensor = builder_.AddTensor(record);
    const auto known = handles_.Find(outputs[i]);
    builder_.tables().tensors[tensor].state =
        known ? KeepAgain(tensor, known->tensor, outputs[i], wanted)
              : values_.Keep(tensor, record, outputs[i], wanted);
    if (!known) handles_.InsertPinned(outputs[i], {tensor, EdgeClass::kOp});
  }
  builder_.SetOutputs(pending.id, {first, static_cast<uint32_t>(outputs.size())});
}

// What the trace has of `inner` it has of `tensor`, the same value under the call's name.
PayloadState Recorder::KeepAgain(TensorId tensor, TensorId inner, TFE_TensorHandle* handle,
                                 bool wanted) {
  const TensorRecord record = builder_.tables().tensors[inner];
  if (record.state == PayloadState::kNotKept) {
    return values_.Keep(tensor, record, handle, wanted);
  }
  const bool has_it = record.state == PayloadState::kKept || payloads_->Handle(inner) != nullptr;
  if (has_it) payloads_->Store(tensor, tf::ShareHandle(handle));
  if (const auto stats = payloads_->StoredStats(inner)) payloads_->KeepStats(tensor, *stats);
  return record.state;
}

void Recorder::AddBodyConstant(TFE_TensorHandle* value, std::string_view name) {
  if (handles_.Find(value)) return;
  const tf::StatusPtr status = tf::NewStatus();
  if (tf::Api().TFE_TensorHandleNumDims(value, status.get()) != 0) {
    const EdgeRecord edge = AddSourceEdge(value, OpKind::kConstant, EdgeClass::kConstant, name);
    if (options_.keep_steps >= 0) body_constants_.push_back(edge.tensor);
    return;
  }
  AddLiteral(value);
}

std::shared_ptr<const BodyOrigins> Recorder::OriginsOf(const std::string& function) {
  if (options_.body_origins == nullptr) return nullptr;
  const auto known = origins_.find(function);
  if (known != origins_.end()) return known->second;
  return origins_.emplace(function, options_.body_origins->Of(function)).first->second;
}

TensorId Recorder::TensorOf(const TFE_TensorHandle* handle) const {
  const auto known = handles_.Find(handle);
  return known ? known->tensor : kNoId;
}

RegionId Recorder::OpenBodyRegion(const interp::RegionInfo& info, OpId call) {
  RegionRecord region;
  region.kind = info.kind;
  region.name = builder_.Intern(info.kind == RegionKind::kFunction ? ReadableFunctionName(info.name)
                                                                   : std::string(info.name));
  region.index = info.index;
  region.op = call;
  if (info.predicate != nullptr) {
    if (const auto known = handles_.Find(info.predicate)) region.predicate = known->tensor;
  }
  return builder_.OpenRegion(region);
}

}  // namespace flowscope::capture
