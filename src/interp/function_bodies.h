// Bodies of functions as TensorFlow's context has them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "interp/function_def.h"
#include "tf/c_api.h"

namespace flowscope::interp {

// A serialized FunctionDef; NotFound where the context has no function of that name.
Result<std::string> FetchFunctionDef(TFE_Context* context, const std::string& name);

// Every function that an op or node names: by its type, where that is no registered op, or in an
// attribute. Views point into what was given.
std::vector<std::string_view> FunctionsNamedBy(std::string_view op, const AttrList& attrs);

// Name and serialized FunctionDef.
using FunctionBody = std::pair<std::string, std::string>;

// `name` and everything that it calls, without what is in `seen`, which gets the names that were
// looked for. What the context does not have is left out.
std::vector<FunctionBody> FetchWithCallees(TFE_Context* context, const std::string& name,
                                           std::set<std::string, std::less<>>& seen);

}  // namespace flowscope::interp
