// The hash of a value as a number; ContentHash in base/stats.h is its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/payload.h"

namespace flowscope {

struct ContentKey {
  uint64_t high = 0;
  uint64_t low = 0;

  bool operator==(const ContentKey&) const = default;
  std::string Hex() const;  // 32 digits
  // nullopt for anything but what Hex gives.
  static std::optional<ContentKey> FromHex(std::string_view text);
};

ContentKey ContentKeyOf(const Payload& payload);

}  // namespace flowscope
