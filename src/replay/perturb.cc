#include "replay/perturb.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "replay/moves.h"

namespace flowscope::replay {
namespace {

// Arguments whose values the op does not read, as its documentation or kernel says.
struct UnreadArgument {
  std::string_view op;
  std::string_view argument;
};
constexpr std::array<UnreadArgument, 12> kUnread = {{
    {"Shape", "input"},
    {"ShapeN", "input"},
    {"Size", "input"},
    {"Rank", "input"},
    {"ZerosLike", "x"},
    {"OnesLike", "x"},
    {"ResizeBilinearGrad", "original_image"},
    {"ResizeBicubicGrad", "original_image"},
    // Statistics that a training step computes anew, and what only cuDNN needs.
    {"FusedBatchNormV3", "mean"},
    {"FusedBatchNormV3", "variance"},
    {"FusedBatchNormGradV3", "reserve_space_3"},
    {"TensorListReserve", "element_shape"},
}};

// Elements that the first move touches, spread over the value: it has to show, not to be thorough.
constexpr size_t kFew = 1024;
constexpr size_t kAll = SIZE_MAX;

class Perturber {
 public:
  Perturber(const Trace& trace, Replayer& replayer, OpId id)
      : trace_(trace), replayer_(replayer), id_(id) {}

  Result<Perturbation> Run();

 private:
  using Moves = std::vector<std::pair<size_t, Move>>;  // by input

  Result<std::string> RuleOf(size_t input);
  Result<std::vector<tf::HandlePtr>> RunWith(const Moves& moves, size_t elements = kAll);
  Result<bool> DiffersFromRecord(const Moves& moves, size_t elements = kAll);
  Result<bool> IsHidden(size_t input);
  bool IsUnread(size_t input) const;
  std::optional<std::string> RuleOfOutputs() const;

