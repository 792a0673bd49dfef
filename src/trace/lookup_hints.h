// What is said beside "nothing is called so" and "it did not run".
#pragma once

#include <string>
#include <string_view>

#include "trace/trace.h"

namespace flowscope {

inline constexpr size_t kMaxListedNames = 8;

// How a glob is asked for; empty where the key is none.
std::string GlobHint(std::string_view key);

// "attn holds attn.query, attn.key": the modules and variables directly in a module; empty where
// there are none.
std::string HeldHint(const Trace& trace, ModuleId module);

// Where to look for what a module that did not run would have given: "attn ran Softmax itself:
// softmax_1_40:1". Empty where there is nothing to say.
std::string NotRunHint(const Trace& trace, ModuleId module);

}  // namespace flowscope
