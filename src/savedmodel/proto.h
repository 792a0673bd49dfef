// Short forms for reading protocol buffers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <protozero/pbf_reader.hpp>

#include "base/dtype.h"
#include "base/payload.h"

namespace flowscope::savedmodel {

inline constexpr auto kBytes = protozero::pbf_wire_type::length_delimited;
inline constexpr auto kVarint = protozero::pbf_wire_type::varint;

inline std::string_view View(protozero::pbf_reader& reader) {
  const protozero::data_view view = reader.get_view();
  return {view.data(), view.size()};
}

// kInvalid for a number that stands for no dtype known here, references among them.
inline DType ToDType(int64_t number) {
  const bool known = number > 0 && number <= static_cast<int64_t>(DType::kUint2);
  return known ? static_cast<DType>(number) : DType::kInvalid;
}

// A TensorShapeProto; nullopt for an unknown rank. Throws protozero's exceptions.
std::optional<Dims> ReadShape(protozero::pbf_reader reader);

}  // namespace flowscope::savedmodel
