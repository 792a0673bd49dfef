#include "trace/records.h"

#include <array>

namespace flowscope {
namespace {

constexpr std::array<std::string_view, 13> kOpKindNames = {
    "compute",        "input",        "constant", "literal_producer", "variable_read",
    "variable_write", "random",       "iterator", "from_python",      "call",
    "backward",       "intervention", "effect"};
constexpr std::array<std::string_view, kNumEdgeClasses> kEdgeClassNames = {
    "op", "input", "constant", "literal", "from_python", "variable", "resource", "unexplained"};
constexpr std::array<std::string_view, 4> kPayloadStateNames = {"kept", "stats", "not_kept",
                                                                "no_value"};
constexpr std::array<std::string_view, 6> kRegionKindNames = {"root",   "function", "iteration",
                                                              "branch", "backward", "tracing"};

template <size_t N>
std::string_view NameAt(const std::array<std::string_view, N>& names, size_t index) {
  return index < N ? names[index] : std::string_view("unknown");
}

}  // namespace

std::string_view OpKindName(OpKind kind) { return NameAt(kOpKindNames, static_cast<size_t>(kind)); }

std::optional<OpKind> OpKindFromName(std::string_view name) {
  for (size_t i = 0; i < kOpKindNames.size(); ++i) {
    if (kOpKindNames[i] == name) return static_cast<OpKind>(i);
  }
  return std::nullopt;
}

std::string_view EdgeClassName(EdgeClass edge_class) {
  return NameAt(kEdgeClassNames, static_cast<size_t>(edge_class));
}

EdgeClass EdgeClassOf(OpKind producer) {
  switch (producer) {
    case OpKind::kInput:
      return EdgeClass::kInput;
    case OpKind::kConstant:
      return EdgeClass::kConstant;
    case OpKind::kFromPython:
      return EdgeClass::kFromPython;
    default:
      return EdgeClass::kOp;
  }
}

std::string_view PayloadStateName(PayloadState state) {
  return NameAt(kPayloadStateNames, static_cast<size_t>(state));
}

std::string_view RegionKindName(RegionKind kind) {
  return NameAt(kRegionKindNames, static_cast<size_t>(kind));
}

}  // namespace flowscope
