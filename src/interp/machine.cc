#include "interp/machine.h"

#include <algorithm>
#include <utility>

#include "interp/predicate.h"

namespace flowscope::interp {
namespace {

// TensorFlow's codes.
constexpr int kInvalidArgument = 3;
constexpr int kInternal = 13;

// A path of regions longer than this is shown by its ends.
constexpr size_t kShownRegions = 12;

std::string DescribeRegion(const Frame& frame) {
  std::string text(frame.label);
  if (frame.kind == RegionKind::kIteration) text += " iteration " + std::to_string(frame.index);
  if (frame.role == FrameRole::kCondition)
    text += " before iteration " + std::to_string(frame.index);
  return text;
}

}  // namespace

Machine::Machine(const Program& program, TFE_Context* context, Host& host, TF_Status* status)
    : program_(program),
      context_(context),
      host_(host),
      status_(status),
      constants_(program.bodies.size()) {}

HeldHandles Machine::Run(std::span<TFE_TensorHandle* const> args) {
  const ProgramBody& body = program_.bodies.front();
  if (args.size() != body.plan->num_args) {
    Fail(kInvalidArgument, "function '" + body.plan->name + "' takes " +
                               std::to_string(body.plan->num_args) + " tensors, not " +
                               std::to_string(args.size()));
    return {};
  }
  Frame frame;
  frame.body = &body;
  frame.label = body.plan->name;
  frame.slots.resize(body.plan->kept.size());
  for (size_t i = 0; i < args.size(); ++i) {
    if (body.plan->kept[i]) frame.slots[i] = Share(args[i]);
  }
  if (!ok()) return {};
  frame.region =
      host_.EnterRegion({RegionKind::kFunction, frame.label, frame.label, {}, 0, nullptr});
  frames_.push_back(std::move(frame));
  TellArguments();
  while (!frames_.empty()) {
    if (Step()) continue;
    Unwind();
    return {};
  }
  return std::move(results_);
}

bool Machine::Step() {
  Frame& frame = frames_.back();
  return frame.done() ? Close() : RunNode(frame);
}

bool Machine::RunNode(Frame& frame) {
  switch (frame.node().kind) {
    case NodeKind::kConstant:
      return MakeConstant(frame);
    case NodeKind::kIf:
    case NodeKind::kCase:
      return StartBranch(frame);
    case NodeKind::kWhile:
      return StartLoop(frame);
    case NodeKind::kCall: {
      HeldHandles args;
      return TakeInputs(frame, 0, args) && Open(frame, {}, std::move(args));
    }
    default:
      return RunOp(frame);
  }
}

tf::OpPtr Machine::NewOp(const Frame& frame) {
  const PlanNode& node = frame.node();
  tf::OpPtr op(tf::Api().TFE_NewOp(context_, node.attrs->op.c_str(), status_));
  if (!ok() || op == nullptr || !SetUp(op.get(), frame)) return nullptr;
  return op;
}

bool Machine::SetUp(TFE_Op* op, const Frame& frame) {
  const PlanNode& node = frame.node();
  if (!node.device.empty()) tf::Api().TFE_OpSetDevice(op, node.device.c_str(), status_);
  for (uint32_t i = 0; ok() && i < node.num_inputs; ++i) {
    const uint32_t slot = frame.plan().inputs[node.first_input + i].slot;
    tf::Api().TFE_OpAddInput(op, frame.slots[slot].get(), status_);
  }
  for (const auto& [name, value] : node.attrs->eager) {
    if (!ok()) return false;
    tf::Api().TFE_OpSetAttrValueProto(op, name.c_str(), value.data(), value.size(), status_);
  }
  return ok();
}

bool Machine::RunOp(Frame& frame) {
  const tf::OpPtr op = NewOp(frame);
  if (op == nullptr) return Checked() && Fail(kInternal, "TensorFlow made no op");
  const uint32_t expected = frame.node().num_outputs;
  raw_outputs_.assign(std::max<size_t>(expected, 1), nullptr);
  auto count = static_cast<int>(expected);
  host_.Execute(InfoOf(frame), op.get(), raw_outputs_.data(), &count, status_);
  if (!Checked()) return false;
  HeldHandles outputs;
  for (int i = 0; i < count; ++i) outputs.push_back(Hold(raw_outputs_[static_cast<size_t>(i)]));
  if (outputs.size() != expected) {
    return Fail(kInternal, "the op gave " + std::to_string(count) + " outputs instead of " +
                               std::to_string(expected));
  }
  DropInputs(frame);
  Store(frame, outputs);
  ++frame.next_node;
  return true;
}

bool Machine::MakeConstant(Frame& frame) {
  const PlanNode& node = frame.node();
  HeldHandles& made = constants_[frame.body_index];
  made.resize(frame.plan().num_constants);
  HeldHandle& constant = made[node.constant_index];
  if (constant == nullptr) {
    const TF_Buffer proto{node.tensor.data(), node.tensor.size(), nullptr};
    const tf::TensorPtr tensor(
        tf::Api().TF_AllocateTensor(static_cast<int>(DType::kFloat32), nullptr, 0, sizeof(float)));
    tf::Api().TF_TensorFromProto(&proto, tensor.get(), status_);
    if (ok()) constant = Hold(tf::Api().TFE_NewTensorHandle(tensor.get(), status_));
    if (!Checked()) return false;
    host_.OnConstant(InfoOf(frame), constant.get());
  }
  if (frame.plan().kept[node.first_output]) frame.slots[node.first_output] = Share(constant.get());
  if (!Checked()) return false;
  ++frame.next_node;
  return true;
}

bool Machine::StartBranch(Frame& frame) {
  const PlanNode& node = frame.node();
  const HeldHandle predicate = Take(frame, frame.plan().inputs[node.first_input]);
  Opening opening{0, FrameRole::kCall, RegionKind::kBranch, 0, predicate.get()};
  if (node.kind == NodeKind::kIf) {
    const Result<bool> condition = ReadCondition(predicate.get());
    if (!condition.ok()) return Fail(condition.status());
    opening.callee = *condition ? 0 : 1;
  } else {
    const Result<uint32_t> branch = ReadBranch(predicate.get(), node.num_callees);
    if (!branch.ok()) return Fail(branch.status());
    opening.callee = *branch;
  }
  opening.index = opening.callee;
  HeldHandles args;
  return TakeInputs(frame, 1, args) && Open(frame, opening, std::move(args));
}

bool Machine::StartLoop(Frame& frame) {
  frame.loop = std::make_unique<Loop>();
  return TakeInputs(frame, 0, frame.loop->values) && TestLoop(frame);
}

bool Machine::TestLoop(Frame& frame) {
  HeldHandles args;
  if (!ShareAll(frame.loop->values, args)) return false;
  return Open(frame,
              {0, FrameRole::kCondition, RegionKind::kFunction, frame.loop->iteration, nullptr},
              std::move(args));
}

bool Machine::ContinueLoop(Frame& frame, HeldHandle condition) {
  Loop& loop = *frame.loop;
  const Result<bool> goes_on = ReadCondition(condition.get());
  if (!goes_on.ok()) return Fail(goes_on.status());
  if (*goes_on) {
    loop.condition = std::move(condition);
    return Open(
        frame,
        {1, FrameRole::kIteration, RegionKind::kIteration, loop.iteration, loop.condition.get()},
        std::exchange(loop.values, {}));
  }
  HeldHandles outputs = std::move(loop.values);
  frame.loop.reset();
  Tell(frame.node().name, outputs);
  Store(frame, outputs);
  ++frame.next_node;
  return true;
}

bool Machine::Open(Frame& frame, const Opening& opening, HeldHandles args) {
  const uint32_t callee = frame.node().first_callee + opening.callee;
  Frame inner;
  inner.body_index = frame.body->callees[callee];
  inner.body = &program_.bodies[inner.body_index];
  inner.role = opening.role;
  inner.kind = opening.kind;
  inner.index = opening.index;
  inner.label = frame.plan().callees[callee].label;
  inner.slots.resize(inner.plan().kept.size());
  for (size_t i = 0; i < args.size(); ++i) {
    if (inner.plan().kept[i]) inner.slots[i] = std::move(args[i]);
  }
  inner.region = host_.EnterRegion({opening.kind, inner.label, inner.plan().name, frame.node().name,
                                    opening.index, opening.predicate});
  frames_.push_back(std::move(inner));
  TellArguments();
  return true;
}

bool Machine::Close() {
  Frame& frame = frames_.back();
  HeldHandles values;
  for (const PlanInput& result : frame.plan().returns) values.push_back(Take(frame, result));
  if (!Checked()) return false;
  const FrameRole role = frame.role;
  host_.ExitRegion(frame.region, false);
  frames_.pop_back();
  return Deliver(role, std::move(values));
}

bool Machine::Deliver(FrameRole role, HeldHandles values) {
  if (role == FrameRole::kOutermost) {
    results_ = std::move(values);
    return true;
  }
  Frame& frame = frames_.back();
  switch (role) {
    case FrameRole::kCondition:
      return ContinueLoop(frame, std::move(values.front()));
    case FrameRole::kIteration:
      frame.loop->values = std::move(values);
      ++frame.loop->iteration;
      return TestLoop(frame);
    default:
      Tell(frame.node().name, values);
      Store(frame, values);
      ++frame.next_node;
      return true;
  }
}

void Machine::Tell(std::string_view node, std::span<const HeldHandle> values) {
  raw_outputs_.clear();
  for (const HeldHandle& value : values) raw_outputs_.push_back(value.get());
  host_.OnValues(node, raw_outputs_);
}

void Machine::TellArguments() {
  const Frame& frame = frames_.back();
  Tell({}, std::span(frame.slots).first(frame.plan().num_args));
}

HeldHandle Machine::Share(TFE_TensorHandle* handle) { return Hold(host_.Share(handle, status_)); }

HeldHandle Machine::Take(Frame& frame, const PlanInput& input) {
  HeldHandle& slot = frame.slots[input.slot];
  return input.last ? std::move(slot) : Share(slot.get());
}

// The inputs of the node from number `from` on.
bool Machine::TakeInputs(Frame& frame, uint32_t from, HeldHandles& values) {
  const PlanNode& node = frame.node();
  for (uint32_t i = from; i < node.num_inputs; ++i) {
    values.push_back(Take(frame, frame.plan().inputs[node.first_input + i]));
  }
  return Checked();
}

bool Machine::ShareAll(const HeldHandles& from, HeldHandles& to) {
  for (const HeldHandle& handle : from) to.push_back(Share(handle.get()));
  return Checked();
}

void Machine::Store(Frame& frame, std::span<HeldHandle> outputs) {
  const uint32_t first = frame.node().first_output;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (frame.plan().kept[first + i]) frame.slots[first + i] = std::move(outputs[i]);
  }
}

