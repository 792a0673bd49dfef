#include "capture/handle_map.h"

namespace flowscope::capture {
namespace {

std::atomic<int> g_watching{0};

}  // namespace

int HandleMap::NumWatching() { return g_watching.load(std::memory_order_relaxed); }

HandleMap::~HandleMap() {
  if (num_unheld_ > 0) g_watching.fetch_sub(1);
}

// Under the lock.
void HandleMap::CountUnheld(int change) {
  if (change == 0) return;
  const int64_t before = num_unheld_.fetch_add(change);
  if (before == 0) g_watching.fetch_add(1);
  if (before + change == 0) g_watching.fetch_sub(1);
}

bool HandleMap::InsertHeld(const TFE_TensorHandle* handle, KnownHandle known) {
  const std::lock_guard lock(mutex_);
  const auto [it, inserted] = entries_.try_emplace(handle);
  if (it->second.references > 0) CountUnheld(-1);
  it->second = {known, 0};
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
  auto [it, inserted] = entries_.try_emplace(handle, Entry{known, 1});
  if (!inserted) {
    // The same pointer came back: one more reference to what is already known under it.
    if (it->second.references > 0) ++it->second.references;
    it->second.known = known;
    return;
  }
  CountUnheld(1);
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
  if (it == entries_.end() || it->second.references == 0) return std::nullopt;
  return it->second.known;
}

bool HandleMap::Revive(const TFE_TensorHandle* handle, KnownHandle known) {
  const std::lock_guard lock(mutex_);
  if (!entries_.try_emplace(handle, Entry{known, 1}).second) return false;
  CountUnheld(1);
  return true;
}

void HandleMap::OnCopy(const TFE_TensorHandle* original, TFE_TensorHandle* copy) {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(original);
  if (it == entries_.end()) return;
  const bool held = it->second.references == 0;
  if (copy == original) {
    if (!held) ++it->second.references;
    return;
  }
  const KnownHandle known = it->second.known;
  if (held) pinned_.push_back(tf::ShareHandle(copy));
  Entry& entry = entries_[copy];
  CountUnheld((held ? 0 : 1) - (entry.references > 0 ? 1 : 0));
  entry = {known, held ? 0 : 1};
}

void HandleMap::OnDelete(const TFE_TensorHandle* handle) {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(handle);
  if (it == entries_.end() || it->second.references == 0) return;
  if (--it->second.references > 0) return;
  entries_.erase(it);
  CountUnheld(-1);
}

}  // namespace flowscope::capture
