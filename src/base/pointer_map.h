// What belongs to an address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace flowscope {

// Values by pointer, in one array of which at most half is used: a lookup mostly touches one place
// in memory. Pointers to values hold until the next TryEmplace or Erase. Null is no key.
template <typename Value>
class PointerMap {
 public:
  Value* Find(const void* key) {
    Slot& slot = slots_[SlotOf(key)];
    return slot.key == nullptr ? nullptr : &slot.value;
  }
  const Value* Find(const void* key) const { return const_cast<PointerMap*>(this)->Find(key); }

  // The value under `key`, which is `value` where there was none; true there.
  std::pair<Value*, bool> TryEmplace(const void* key, Value value) {
    size_t at = SlotOf(key);
    if (slots_[at].key != nullptr) return {&slots_[at].value, false};
    if (2 * (size_ + 1) > slots_.size()) {
      Grow();
      at = SlotOf(key);
    }
    slots_[at] = {key, std::move(value)};
    ++size_;
    return {&slots_[at].value, true};
  }

  // Those behind move up, so that each is found without a gap.
  void Erase(const void* key) {
    size_t gap = SlotOf(key);
    if (slots_[gap].key == nullptr) return;
    for (size_t next = After(gap); slots_[next].key != nullptr; next = After(next)) {
      const size_t home = HomeOf(slots_[next].key);
      const size_t mask = slots_.size() - 1;
      if (((next - home) & mask) < ((next - gap) & mask)) continue;
      slots_[gap] = std::move(slots_[next]);
      gap = next;
    }
    slots_[gap] = Slot();
    --size_;
  }

  size_t size() const { return size_; }

 private:
  struct Slot {
    const void* key = nullptr;
    Value value{};
  };
  static constexpr size_t kFirstSlots = 64;  // a power of two, as every later size

  // Allocated addresses differ in their middle bits; a multiplication spreads them to the high
  // ones.
  size_t HomeOf(const void* key) const {
    const uint64_t spread = reinterpret_cast<uintptr_t>(key) * 0x9e3779b97f4a7c15ULL;
    return (spread >> 32) & (slots_.size() - 1);
  }
  size_t After(size_t at) const { return (at + 1) & (slots_.size() - 1); }

  // Where the key is, or the free slot where it would be.
  size_t SlotOf(const void* key) const {
    size_t at = HomeOf(key);
    while (slots_[at].key != nullptr && slots_[at].key != key) at = After(at);
    return at;
  }

  void Grow() {
    std::vector<Slot> before(2 * slots_.size());
    before.swap(slots_);
    for (Slot& slot : before) {
      if (slot.key != nullptr) slots_[SlotOf(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(kFirstSlots);
  size_t size_ = 0;
};

}  // namespace flowscope
