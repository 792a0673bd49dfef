// The checksum of zip entries.
#pragma once

#include <cstdint>
#include <string_view>

namespace flowscope::store {

// Of what `crc` is the checksum of, followed by `bytes`; 0 is that of nothing.
uint32_t Crc32(uint32_t crc, std::string_view bytes);

// Of two pieces one after the other, from the checksums of each.
uint32_t CombineCrc32(uint32_t first, uint32_t second, uint64_t second_bytes);

}  // namespace flowscope::store
