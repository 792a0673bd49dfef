#include "capture/handle_map.h"

namespace flowscope::capture {
namespace {

std::atomic<int> g_watching{0};

}  // namespace

int HandleMap::NumWatching() { return g_watching.load(std::memory_order_relaxed); }

HandleMap::~HandleMap() {
  if (num_unheld_ > 0) g_watching.fetch_sub(1);
}

void HandleMap::InsertHeld(const TFE_TensorHandle* handle, KnownHandle known) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[handle];
  if (entry.references > 0 && --num_unheld_ == 0) g_watching.fetch_sub(1);
  entry = {known, 0};
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
  if (num_unheld_++ == 0) g_watching.fetch_add(1);
}

std::optional<KnownHandle> HandleMap::Find(const TFE_TensorHandle* handle) const {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(handle);
  if (it == entries_.end()) return std::nullopt;
  return it->second.known;
}

void HandleMap::OnCopy(const TFE_TensorHandle* original, const TFE_TensorHandle* copy) {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(original);
  if (it == entries_.end()) return;
  if (copy == original) {
    if (it->second.references > 0) ++it->second.references;
    return;
  }
  const KnownHandle known = it->second.known;
  auto [at, inserted] = entries_.insert_or_assign(copy, Entry{known, 1});
  if (inserted && num_unheld_++ == 0) g_watching.fetch_add(1);
}

void HandleMap::OnDelete(const TFE_TensorHandle* handle) {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(handle);
  if (it == entries_.end() || it->second.references == 0) return;
  if (--it->second.references > 0) return;
  entries_.erase(it);
  if (--num_unheld_ == 0) g_watching.fetch_sub(1);
}

}  // namespace flowscope::capture
