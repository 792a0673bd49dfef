#define XXH_INLINE_ALL

#include "store/digest.h"

#include <xxhash.h>

#include <cstring>
#include <string_view>

#include <fmt/format.h>

namespace flowscope::store {

namespace {

// `add(data, nbytes)` for what a cell is in a hash.
template <typename Add>
void AddCell(const Cell& cell, Add add) {
  char head[1 + sizeof(uint64_t)];
  uint64_t word = cell.text.size();
  if (cell.type == Cell::Type::kInteger) word = static_cast<uint64_t>(cell.integer);
  if (cell.type == Cell::Type::kReal) std::memcpy(&word, &cell.real, sizeof(word));
  head[0] = static_cast<char>(cell.type);
  std::memcpy(head + 1, &word, sizeof(word));
  add(head, sizeof(head));
  if (!cell.text.empty()) add(cell.text.data(), cell.text.size());
}

}  // namespace

struct Digest::State {
  XXH3_state_t hash;
};

Digest::Digest() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->hash); }
Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::Add(const Cell& cell) {
  AddCell(cell, [this](const char* data, size_t nbytes) {
    XXH3_128bits_update(&state_->hash, data, nbytes);
  });
}

std::string Digest::Hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->hash);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

ContentKey RowHasher::Hash(const Cell& id, std::span<const Cell> cells) {
  bytes_.clear();
  const auto add = [this](const char* data, size_t nbytes) { bytes_.append(data, nbytes); };
  AddCell(id, add);
  for (const Cell& cell : cells) AddCell(cell, add);
  const XXH128_hash_t hash = XXH3_128bits(bytes_.data(), bytes_.size());
  return {hash.high64, hash.low64};
}

}  // namespace flowscope::store
