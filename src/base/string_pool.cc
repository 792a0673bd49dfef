#include "base/string_pool.h"

#include <cstring>
#include <functional>

namespace flowscope {
namespace {

constexpr size_t kBlockBytes = size_t{16} << 10;

size_t HashOfText(std::string_view text) { return std::hash<std::string_view>{}(text); }

}  // namespace

StringPool::StringPool() : blocks_(std::make_shared<Blocks>()) { Intern(""); }

uint32_t StringPool::Intern(std::string_view text) {
  const size_t hash = HashOfText(text);
  const uint32_t known = slots_.Find(hash, [&](uint32_t id) { return views_[id] == text; });
  if (known != SlotTable::kNone) return known;
  const uint32_t id = static_cast<uint32_t>(views_.size());
  views_.push_back(Copy(text));
  slots_.Add(hash, id, [this](uint32_t there) { return HashOfText(views_[there]); });
  return id;
}

std::optional<uint32_t> StringPool::Find(std::string_view text) const {
  const uint32_t id =
      slots_.Find(HashOfText(text), [&](uint32_t there) { return views_[there] == text; });
  if (id == SlotTable::kNone) return std::nullopt;
  return id;
}

size_t StringPool::nbytes() const {
  return views_.capacity() * sizeof(views_[0]) + slots_.nbytes() +
         blocks_->capacity() * sizeof((*blocks_)[0]) + block_bytes_;
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

}  // namespace flowscope
