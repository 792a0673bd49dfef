// Which known name a mistyped one may have meant.
#pragma once

#include <string>
#include <vector>

namespace flowscope::api {

// The nearest of `candidates`, ignoring case; empty where none is near.
std::string NearestName(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace flowscope::api
