#define XXH_INLINE_ALL

#include "store/digest.h"

#include <xxhash.h>

#include <cstring>
#include <string_view>

#include <fmt/format.h>

namespace flowscope::store {

struct Digest::State {
  XXH3_state_t hash;
};

Digest::Digest() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->hash); }
Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::Add(std::string_view row) {
  XXH3_128bits_update(&state_->hash, row.data(), row.size());
}

std::string Digest::Hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->hash);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

void RowBytes::Add(const Cell& cell) {
  char head[1 + sizeof(uint64_t)];
  uint64_t word = cell.text.size();
  if (cell.type == Cell::Type::kInteger) word = static_cast<uint64_t>(cell.integer);
  if (cell.type == Cell::Type::kReal) std::memcpy(&word, &cell.real, sizeof(word));
  head[0] = static_cast<char>(cell.type);
  std::memcpy(head + 1, &word, sizeof(word));
  bytes_.append(head, sizeof(head));
  bytes_.append(cell.text);
}

std::string_view RowBytes::Of(const Cell& id, std::span<const Cell> cells) {
  bytes_.clear();
  Add(id);
  for (const Cell& cell : cells) Add(cell);
  return bytes_;
}

ContentKey HashOfRow(std::string_view row) {
  const XXH128_hash_t hash = XXH3_128bits(row.data(), row.size());
  return {hash.high64, hash.low64};
}

}  // namespace flowscope::store
