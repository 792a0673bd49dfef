// A serialized FunctionDef, taken apart. TensorFlow is not asked anything here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "tf/op_registry.h"

namespace flowscope::interp {

// Name and serialized AttrValue.
using AttrEntry = std::pair<std::string_view, std::string_view>;
// One entry per name, sorted by name.
using AttrList = std::vector<AttrEntry>;

// Null where there is no attribute of that name.
const std::string_view* FindAttr(const AttrList& attrs, std::string_view name);

// A function named by an attribute, with the attributes it is to be instantiated with.
struct FunctionRef {
  std::string_view name;
  AttrList attrs;
};

struct NodeDef {
  std::string_view name;
  std::string_view op;
  std::string_view device;
  std::vector<std::string_view> inputs;  // as written: "arg", "node:output:0", "^node"
  AttrList attrs;
};

struct FunctionDef {
  tf::OpDef signature;
  std::vector<NodeDef> nodes;
  // Output or control output name, and what it stands for.
  std::vector<std::pair<std::string_view, std::string_view>> returns;
  std::vector<std::pair<std::string_view, std::string_view>> control_returns;
  AttrList attrs;
  std::vector<std::pair<uint32_t, AttrList>> arg_attrs;  // by argument number
};

// The views point into `bytes`. Corruption where they are no FunctionDef.
Result<FunctionDef> ParseFunctionDef(std::string_view bytes);

// A serialized NodeDef, on the same terms.
Result<NodeDef> ParseNodeDef(std::string_view bytes);

// A serialized NameAttrList; Corruption where it is none.
Result<FunctionRef> ParseFunctionRef(std::string_view bytes);

}  // namespace flowscope::interp
