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
#include <vector>

#include "base/pointer_map.h"
#include "tf/handles.h"
#include "trace/records.h"

namespace flowscope::capture {

struct KnownHandle {
  TensorId tensor = kNoId;
  EdgeClass edge_class = EdgeClass::kUnexplained;
};

class HandleMap {
 public:
  // The caller keeps a reference until Release, or for as long as the map is asked. `fresh`: just
  // made, so that TensorFlow's caller has one reference, which is counted from CountFresh on. False
  // where the handle was known.
  bool InsertHeld(const TFE_TensorHandle* handle, KnownHandle known, bool fresh = false);
  // The same, and the map takes the reference itself.
  void InsertPinned(TFE_TensorHandle* handle, KnownHandle known);
  // One reference of ours is not taken; TensorFlow's caller has one.
  void InsertUnheld(const TFE_TensorHandle* handle, KnownHandle known);
  // From now on fresh handles are counted while they are held, so that Release can let them go.
  void CountFresh();
  // The caller is about to give its own hold up. What nobody else has is forgotten.
  void Release(const TFE_TensorHandle* handle);
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

  // This map counts the references of an entry now.
  bool watching() const { return num_counted_.load(std::memory_order_relaxed) > 0; }
  // Maps that count at least one entry now, in the whole process: the delete hook does
  // nothing while it is zero.
  static int NumWatching();

  HandleMap() = default;
  ~HandleMap();
  HandleMap(const HandleMap&) = delete;
  HandleMap& operator=(const HandleMap&) = delete;

 private:
  struct Entry {
    KnownHandle known;
    int32_t references = 0;  // of others, where counted
    bool held = false;
    bool counted = false;
  };
  void SetCounted(Entry& entry, bool counted);

  mutable std::mutex mutex_;
  PointerMap<Entry> entries_;
  std::vector<tf::HandlePtr> pinned_;
  std::atomic<int64_t> num_counted_{0};
  bool count_fresh_ = false;
};

}  // namespace flowscope::capture
