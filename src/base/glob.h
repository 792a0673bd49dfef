// Shell-like patterns over names.
#pragma once

#include <string_view>

namespace flowscope {

// True where the whole of `text` matches. `*` is any run of bytes, dots and slashes included, or
// none; `?` any one byte; `[abc]`, `[a-z]` one of a set and `[!abc]` one that is not in it, where
// `]` may stand first and `-` first or last as itself. A `[` without its `]` is itself. Everything
// else is itself, so a backslash quotes nothing: `[*]` is a literal star.
bool GlobMatch(std::string_view pattern, std::string_view text);

// True where the pattern is more than a literal name.
bool HasGlob(std::string_view pattern);

}  // namespace flowscope
