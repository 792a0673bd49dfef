#include "base/glob.h"

namespace flowscope {
namespace {

// What one element of a pattern (anything but a star) takes of it, and whether a byte fits.
struct Step {
  size_t length = 1;
  bool fits = false;
};

// `set` is what stands between the brackets, without the negation.
bool InSet(std::string_view set, char c) {
  const auto byte = static_cast<unsigned char>(c);
  for (size_t i = 0; i < set.size(); ++i) {
    const auto low = static_cast<unsigned char>(set[i]);
    const bool is_range = i + 2 < set.size() && set[i + 1] == '-';
    const auto high = is_range ? static_cast<unsigned char>(set[i + 2]) : low;
    if (byte >= low && byte <= high) return true;
    if (is_range) i += 2;
  }
  return false;
}

// The element at the start of a pattern that is not empty, against `c`.
Step Match(std::string_view pattern, char c) {
  if (pattern[0] == '?') return {1, true};
  if (pattern[0] != '[') return {1, pattern[0] == c};
  const size_t negated = pattern.size() > 1 && pattern[1] == '!' ? 1 : 0;
  const size_t begin = 1 + negated;
  const size_t close = pattern.find(']', begin + 1);  // a bracket that stands first is in the set
  if (close == pattern.npos) return {1, c == '['};
  return {close + 1, InSet(pattern.substr(begin, close - begin), c) != (negated == 1)};
}

}  // namespace

bool GlobMatch(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  // Only the last star ever needs another try: what an earlier one took too much or too little, the
  // last one can make good.
  size_t after_star = std::string_view::npos;
  size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      star_text = t;
      continue;
    }
    const Step step = p < pattern.size() ? Match(pattern.substr(p), text[t]) : Step{};
    if (step.fits) {
      p += step.length;
      ++t;
      continue;
    }
    if (after_star == std::string_view::npos) return false;
    p = after_star;
    t = ++star_text;
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

bool HasGlob(std::string_view pattern) { return pattern.find_first_of("*?[") != pattern.npos; }

}  // namespace flowscope
