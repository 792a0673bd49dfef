#include "interp/op_facts.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "interp/attr_value.h"

namespace flowscope::interp {
namespace {

// Ops whose kernels draw from a generator of their own and whose definitions do not tell.
constexpr std::array<std::string_view, 6> kOtherStatefulRandom = {
    "FractionalAvgPool", "FractionalMaxPool", "NegTrain",
    "RecordInput",       "RiscRandomUniform", "Skipgram"};

// True where the op draws only for its dropout, and has none.
bool DropsNothing(const tf::OpDef& def, const AttrList& attrs) {
  if (!HasAttr(def, "dropout")) return false;
  const std::string_view* attr = FindAttr(attrs, "dropout");
  if (attr == nullptr) return false;
  const Result<AttrValue> value = ParseAttrValue(*attr);
  return value.ok() && value->kind == AttrKind::kFloat && value->real == 0;
}

}  // namespace

NodeKind KindOf(std::string_view op) {
  static const std::unordered_map<std::string_view, NodeKind> kinds = {
      {"Const", NodeKind::kConstant},
      {"HostConst", NodeKind::kConstant},
      {"NoOp", NodeKind::kNothing},
      {"ControlTrigger", NodeKind::kNothing},
      {"_Retval", NodeKind::kNothing},
      {"_DeviceRetval", NodeKind::kNothing},
      {"_Arg", NodeKind::kArgument},
      {"_DeviceArg", NodeKind::kArgument},
      {"PartitionedCall", NodeKind::kCall},
      {"StatefulPartitionedCall", NodeKind::kCall},
      {"If", NodeKind::kIf},
      {"StatelessIf", NodeKind::kIf},
      {"Case", NodeKind::kCase},
      {"StatelessCase", NodeKind::kCase},
      {"While", NodeKind::kWhile},
      {"StatelessWhile", NodeKind::kWhile},
  };
  const auto found = kinds.find(op);
  return found == kinds.end() ? NodeKind::kOp : found->second;
}

bool HasInput(const tf::OpDef& def, std::string_view name) {
  return std::ranges::any_of(def.inputs, [name](const tf::OpArg& arg) { return arg.name == name; });
}

bool HasAttr(const tf::OpDef& def, std::string_view name) {
  return std::ranges::any_of(def.attrs,
                             [name](const tf::OpAttr& attr) { return attr.name == name; });
}

bool IsStatefulRandom(const tf::OpDef& def, const AttrList& attrs) {
  if (std::ranges::find(kOtherStatefulRandom, def.name) != kOtherStatefulRandom.end()) return true;
  if (!def.is_stateful || !HasAttr(def, "seed") || !HasAttr(def, "seed2")) return false;
  return !DropsNothing(def, attrs);
}

bool IsRandom(const tf::OpDef& def, const AttrList& attrs) {
  if (IsStatefulRandom(def, attrs)) return true;
  if (HasInput(def, "key") && HasInput(def, "counter")) return true;
  if (HasInput(def, "seed") || HasInput(def, "seeds")) return true;
  return HasInput(def, "alg") || HasInput(def, "algorithm");
}

}  // namespace flowscope::interp
