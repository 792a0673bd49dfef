#define XXH_INLINE_ALL

#include "base/content_hash.h"

#include <xxhash.h>

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/element.h"
#include "base/stats.h"

namespace flowscope {
namespace {

// Feeds a hash; every number goes in as 8 bytes, so that no two inputs run into each other.
class Hasher {
 public:
  Hasher() { XXH3_128bits_reset(&state_); }

  void Add(const void* data, size_t nbytes) {
    if (nbytes > 0) XXH3_128bits_update(&state_, data, nbytes);
  }
  void Add(int64_t number) { Add(&number, sizeof(number)); }

  ContentKey Key() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return {hash.high64, hash.low64};
  }

 private:
  XXH3_state_t state_;
};

constexpr size_t kHexDigits = 16;

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

uint64_t FromDigits(std::string_view digits) {
  uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

}  // namespace

std::string ContentKey::Hex() const { return fmt::format("{:016x}{:016x}", high, low); }

std::optional<ContentKey> ContentKey::FromHex(std::string_view text) {
  if (text.size() != 2 * kHexDigits || !std::all_of(text.begin(), text.end(), IsHexDigit)) {
    return std::nullopt;
  }
  return ContentKey{FromDigits(text.substr(0, kHexDigits)), FromDigits(text.substr(kHexDigits))};
}

std::string ContentHash(const Payload& payload) { return ContentKeyOf(payload).Hex(); }

ContentKey ContentKeyOf(const Payload& payload) {
  Hasher hasher;
  hasher.Add(static_cast<int64_t>(payload.dtype));
  hasher.Add(static_cast<int64_t>(payload.dims.size()));
  for (int64_t dim : payload.dims) hasher.Add(dim);
  for (std::string_view bytes : payload.strings) {
    hasher.Add(static_cast<int64_t>(bytes.size()));
    hasher.Add(bytes.data(), bytes.size());
  }
  if (payload.data != nullptr) hasher.Add(payload.data, payload.nbytes);
  return hasher.Key();
}

}  // namespace flowscope
