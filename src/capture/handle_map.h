// Which tensor of the recording a handle is.
//
// A handle that the recording holds keeps its address for as long as the recording lives, so the
// pointer is its identity. A handle that is not held can be freed and its address used again after
// one or two ops: for those, references are counted as they come and go, and the entry is erased
// before the last one is dropped. Copies and deletions arrive from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tf/handles.h"
#include "trace/records.h"

namespace flowscope::capture {

struct KnownHandle {
  TensorId tensor = kNoId;
  EdgeClass edge_class = EdgeClass::kUnexplained;
};

class HandleMap {
 public:
  // The caller keeps a reference for as long as the map is asked. False where the handle was known.
  bool InsertHeld(const TFE_TensorHandle* handle, KnownHandle known);
  // The same, and the map takes the reference itself.
  void InsertPinned(TFE_TensorHandle* handle, KnownHandle known);
  // One reference of ours is not taken; TensorFlow's caller has one.
  void InsertUnheld(const TFE_TensorHandle* handle, KnownHandle known);
  std::optional<KnownHandle> Find(const TFE_TensorHandle* handle) const;
  // Nothing for a handle that is held: its entry stays whatever happens.
  std::optional<KnownHandle> FindUnheld(const TFE_TensorHandle* handle) const;
  // For an op that holds `handle` though everybody else may have dropped it: the entry is there
  // again where it was erased. True where it was; then the caller ends that with OnDelete.
  bool Revive(const TFE_TensorHandle* handle, KnownHandle known);

  // `copy` was made from `original`: another reference to the same pointer, or a second handle of
  // the same value. The copy of a held value is pinned, so that both keep their addresses.
  void OnCopy(const TFE_TensorHandle* original, TFE_TensorHandle* copy);
  // The caller is about to drop one reference.
  void OnDelete(const TFE_TensorHandle* handle);

  // This map has an unheld entry now.
  bool watching() const { return num_unheld_.load(std::memory_order_relaxed) > 0; }
  // Maps that hold at least one unheld entry now, in the whole process: the delete hook does
  // nothing while it is zero.
  static int NumWatching();

  HandleMap() = default;
  ~HandleMap();
  HandleMap(const HandleMap&) = delete;
  HandleMap& operator=(const HandleMap&) = delete;

 private:
  struct Entry {
    KnownHandle known;
    int64_t references = 0;  // 0: held
  };
  void CountUnheld(int change);

  mutable std::mutex mutex_;
  std::unordered_map<const TFE_TensorHandle*, Entry> entries_;
  std::vector<tf::HandlePtr> pinned_;
  std::atomic<int64_t> num_unheld_{0};
};

}  // namespace flowscope::capture