  const Trace& trace_;
  Replayer& replayer_;
  OpId id_;
};

// Why nothing can be seen to move; nullopt where it can.
std::optional<std::string> Perturber::RuleOfOutputs() const {
  const Span outputs = trace_.op(id_).outputs;
  bool has_value = false;
  bool has_elements = false;
  for (uint32_t i = 0; i < outputs.count; ++i) {
    const Result<Payload> value = replayer_.Value(outputs.first + i);
    if (!value.ok()) continue;
    has_value = true;
    has_elements = has_elements || value->num_elements() > 0;
  }
  if (!has_value) return "no_value";
  if (!has_elements) return "empty";
  return std::nullopt;
}

Result<std::vector<tf::HandlePtr>> Perturber::RunWith(const Moves& moves, size_t elements) {
  Result<Replayer::Setup> setup = replayer_.Prepare(id_);
  FLOWSCOPE_RETURN_IF_ERROR(setup.status());
  for (const auto& [input, move] : moves) {
    const Result<Payload> value = replayer_.Value(trace_.inputs(id_)[input].tensor);
    FLOWSCOPE_RETURN_IF_ERROR(value.status());
    const size_t step = std::max<size_t>(1, NumParts(*value) / elements);
    Result<tf::HandlePtr> moved = Moved(*value, move, [step](size_t i) { return i % step == 0; });
    FLOWSCOPE_RETURN_IF_ERROR(moved.status());
    setup->inputs[input] = moved->get();
    setup->owned.push_back(std::move(moved).value());
  }
  Outcome outcome = replayer_.Run(id_, *setup);
  if (!outcome.ok()) return std::vector<tf::HandlePtr>();
  return std::move(outcome.outputs);
}

// An op that refuses the moved value has looked at it.
Result<bool> Perturber::DiffersFromRecord(const Moves& moves, size_t elements) {
  const Result<std::vector<tf::HandlePtr>> outputs = RunWith(moves, elements);
  FLOWSCOPE_RETURN_IF_ERROR(outputs.status());
  const Span recorded = trace_.op(id_).outputs;
  if (outputs->size() != recorded.count) return true;
  for (uint32_t i = 0; i < recorded.count; ++i) {
    const Result<Payload> was = replayer_.Value(recorded.first + i);
    const Result<Payload> is = tf::ReadHandle((*outputs)[i].get());
    if (was.ok() && is.ok() && !SameBits(*was, *is)) return true;
  }
  return false;
}

// With other values in every input, does this one count?
Result<bool> Perturber::IsHidden(size_t input) {
  Moves all;
  for (size_t i = 0; i < trace_.op(id_).inputs.count; ++i) {
    const TensorId tensor = trace_.inputs(id_)[i].tensor;
    if (tensor == kNoId) continue;
    const DType dtype = trace_.tensor(tensor).dtype;
    // What a bool keeps out comes in when the bool is turned.
    if (IsMovable(dtype) || dtype == DType::kBool) all.emplace_back(i, Scatter(i));
  }
  Moves other = all;
  for (auto& [index, move] : other) {
    if (index == input) move = Scatter(100 + index);
  }
  const Result<std::vector<tf::HandlePtr>> a = RunWith(all);
  const Result<std::vector<tf::HandlePtr>> b = RunWith(other);
  FLOWSCOPE_RETURN_IF_ERROR(a.status());
  FLOWSCOPE_RETURN_IF_ERROR(b.status());
  if (a->size() != b->size()) return true;
  for (size_t i = 0; i < a->size(); ++i) {
    const Result<Payload> x = tf::ReadHandle((*a)[i].get());
    const Result<Payload> y = tf::ReadHandle((*b)[i].get());
    if (x.ok() && y.ok() && !SameBits(*x, *y)) return true;
  }
  return false;
}

bool Perturber::IsUnread(size_t input) const {
  const tf::OpDef* def = tf::FindOpDef(trace_.str(trace_.op(id_).type));
  if (def == nullptr || def->inputs.empty()) return false;
  const size_t index = std::min(input, def->inputs.size() - 1);  // a list comes last
  return std::ranges::any_of(kUnread, [&](const UnreadArgument& unread) {
    return unread.op == def->name && unread.argument == def->inputs[index].name;
  });
}

Result<std::string> Perturber::RuleOf(size_t input) {
  const TensorId tensor = trace_.inputs(id_)[input].tensor;
  const DType dtype = tensor == kNoId ? DType::kInvalid : trace_.tensor(tensor).dtype;
  if (dtype != DType::kString && !IsPlainBytes(dtype)) return std::string("no_value");
  if (!IsMovable(dtype)) return std::string("discrete");
  const Result<Payload> value = replayer_.Value(tensor);
  FLOWSCOPE_RETURN_IF_ERROR(value.status());
  if (value->num_elements() == 0) return std::string("empty");
  Result<bool> moved = false;
  for (const size_t elements : {kFew, kAll}) {
    moved = DiffersFromRecord({{input, MoveLittle}}, elements);
    if (!moved.ok()) return moved.status();
    if (*moved) return std::string("moved");
  }
  for (const Move& move : {Move(FlipSign), Scatter(7), Scatter(8), MoveFar(false), MoveFar(true)}) {
    moved = DiffersFromRecord({{input, move}});
    if (!moved.ok()) return moved.status();
    if (*moved) return std::string("saturated");
  }
  moved = IsHidden(input);
  if (!moved.ok()) return moved.status();
  if (*moved) return std::string("hidden");
  return std::string(IsUnread(input) ? "unread" : "");
}

Result<Perturbation> Perturber::Run() {
  Perturbation result;
  const std::optional<std::string> blind = RuleOfOutputs();
  for (size_t i = 0; i < trace_.op(id_).inputs.count; ++i) {
    Result<std::string> rule = blind ? Result<std::string>(*blind) : RuleOf(i);
    FLOWSCOPE_RETURN_IF_ERROR(rule.status());
    if (!rule->empty()) {
      ++result.rules["perturb:" + *rule];
      continue;
    }
    result.unexplained.push_back(fmt::format(
        "input {} of {} was moved in several ways and no output moved", i, replayer_.Name(id_)));
  }
  return result;
}

}  // namespace

Result<Perturbation> Perturb(const Trace& trace, Replayer& replayer, OpId id) {
  return Perturber(trace, replayer, id).Run();
}

}  // namespace flowscope::replay
