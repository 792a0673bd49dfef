#include "replay/replayer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "interp/attr_value.h"
#include "interp/function_bodies.h"
#include "interp/op_facts.h"
#include "interp/op_function.h"
#include "replay/order.h"
#include "replay/purity.h"
#include "replay/values.h"
#include "trace/attrs.h"

namespace flowscope::replay {
namespace {

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

// TensorFlow lists every kernel that it has after the first line.
// A description of elements to come, which are sources when they come.
bool MakesDataset(const tf::OpDef& def) {
  return def.outputs.size() == 1 && def.outputs.front().name == "handle" &&
         def.outputs.front().type == DType::kVariant && interp::HasAttr(def, "output_shapes");
}

// The next element of a dataset, or an optional that holds it.
bool TakesFromIterator(const tf::OpDef& def) {
  if (!interp::HasInput(def, "iterator") || def.outputs.empty()) return false;
  const std::string_view first = def.outputs.front().name;
  return first == "components" || first == "optional";
}

}  // namespace

Replayer::Replayer(const Trace& trace, Sandbox& sandbox, CompareOptions options)
    : trace_(trace),
      sandbox_(sandbox),
      options_(std::move(options)),
      history_(trace),
      opened_(trace.num_ops(), false),
      ran_inside_(trace.num_ops(), false),
      on_device_(trace.num_ops(), false) {
  for (const RegionRecord& region : trace.tables().regions) {
    if (region.op != kNoId) opened_[region.op] = true;
  }
  for (const OpRecord& op : trace.tables().ops) {
    if (op.run_counter == 0) continue;
    for (RegionId at = op.region; at != kNoId; at = trace.region(at).parent) {
      const OpId opener = trace.region(at).op;
      if (opener == kNoId) continue;
      if (ran_inside_[opener]) break;
      ran_inside_[opener] = true;
    }
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
  if (op.kind == OpKind::kIntervention) {
    return Unverified("kinds", Name(id) +
                                   " is said to be a value that was put in place of "
                                   "another: nothing shows that");
  }
  // What has run and what has not is an invariant, which holds by now.
  if (trace_.str(op.type) != OpKindName(op.kind)) {
    return Failed("kinds",
                  Name(id) + " is said to be a source of kind " + std::string(OpKindName(op.kind)));
  }
  return Declared("source:" + std::string(OpKindName(op.kind)));
}

// Calls of functions whose ops have rows of their own.
std::optional<Verdict> Replayer::JudgeCall(OpId id, const tf::OpDef* def) const {
  const OpRecord& op = trace_.op(id);
  const bool can_be = def == nullptr || interp::KindOf(def->name) == interp::NodeKind::kCall ||
                      interp::IsControlFlowOp(def->name);
  if (op.kind == OpKind::kCall && !can_be) {
    return Failed("kinds", Name(id) + " is said to be a call of a function");
  }
  if (op.kind != OpKind::kCall || op.opaque_reason != 0) return std::nullopt;
  if (opened_[id]) {
    // What it gives is made by nothing that could be looked at, so the call itself has to show it.
    const bool gives_what_it_took =
        !ran_inside_[id] && op.error == 0 && op.outputs.count > 0 && !IsVariableOp(id);
    return gives_what_it_took ? std::nullopt : std::optional(Proved("opened_call"));
  }
  if (op.error != 0 || trace_.info().recorder == "callbacks") return std::nullopt;
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
    return Declared("source:random", Name(id) + " draws from a generator that its kernel keeps");
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
  // CheckSignatures has seen that the dtypes are those of the definition.
  const auto is_handle = [&](uint32_t i) {
    return trace_.tensor(outputs.first + i).dtype == DType::kResource;
  };
  bool only_handles = outputs.count > 0;
  for (uint32_t i = 0; i < outputs.count; ++i) only_handles = only_handles && is_handle(i);
  if (only_handles) return Declared("handle");
  if (MakesDataset(def)) return Declared("dataset");
  if (TakesNextElement(id, def)) {
    return Declared("source:iterator", Name(id) +
                                           " takes the next element of a dataset out of what "
                                           "holds it");
  }
  if (!takes_other) return std::nullopt;
  if (outputs.count == 0) return Declared("effect");
  if (interp::HasInput(def, "table_handle")) {
    return Declared("source:table",
                    Name(id) + " gives what a table holds, which is not in the record");
  }
  if (TakesFromIterator(def)) {
    return Declared("source:iterator", Name(id) + " gives the next element of a dataset");
  }
  return Unverified("resource", Name(id) + " reads a resource whose content is not in the record");
}

std::optional<Verdict> Replayer::JudgePurity(OpId id, const tf::OpDef* def, const AttrMap& attrs) {
  const std::string type(trace_.str(trace_.op(id).type));
  const interp::AttrList list(attrs.begin(), attrs.end());
  if (def != nullptr) {
    const std::string reason = WhyNotAgain(*def, list);
    if (!reason.empty()) return Unverified("stateful", Name(id) + " " + reason);
  }
  for (const std::string_view function : interp::FunctionsNamedBy(type, list)) {
    const Status added = sandbox_.AddFunction(std::string(function));
    if (added.ok()) continue;
    const bool unknown = def == nullptr && trace_.op(id).kind != OpKind::kCall;
    if (unknown) return Unverified("kernel", Name(id) + ": this TensorFlow has no op of that type");
    return Unverified("opaque", Name(id) + " cannot be run again whole: " + added.message());
  }
  return std::nullopt;
}

// From an optional that an iterator gave, as it is or handed on.
bool Replayer::TakesNextElement(OpId id, const tf::OpDef& def) const {
  const auto holds_element = [&](const EdgeRecord& edge) {
    OpId producer = edge.tensor == kNoId ? kNoId : trace_.tensor(edge.tensor).producer;
    while (producer != kNoId && trace_.str(trace_.op(producer).type) == "Identity") {
      const TensorId given = trace_.inputs(producer).front().tensor;
      producer = given == kNoId ? kNoId : trace_.tensor(given).producer;
    }
    if (producer == kNoId) return false;
    const tf::OpDef* maker = tf::FindOpDef(trace_.str(trace_.op(producer).type));
    return maker != nullptr && TakesFromIterator(*maker);
  };
  const bool hands_on = def.name == "Identity" && trace_.op(id).outputs.count == 1 &&
                        trace_.tensor(trace_.op(id).outputs.first).dtype == DType::kVariant;
  if (!interp::HasInput(def, "optional") && !hands_on) return false;
  return std::ranges::any_of(trace_.inputs(id), holds_element);
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
  if (SameBits(*held, *recorded)) {
    if (version->index == 0 || version->writer != kNoId) return Proved("version_history");
    return Declared("version_history",
                    fmt::format("{} gives version {} of {}, which no op of the recording wrote",
                                Name(id), access.version, variable));
  }
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
  return exact ? Proved("replayed") : Within();
}

// Equal within the tolerance; says how far.
Verdict Replayer::Within() {
  Verdict verdict = Proved("within_tolerance");
  verdict.message = std::exchange(distance_, {});
  return verdict;
}

bool Replayer::RanElsewhere(const Setup& setup, const Outcome& outcome) const {
  if (setup.device.empty() || outcome.outputs.empty()) return false;
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
  if (verdict.standing != Standing::kFailed) return verdict;
  if (trace_.op(id).attrs == 0 && trace_.info().recorder == "callbacks") {
    return Unverified("attributes", "op callbacks do not tell the attributes of " + Name(id) +
                                        ", and without them " + verdict.message);
  }
  switch (LookAtOrder(*this, id)) {
    case Order::kVaries:
      return Unverified("deterministic", Name(id) +
                                             " gives another value every time that it runs on the "
                                             "same inputs");
    case Order::kCouldVary:
      return Unverified("deterministic",
                        verdict.message +
                            ", no more than the order of its additions can change, "
                            "which its threads choose");
    default:
      return verdict;
  }
}

Verdict Replayer::JudgeRun(OpId id, bool on_device) {
  on_device_[id] = on_device;
  distance_.clear();
  const Result<Setup> setup = Prepare(id);
  if (!setup.ok()) {
    const Status status = setup.status();
    if (IsOurs(status)) error_ = status;
    const std::string message = Name(id) + ": " + status.message();
    return status.code() == StatusCode::kUnavailable ? NotKept(message)
                                                     : Unverified("inputs", message);
  }
  Outcome outcome = Run(id, *setup);
  if (outcome.ok() && RanElsewhere(*setup, outcome)) {
    return on_device ? NoSuchDevice(id) : JudgeRun(id, true);
  }
  const bool failed_then = trace_.op(id).error != 0;
  if (!outcome.ok()) return failed_then ? JudgeFailure(id, outcome) : JudgeError(id, outcome);
  if (failed_then) {
    return Unverified("replay", Name(id) + " failed in the recording and does not fail here");
  }
  bool exact = true;
  if (auto verdict = Compare(id, *setup, outcome, exact)) return *std::move(verdict);
  Carry(id, outcome);
  if (!exact) return Within();
  if (!setup->variables.empty()) return Proved("private_variable");
  const bool whole = trace_.op(id).kind == OpKind::kCall || trace_.op(id).opaque_reason != 0 ||
                     IsPartitionedCall(setup->type);
  return Proved(whole ? "replayed_whole" : "replayed");
}

// TensorFlow puts an op that asks for a device that is not there on another one.
Verdict Replayer::NoSuchDevice(OpId id) const {
  return Unverified("kernel", Name(id) + " ran on " +
                                  std::string(trace_.str(trace_.op(id).device)) +
                                  ", and no such device is here");
}

// Of an op that failed in the recording, and does so here.
Verdict Replayer::JudgeFailure(OpId id, const Outcome& outcome) const {
  const std::string recorded = FirstLine(std::string(trace_.str(trace_.op(id).error)));
  const std::string now = FirstLine(outcome.message);
  if (recorded == now) return Proved("replayed");
  if (CannotRunHere(outcome)) return JudgeError(id, outcome);
  if (!options_.same_tensorflow) return Proved("replayed");
  return Unverified("replay", Name(id) + " failed in the recording with \"" + recorded +
                                  "\", and here with \"" + now + "\"");
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

}  // namespace flowscope::replay