void Machine::DropInputs(Frame& frame) {
  const PlanNode& node = frame.node();
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    const PlanInput& input = frame.plan().inputs[node.first_input + i];
    if (input.last) frame.slots[input.slot].reset();
  }
}

NodeInfo Machine::InfoOf(const Frame& frame) const {
  const PlanNode& node = frame.node();
  return {frame.plan().name, node.name, node.attrs->op, node.attrs->name_attr_list};
}

bool Machine::ok() const { return tf::Api().TF_GetCode(status_) == 0; }

bool Machine::Checked() {
  return ok() || Fail(tf::Api().TF_GetCode(status_), tf::Api().TF_Message(status_));
}

bool Machine::Fail(const Status& status) { return Fail(kInvalidArgument, status.message()); }

bool Machine::Fail(int code, const std::string& message) {
  tf::Api().TF_SetStatus(status_, code, (message + DescribePlace()).c_str());
  return false;
}

// Where the run is, for a message. A node that a frame stands at may be a call that is being made.
std::string Machine::DescribePlace() const {
  if (frames_.empty()) return "";
  const Frame& frame = frames_.back();
  std::string text = "\n\t [[in function '" + frame.plan().name + "'";
  if (!frame.done()) {
    text.append(", node '").append(frame.node().name);
    text.append("' (").append(frame.node().attrs->op).append(")");
  }
  text += ", region ";
  for (size_t i = 0; i < frames_.size(); ++i) {
    const bool is_hidden = frames_.size() > kShownRegions && i >= kShownRegions / 2 &&
                           i < frames_.size() - kShownRegions / 2;
    if (is_hidden && i != kShownRegions / 2) continue;
    text += i == 0 ? "" : " > ";
    text += is_hidden ? "..." : DescribeRegion(frames_[i]);
  }
  return text + "]]";
}

void Machine::Unwind() {
  while (!frames_.empty()) {
    host_.ExitRegion(frames_.back().region, true);
    frames_.pop_back();
  }
}

}  // namespace flowscope::interp
