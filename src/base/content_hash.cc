#define XXH_INLINE_ALL

#include <xxhash.h>

#include <memory>

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

  std::string Hex() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  XXH3_state_t state_;
};

}  // namespace

std::string ContentHash(const Payload& payload) {
  Hasher hasher;
  hasher.Add(static_cast<int64_t>(payload.dtype));
  hasher.Add(static_cast<int64_t>(payload.dims.size()));
  for (int64_t dim : payload.dims) hasher.Add(dim);
  for (std::string_view bytes : payload.strings) {
    hasher.Add(static_cast<int64_t>(bytes.size()));
    hasher.Add(bytes.data(), bytes.size());
  }
  if (payload.data != nullptr) hasher.Add(payload.data, payload.nbytes);
  return hasher.Hex();
}

}  // namespace flowscope
