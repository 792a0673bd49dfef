// Definitions of a SavedModel under names of their own.
//
// Several SavedModels use the same function names, and resources are global by container and name;
// what is loaded gets names that nobody else in the process has.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/status.h"

namespace flowscope::savedmodel {

struct Rewrite {
  std::unordered_map<std::string_view, std::string> functions;  // old name, new name
  std::string container;  // of every resource that is named by its node or its shared_name
};

// A serialized FunctionDef, NodeDef or AttrValue with its functions renamed and its containers set.
// Corruption where the bytes are none.
Result<std::string> RewriteFunction(std::string_view bytes, const Rewrite& rewrite);
Result<std::string> RewriteAttrValue(std::string_view bytes, const Rewrite& rewrite);

// An AttrValue that holds text.
std::string StringAttrValue(std::string_view text);

// True where nodes of this type make a resource that is found by container and name.
bool TakesContainer(std::string_view op_type);

}  // namespace flowscope::savedmodel
