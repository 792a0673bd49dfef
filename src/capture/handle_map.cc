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
  const auto [it, inserted] = entries_.try_emplace(handle);
  Entry& entry = it->second;
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
  auto [it, inserted] = entries_.try_emplace(handle, Entry{known});
  Entry& entry = it->second;
  entry.known = known;
  // The same pointer came back: one more reference to what is already known under it.
  if (inserted || entry.counted) ++entry.references;
  if (inserted) SetCounted(entry, true);
}

std::optional<KnownHandle> HandleMap::Find(const TFE_TensorHandle* handle) const {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(handle);
  if (it == entries_.end()) return std::nullopt;
  return it->second.known;
}

std::optional<KnownHandle> HandleMap::FindUnheld(const TFE_TensorHandle* handle) const {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(handle);
  if (it == entries_.end() || it->second.held) return std::nullopt;
  return it->second.known;
}

bool HandleMap::Revive(const TFE_TensorHandle* handle, KnownHandle known) {
  const std::lock_guard lock(mutex_);
  const auto [it, inserted] = entries_.try_emplace(handle, Entry{known, 1});
  if (inserted) SetCounted(it->second, true);
  return inserted;
}

void HandleMap::OnCopy(const TFE_TensorHandle* original, TFE_TensorHandle* copy) {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(original);
  if (it == entries_.end()) return;
  if (copy == original) {
    if (it->second.counted) ++it->second.references;
    return;
  }
  const KnownHandle known = it->second.known;
  const bool held = it->second.held;
  if (held) pinned_.push_back(tf::ShareHandle(copy));
  Entry& entry = entries_[copy];
  SetCounted(entry, !held);
  entry.known = known;
  entry.references = held ? 0 : 1;
  entry.held = held;
}

void HandleMap::OnDelete(const TFE_TensorHandle* handle) {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(handle);
  if (it == entries_.end() || !it->second.counted) return;
  if (it->second.references > 0) --it->second.references;
  if (it->second.references > 0 || it->second.held) return;
  SetCounted(it->second, false);
  entries_.erase(it);
}

void HandleMap::Release(const TFE_TensorHandle* handle) {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(handle);
  if (it == entries_.end()) return;
  it->second.held = false;
  if (it->second.counted && it->second.references > 0) return;
  SetCounted(it->second, false);
  entries_.erase(it);
}

}  // namespace flowscope::capture
