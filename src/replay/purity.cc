#include "replay/purity.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "interp/op_facts.h"

namespace flowscope::replay {
namespace {

// Marked as stateful so that graph passes leave them in place; what they give depends on their
// inputs alone.
constexpr std::array<std::string_view, 6> kPureAllTheSame = {
    "CheckNumerics", "CheckNumericsV2", "DeepCopy",
    "DeviceIndex",   "GuaranteeConst",  "StatelessRandomGetAlg"};

// Not marked, though they act on something.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kActAllTheSame = {{
    {"Abort", "ends the process"},
    {"Batch", "waits for calls of other threads"},
    {"BatchFunction", "waits for calls of other threads"},
    {"Unbatch", "waits for calls of other threads"},
    {"UnbatchGrad", "waits for calls of other threads"},
    {"DebugIdentity", "writes to the places that its debug_urls name"},
    {"DebugNanCount", "writes to the places that its debug_urls name"},
    {"DebugNumericSummary", "writes to the places that its debug_urls name"},
}};

bool IsHandle(const tf::OpArg& arg) { return arg.type == DType::kResource; }

// Bodies are judged by themselves.
bool TakesFunctions(const tf::OpDef& def) {
  return std::ranges::any_of(def.attrs, [](const tf::OpAttr& attr) {
    return attr.type == "func" || attr.type == "list(func)";
  });
}

bool IsControlFlow(std::string_view op) {
  switch (interp::KindOf(op)) {
    case interp::NodeKind::kCall:
    case interp::NodeKind::kIf:
    case interp::NodeKind::kCase:
    case interp::NodeKind::kWhile:
    case interp::NodeKind::kArgument:
    case interp::NodeKind::kNothing:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string WhyNotAgain(const tf::OpDef& def, const interp::AttrList& attrs) {
  for (const auto& [type, reason] : kActAllTheSame) {
    if (def.name == type) return std::string(reason);
  }
  if (interp::HasAttr(def, "token")) return "runs Python code";
  if (IsControlFlow(def.name)) return "";
  if (def.is_distributed_communication) return "exchanges values with others";
  if (interp::IsStatefulRandom(def, attrs)) {
    return "draws from a random generator that its kernel keeps";
  }
  if (!def.is_stateful) return "";
  if (std::ranges::find(kPureAllTheSame, def.name) != kPureAllTheSame.end()) return "";
  const bool on_handles =
      std::ranges::any_of(def.inputs, IsHandle) || std::ranges::any_of(def.outputs, IsHandle);
  if (on_handles && !TakesFunctions(def)) return "";
  return "is marked by TensorFlow as stateful: what it does depends on more than its inputs";
}

}  // namespace flowscope::replay
