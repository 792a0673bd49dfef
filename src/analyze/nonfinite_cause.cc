#include "analyze/nonfinite_cause.h"

#include <algorithm>

#include <fmt/format.h>

#include "analyze/nonfinite_rules.h"
#include "analyze/text.h"

namespace flowscope {
namespace {

// Flat index of `element` of a result in an operand that was broadcast to it; nullopt where the
// operand's shape does not broadcast there.
std::optional<int64_t> BroadcastIndex(const Dims& dims, const std::vector<int64_t>& element) {
  if (dims.size() > element.size()) return std::nullopt;
  const size_t missing = element.size() - dims.size();
  int64_t index = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const int64_t at = dims[axis] == 1 ? 0 : element[missing + axis];
    if (at >= dims[axis]) return std::nullopt;
    index = index * dims[axis] + at;
  }
  return index;
}

bool BroadcastsTo(const Dims& dims, const Dims& result) {
  if (dims.size() > result.size()) return false;
  const size_t missing = result.size() - dims.size();
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] != 1 && dims[axis] != result[missing + axis]) return false;
  }
  return true;
}

// A value that an op took: an input tensor, or the variable that a resource input names.
struct InputValue {
  TensorId tensor = kNoId;
  VariableId variable = kNoId;
  uint32_t version = 0;
};

TensorId VersionValue(const Trace& trace, VariableId variable, uint32_t index) {
  for (const VersionRecord& version : trace.VersionsOfVariable(variable)) {
    if (version.index == index) return version.value;
  }
  return kNoId;
}

std::vector<InputValue> InputsOf(const Trace& trace, OpId id) {
  std::vector<InputValue> values;
  for (const EdgeRecord& edge : trace.inputs(id)) {
    const bool is_value = edge.tensor != kNoId && edge.edge_class != EdgeClass::kVariable &&
                          edge.edge_class != EdgeClass::kResource;
    if (is_value) values.push_back({edge.tensor, kNoId, 0});
  }
  for (const AccessRecord& access : trace.AccessesOfOp(id)) {
    if (access.write) continue;
    const TensorId value = VersionValue(trace, access.variable, access.version);
    if (value != kNoId) values.push_back({value, access.variable, access.version});
  }
  return values;
}

std::string NameOf(const Trace& trace, const InputValue& input) {
  if (input.variable == kNoId) return ProducerText(trace, input.tensor);
  return fmt::format("variable {}", trace.str(trace.variable(input.variable).address));
}

std::string ElementText(const Trace& trace, TensorId tensor, const NonFiniteStep& step) {
  if (step.tensor == kNoId || !trace.tensor(step.tensor).shape_known) return "";
  const Result<Payload> payload = trace.ReadTensor(tensor);
  if (!payload.ok() || payload->num_elements() == 0) return "";
  if (!BroadcastsTo(payload->dims, trace.dims(trace.tensor(step.tensor).dims))) return "";
  const std::optional<int64_t> index = BroadcastIndex(payload->dims, step.element);
  return index ? FormatElement(*payload, *index) : "";
}

std::string_view KindOf(const BadTensor& bad) {
  return bad.nan > 0 ? "nan" : bad.pos_inf > 0 ? "inf" : "-inf";
}

class Explainer {
 public:
  Explainer(const Trace& trace, const NonFiniteScan& scan, const NonFiniteStep& step)
      : trace_(trace),
        scan_(scan),
        step_(step),
        op_(trace.op(step.op)),
        type_(trace.str(op_.type)),
        inputs_(InputsOf(trace, step.op)) {}

  std::string Explain() const {
    for (const std::string& cause : {FromSource(), FromEmptyInput(), FromElement(), FromOutside(),
                                     FromBadInput(), FromUnknown(), FromOverflow()}) {
      if (!cause.empty()) return cause;
    }
    return fmt::format("finite inputs gave {}", step_.value);
  }

 private:
  std::string At() const { return step_.element.empty() ? "" : " at " + TupleText(step_.element); }
  bool IsNan() const { return step_.value == "nan"; }

  std::string FromSource() const {
    const std::string_view name = trace_.str(op_.name);
    switch (op_.kind) {
      case OpKind::kInput:
        return fmt::format("{} came in with the input {}", step_.value, name);
      case OpKind::kConstant:
        return fmt::format("the constant {} already held {}", name, step_.value);
      case OpKind::kFromPython:
        return fmt::format("{} came in from Python code", step_.value);
      case OpKind::kIterator:
        return fmt::format("{} came in with the dataset's element", step_.value);
      default:
        return "";
    }
  }

