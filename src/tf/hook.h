// The execute hook: sees every eager op by standing in front of TFE_Execute.
//
// TensorFlow's Python extension calls the C API through its procedure linkage table. While at least
// one HookLease lives, the slots for the functions below in every loaded object under the
// TensorFlow package folder hold our functions; when the last lease goes, each slot holds exactly
// what it held before. Nothing else of TensorFlow is touched.
#pragma once

#include "base/status.h"
#include "tf/c_api.h"

namespace flowscope::tf {

// What stands in front of the C API. Each function is called on the thread that made the call, in
// whatever GIL state TensorFlow has there, and must itself call the real function (through Api()).
struct HookTargets {
  void (*execute)(TFE_Op*, TFE_TensorHandle**, int*, TF_Status*) = nullptr;
  void (*delete_handle)(TFE_TensorHandle*) = nullptr;
  TFE_TensorHandle* (*copy_sharing)(TFE_TensorHandle*, TF_Status*) = nullptr;
  TFE_TensorHandle* (*copy_to_device)(TFE_TensorHandle*, TFE_Context*, const char*,
                                      TF_Status*) = nullptr;
  TF_Tensor* (*resolve)(TFE_TensorHandle*, TF_Status*) = nullptr;  // a value is read into Python
  void (*add_input)(TFE_Op*, TFE_TensorHandle*, TF_Status*) = nullptr;
  void* (*to_dlpack)(TFE_TensorHandle*, TF_Status*) = nullptr;

  bool operator==(const HookTargets&) const = default;
};

// Scoped, reference-counted: the first lease patches, the last one restores. Movable, not copyable.
// Acquire and release are safe from any thread.
class HookLease {
 public:
  HookLease() = default;
  HookLease(HookLease&& other) noexcept;
  HookLease& operator=(HookLease&& other) noexcept;
  ~HookLease();

  bool held() const { return held_; }

 private:
  friend Result<HookLease> AcquireHook(const HookTargets& targets);
  bool held_ = false;
};

// Unavailable where no loaded object imports TFE_Execute, or a slot cannot be written; then nothing
// is changed. All leases that live at one time must pass the same targets; FailedPrecondition else.
// A target that is null leaves its function alone, except `execute`, which must be given. Objects
// that were loaded since the last lease was acquired are patched too.
Result<HookLease> AcquireHook(const HookTargets& targets);

// Number of leases that live now, and of slots that hold our functions now.
int HookLeaseCount();
int HookedSlotCount();

// True where every slot we ever patched holds its original value again (or is patched while a lease
// lives). For tests and doctor.
bool HookSlotsRestored();

// For the fake runtime, which has no linkage table: leases succeed and patch nothing.
void SetHookForTesting(bool fake);

// The targets of the leases that live now; all null where there is none. The fake runtime sends its
// calls through them, as the patched slots do with TensorFlow's.
HookTargets HookTargetsForTesting();

}  // namespace flowscope::tf
