// The lines of a record as text, shared by ops, modules and variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flowscope {

using Parts = std::vector<std::string>;

inline constexpr size_t kMaxListedParts = 8;

// "  title    part · part"; nothing without parts.
std::string RecordLine(std::string_view title, const Parts& parts);

std::string BytesText(int64_t nbytes);

}  // namespace flowscope
