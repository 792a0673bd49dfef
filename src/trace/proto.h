// Short forms for reading protocol buffers.
#pragma once

#include <cstdint>
#include <string_view>

#include <protozero/pbf_reader.hpp>

#include "base/dtype.h"

namespace flowscope::proto {

inline constexpr auto kBytes = protozero::pbf_wire_type::length_delimited;
inline constexpr auto kVarint = protozero::pbf_wire_type::varint;
inline constexpr auto kFixed32 = protozero::pbf_wire_type::fixed32;

// Lives as long as the message.
inline std::string_view View(protozero::pbf_reader& reader) {
  const protozero::data_view view = reader.get_view();
  return {view.data(), view.size()};
}

// pbf_reader::get_bool reads a byte beyond the end of a message that is cut off.
inline bool ReadBool(protozero::pbf_reader& reader) { return reader.get_int64() != 0; }

// kInvalid for a number that stands for no dtype known here, references among them.
inline DType ToDType(int64_t number) {
  const bool known = number > 0 && number <= static_cast<int64_t>(kLastDType);
  return known ? static_cast<DType>(number) : DType::kInvalid;
}

}  // namespace flowscope::proto
