#include "base/edit_distance.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <unordered_set>

namespace flowscope {
namespace {

// Distances between all prefixes of two strings. Row and column 0 are a border that no path can
// use, so that the recurrence needs no special case for the first bytes.
class PrefixDistances {
 public:
  PrefixDistances(size_t a_size, size_t b_size)
      : width_(b_size + 2), cells_((a_size + 2) * width_) {
    const size_t unreachable = a_size + b_size;
    At(0, 0) = unreachable;
    for (size_t i = 0; i <= a_size; ++i) {
      At(i + 1, 0) = unreachable;
      At(i + 1, 1) = i;
    }
    for (size_t j = 0; j <= b_size; ++j) {
      At(0, j + 1) = unreachable;
      At(1, j + 1) = j;
    }
  }

  size_t& At(size_t row, size_t column) { return cells_[row * width_ + column]; }

 private:
  size_t width_;
  std::vector<size_t> cells_;
};

size_t Byte(char c) { return static_cast<unsigned char>(c); }

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Smaller is nearer; nullopt: not near at all.
std::optional<size_t> Remoteness(const std::string& query, const std::string& candidate,
                                 size_t limit) {
  const size_t gap =
      std::max(query.size(), candidate.size()) - std::min(query.size(), candidate.size());
  if (gap <= limit) {
    const size_t distance = EditDistance(query, candidate);
    if (distance <= limit) return distance;
  }
  const bool contained = query.size() >= 3 && candidate.find(query) != candidate.npos;
  if (contained) return limit + gap;
  return std::nullopt;
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  PrefixDistances distances(a.size(), b.size());
  std::array<size_t, 256> last_row{};  // where a byte was last seen in a, counted from 1; 0: never
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t last_column = 0;  // where a[i - 1] was last seen in b
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t row = last_row[Byte(b[j - 1])];
      const size_t column = last_column;
      const bool same = a[i - 1] == b[j - 1];
      if (same) last_column = j;
      const size_t replaced = distances.At(i, j) + (same ? 0 : 1);
      const size_t inserted = distances.At(i + 1, j) + 1;
      const size_t deleted = distances.At(i, j + 1) + 1;
      const size_t swapped = distances.At(row, column) + (i - row - 1) + 1 + (j - column - 1);
      distances.At(i + 1, j + 1) = std::min({replaced, inserted, deleted, swapped});
    }
    last_row[Byte(a[i - 1])] = i;
  }
  return distances.At(a.size() + 1, b.size() + 1);
}

std::vector<std::string> Nearest(std::string_view query,
                                 std::span<const std::string_view> candidates, size_t max) {
  struct Match {
    size_t remoteness;
    std::string_view text;
  };
  const std::string wanted = LowerCase(query);
  const size_t limit = std::max<size_t>(1, (query.size() + 2) / 3);
  std::vector<Match> matches;
  std::unordered_set<std::string_view> seen;
  for (std::string_view candidate : candidates) {
    if (!seen.insert(candidate).second) continue;
    const std::optional<size_t> remoteness = Remoteness(wanted, LowerCase(candidate), limit);
    if (remoteness) matches.push_back({*remoteness, candidate});
  }
  std::ranges::stable_sort(matches, {}, &Match::remoteness);
  if (matches.size() > max) matches.resize(max);
  std::vector<std::string> nearest;
  for (const Match& match : matches) nearest.emplace_back(match.text);
  return nearest;
}

}  // namespace flowscope
