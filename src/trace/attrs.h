// Reading op attributes: a serialized NameAttrList (as TFE_OpAttrsSerialize gives) or a NodeDef's
// attr map is kept as bytes; these views decode one attribute when somebody asks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"

namespace flowscope {

// name -> serialized AttrValue, from a serialized NameAttrList. Corruption on malformed bytes.
Result<std::map<std::string, std::string>> SplitAttrs(std::string_view name_attr_list);

// A decoded AttrValue that prints: "type: float32", "[1, 2, 2, 1]", "\"SAME\"", "func: name".
// Tensors print dtype and shape only.
std::string FormatAttr(std::string_view attr_value);

// Decoded form for callers that need the value. Lists hold scalars; a function gives its name; a
// type gives its dtype name; a shape gives "?"-free int64 dims with -1 for unknown (unknown rank:
// monostate). Tensor gives monostate.
using AttrScalar =
    std::variant<std::monostate, int64_t, double, bool, std::string, std::vector<int64_t>>;
struct AttrData {
  std::string kind;  // "int" "float" "bool" "string" "type" "shape" "func" "tensor" "list" "none"
  AttrScalar scalar;
  std::vector<AttrScalar> list;
  std::string list_kind;
};
Result<AttrData> DecodeAttr(std::string_view attr_value);

}  // namespace flowscope
