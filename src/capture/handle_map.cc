#include "capture/handle_map.h"

namespace flowscope::capture {
namespace {

std::atomic<int> g_watching{0};

}  // namespace

int HandleMap::NumWatching() { return g_watching.load(std::memory_order_relaxed); }

HandleMap::~HandleMap() {
  if (num_counted_ > 0) g_watching.fetch_sub(1);
}

// Under the lock.
void HandleMap::SetCounted(Entry& entry, bool counted) {
  if (entry.counted == counted) return;
  entry.counted = counted;
  if (counted && num_counted_.fetch_add(1) == 0) g_watching.fetch_add(1);
  if (!counted && num_counted_.fetch_sub(1) == 1) g_watching.fetch_sub(1);
}

void HandleMap::CountFresh() {
  const std::lock_guard lock(mutex_);
  count_fresh_ = true;
}

bool HandleMap::InsertHeld(const TFE_TensorHandle* handle, KnownHandle known, bool fresh) {
  const std::lock_guard lock(mutex_);
  const auto [there, inserted] = entries_.TryEmplace(handle, Entry());
  Entry& entry = *there;
  const bool goes_on = count_fresh_ && entry.counted && !fresh;
  if (!goes_on) entry.references = fresh ? 1 : 0;
  SetCounted(entry, count_fresh_ && (fresh || goes_on));
  entry.known = known;
  entry.held = true;
  return inserted;
}

void HandleMap::InsertPinned(TFE_TensorHandle* handle, KnownHandle known) {
  InsertHeld(handle, known);
  tf::HandlePtr pin = tf::ShareHandle(handle);
  const std::lock_guard lock(mutex_);
  pinned_.push_back(std::move(pin));
}

void HandleMap::InsertUnheld(const TFE_TensorHandle* handle, KnownHandle known) {
  const std::lock_guard lock(mutex_);
  const auto [there, inserted] = entries_.TryEmplace(handle, Entry());
  Entry& entry = *there;
  entry.known = known;
  // The same pointer came back: one more reference to what is already known under it.
  if (inserted || entry.counted) ++entry.references;
  if (inserted) SetCounted(entry, true);
}

std::optional<KnownHandle> HandleMap::Find(const TFE_TensorHandle* handle) const {
  const std::lock_guard lock(mutex_);
  const Entry* entry = entries_.Find(handle);
  if (entry == nullptr) return std::nullopt;
  return entry->known;
}

std::optional<KnownHandle> HandleMap::FindUnheld(const TFE_TensorHandle* handle) const {
  const std::lock_guard lock(mutex_);
  const Entry* entry = entries_.Find(handle);
  if (entry == nullptr || entry->held) return std::nullopt;
  return entry->known;
}

bool HandleMap::Revive(const TFE_TensorHandle* handle, KnownHandle known) {
  const std::lock_guard lock(mutex_);
  const auto [entry, inserted] = entries_.TryEmplace(handle, Entry{known, 1});
  if (inserted) SetCounted(*entry, true);
  return inserted;
}

void HandleMap::OnCopy(const TFE_TensorHandle* original, TFE_TensorHandle* copy) {
  const std::lock_guard lock(mutex_);
  Entry* from = entries_.Find(original);
  if (from == nullptr) return;
  if (copy == original) {
    if (from->counted) ++from->references;
    return;
  }
  const KnownHandle known = from->known;
  const bool held = from->held;
  if (held) pinned_.push_back(tf::ShareHandle(copy));
  Entry& entry = *entries_.TryEmplace(copy, Entry()).first;
  SetCounted(entry, !held);
  entry.known = known;
  entry.references = held ? 0 : 1;
  entry.held = held;
}

void HandleMap::OnDelete(const TFE_TensorHandle* handle) {
  const std::lock_guard lock(mutex_);
  Entry* entry = entries_.Find(handle);
  if (entry == nullptr || !entry->counted) return;
  if (entry->references > 0) --entry->references;
  if (entry->references > 0 || entry->held) return;
  SetCounted(*entry, false);
  entries_.Erase(handle);
}

void HandleMap::Release(const TFE_TensorHandle* handle) {
  const std::lock_guard lock(mutex_);
  Entry* entry = entries_.Find(handle);
  if (entry == nullptr) return;
  entry->held = false;
  if (entry->counted && entry->references > 0) return;
  SetCounted(*entry, false);
  entries_.Erase(handle);
}

}  // namespace flowscope::capture
