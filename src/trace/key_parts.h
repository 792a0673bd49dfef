// The parts of what a person types: "att.query:2", "matmul_2_7".
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace flowscope {

inline std::optional<uint32_t> ParseNumber(std::string_view text) {
  uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// A name with the number after its last `separator`; nullopt where there is none. Both views point
// into `text`.
struct NumberedName {
  std::string_view name;
  uint32_t number = 0;
};
inline std::optional<NumberedName> SplitNumber(std::string_view text, char separator) {
  const size_t at = text.rfind(separator);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const std::optional<uint32_t> number = ParseNumber(text.substr(at + 1));
  if (!number) return std::nullopt;
  return NumberedName{text.substr(0, at), *number};
}

// "matmul_2" of the layer label "matmul_2_7".
inline std::string_view ShortLayerLabel(std::string_view layer_label) {
  const std::optional<NumberedName> split = SplitNumber(layer_label, '_');
  return split ? split->name : layer_label;
}

}  // namespace flowscope
