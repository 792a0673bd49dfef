// Which known names a mistyped one may have meant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flowscope {

// Damerau-Levenshtein distance in bytes: the fewest insertions, deletions, replacements and swaps
// of neighbours that make `a` into `b`, where text may also be put between two swapped bytes.
size_t EditDistance(std::string_view a, std::string_view b);

// At most `max` of `candidates` that `query` may have meant, best first: those that differ by
// little (about a third of the query's length), ignoring case, then those that contain it. Equal
// ones come once and in the order given. For "did you mean"; empty when nothing is near.
std::vector<std::string> Nearest(std::string_view query,
                                 std::span<const std::string_view> candidates, size_t max);

}  // namespace flowscope
