// Finds things that lie in a table of their own by what they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace flowscope {

// Numbers of things, by hash: four bytes each in at most half of the slots, and no memory of its
// own for any of them. Nothing is ever taken out. Low bits of the hash have to differ.
class SlotTable {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // The number for which `is(number)` holds, kNone where there is none.
  template <typename Is>
  uint32_t Find(uint64_t hash, Is is) const {
    size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot] != kNone && !is(slots_[slot])) slot = (slot + 1) & (slots_.size() - 1);
    return slots_[slot];
  }

  // Adds what Find does not find. `hash_of(number)` gives the hash of what is there.
  template <typename HashOf>
  void Add(uint64_t hash, uint32_t number, HashOf hash_of) {
    if (2 * (size_ + 1) > slots_.size()) {
      std::vector<uint32_t> before(2 * slots_.size(), kNone);
      before.swap(slots_);
      for (const uint32_t there : before) {
        if (there != kNone) Place(hash_of(there), there);
      }
    }
    Place(hash, number);
    ++size_;
  }

  size_t nbytes() const { return slots_.capacity() * sizeof(slots_[0]); }

 private:
  static constexpr size_t kFirstSlots = 64;  // a power of two, as every later size

  void Place(uint64_t hash, uint32_t number) {
    size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot] != kNone) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = number;
  }

  std::vector<uint32_t> slots_ = std::vector<uint32_t>(kFirstSlots, kNone);
  size_t size_ = 0;
};

}  // namespace flowscope