  // A bad value that no op of the run made: a literal, or a variable's value from elsewhere.
  std::string FromOutside() const {
    for (const InputValue& input : inputs_) {
      const auto it = scan_.bad.find(input.tensor);
      if (it == scan_.bad.end() || trace_.tensor(input.tensor).producer != kNoId) continue;
      const std::string_view value = KindOf(it->second);
      if (input.variable == kNoId) return fmt::format("{} was passed as a literal", value);
      const std::string_view when =
          input.version == 0 ? "before the run" : "when it had been changed outside this run";
      return fmt::format("{} already held {} {}", NameOf(trace_, input), value, when);
    }
    return "";
  }

  std::string FromEmptyInput() const {
    const bool needs_one = type_ == "Mean" || type_ == "Max" || type_ == "Min";
    if (!needs_one || inputs_.empty()) return "";
    const TensorRecord& tensor = trace_.tensor(inputs_[0].tensor);
    const bool empty = tensor.shape_known && NumElements(trace_.dims(tensor.dims)) == 0;
    return empty ? fmt::format("{} of no elements", type_) : "";
  }

  std::string FromElement() const {
    if (step_.element.empty() && !IsScalar()) return "";
    ElementFacts facts;
    facts.type = type_;
    facts.dtype = trace_.tensor(step_.tensor).dtype;
    facts.nan = IsNan();
    facts.x = Operand(0);
    facts.y = Operand(1);
    const std::string cause = ExplainElement(facts);
    return cause.empty() ? "" : cause + (IsScalar() ? "" : At());
  }

  bool IsScalar() const {
    const TensorRecord& tensor = trace_.tensor(step_.tensor);
    return tensor.shape_known && trace_.dims(tensor.dims).empty();
  }

  std::optional<double> Operand(size_t index) const {
    if (index >= inputs_.size()) return std::nullopt;
    const Result<Payload> payload = trace_.ReadTensor(inputs_[index].tensor);
    if (!payload.ok()) return std::nullopt;
    const std::optional<int64_t> at = BroadcastIndex(payload->dims, step_.element);
    return at ? ElementAsDouble(*payload, *at) : std::nullopt;
  }

  std::string FromBadInput() const {
    for (const InputValue& input : inputs_) {
      const auto it = scan_.bad.find(input.tensor);
      if (it == scan_.bad.end()) continue;
      return fmt::format("{} in {} gave {}", KindOf(it->second), NameOf(trace_, input),
                         step_.value);
    }
    return "";
  }

  std::string FromUnknown() const {
    if (op_.opaque_reason != 0) {
      return fmt::format("{} came out of an op whose inside is not recorded: {}", step_.value,
                         trace_.str(op_.opaque_reason));
    }
    for (const InputValue& input : inputs_) {
      const TensorRecord& tensor = trace_.tensor(input.tensor);
      if (!IsFloating(tensor.dtype) && !IsComplex(tensor.dtype)) continue;
      if (tensor.state == PayloadState::kKept || tensor.state == PayloadState::kStats) continue;
      return fmt::format(
          "it gave {}, but the value of its input {} was not kept: the cause may lie "
          "earlier",
          step_.value, NameOf(trace_, input));
    }
    return "";
  }

  std::string FromOverflow() const {
    const DType dtype = trace_.tensor(step_.tensor).dtype;
    if (inputs_.empty() || IsNan() || !IsSumOrProduct(type_) || !IsFloating(dtype)) return "";
    return OverflowText(dtype, "a result of finite inputs") + At();
  }

  const Trace& trace_;
  const NonFiniteScan& scan_;
  const NonFiniteStep& step_;
  const OpRecord& op_;
  std::string_view type_;
  std::vector<InputValue> inputs_;
};

}  // namespace

std::vector<ParentValue> ParentsOf(const Trace& trace, const NonFiniteStep& step) {
  std::vector<ParentValue> parents;
  for (const InputValue& input : InputsOf(trace, step.op)) {
    ParentValue parent;
    parent.op = trace.tensor(input.tensor).producer;
    parent.tensor = input.tensor;
    parent.name = NameOf(trace, input);
    parent.glance = GlanceText(trace, input.tensor);
    parent.element = ElementText(trace, input.tensor, step);
    parents.push_back(std::move(parent));
  }
  return parents;
}

std::string ExplainNonFinite(const Trace& trace, const NonFiniteScan& scan,
                             const NonFiniteStep& step) {
  return Explainer(trace, scan, step).Explain();
}

}  // namespace flowscope
