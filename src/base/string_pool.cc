#include "base/string_pool.h"

#include <cstring>
#include <functional>
#include <limits>

namespace flowscope {
namespace {

constexpr uint32_t kEmpty = std::numeric_limits<uint32_t>::max();
constexpr size_t kFirstSlots = 64;  // a power of two, as every later size
constexpr size_t kBlockBytes = size_t{16} << 10;

}  // namespace

StringPool::StringPool() : slots_(kFirstSlots, kEmpty), blocks_(std::make_shared<Blocks>()) {
  Intern("");
}

uint32_t StringPool::Intern(std::string_view text) {
  size_t slot = SlotOf(text);
  if (slots_[slot] != kEmpty) return slots_[slot];
  if (2 * (views_.size() + 1) > slots_.size()) {
    Grow();
    slot = SlotOf(text);
  }
  const uint32_t id = static_cast<uint32_t>(views_.size());
  views_.push_back(Copy(text));
  slots_[slot] = id;
  return id;
}

std::optional<uint32_t> StringPool::Find(std::string_view text) const {
  const uint32_t id = slots_[SlotOf(text)];
  if (id == kEmpty) return std::nullopt;
  return id;
}

size_t StringPool::nbytes() const {
  return views_.capacity() * sizeof(views_[0]) + slots_.capacity() * sizeof(slots_[0]) +
         blocks_->capacity() * sizeof((*blocks_)[0]) + block_bytes_;
}

// Where `text` is, or the empty slot where it belongs. There always is one: at most half are used.
size_t StringPool::SlotOf(std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = std::hash<std::string_view>{}(text)&mask;
  while (slots_[slot] != kEmpty && views_[slots_[slot]] != text) slot = (slot + 1) & mask;
  return slot;
}

// A long string gets a block of its own, so that little of a common block is wasted.
std::string_view StringPool::Copy(std::string_view text) {
  if (text.empty()) return "";
  const bool own_block = text.size() > kBlockBytes / 8;
  if (own_block || text.size() > free_bytes_) {
    const size_t nbytes = own_block ? text.size() : kBlockBytes;
    blocks_->push_back(std::make_unique<char[]>(nbytes));
    block_bytes_ += nbytes;
    if (own_block) {
      std::memcpy(blocks_->back().get(), text.data(), text.size());
      return {blocks_->back().get(), text.size()};
    }
    free_ = blocks_->back().get();
    free_bytes_ = nbytes;
  }
  std::memcpy(free_, text.data(), text.size());
  const std::string_view copy(free_, text.size());
  free_ += text.size();
  free_bytes_ -= text.size();
  return copy;
}

void StringPool::Grow() {
  slots_.assign(2 * slots_.size(), kEmpty);
  for (uint32_t id = 0; id < views_.size(); ++id) slots_[SlotOf(views_[id])] = id;
}

}  // namespace flowscope
