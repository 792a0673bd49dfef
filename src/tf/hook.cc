#include "tf/hook.h"

#include <sys/mman.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tf/slot_table.h"

namespace flowscope::tf {
namespace {

constexpr const char* kExecute = "TFE_Execute";

// Order of the slot table's symbols and targets.
std::vector<std::string> HookedSymbols() {
  return {kExecute,
          "TFE_DeleteTensorHandle",
          "TFE_TensorHandleCopySharingTensor",
          "TFE_TensorHandleCopyToDevice",
          "TFE_TensorHandleResolve",
          "TFE_OpAddInput",
          kHandleToDLPack};
}

template <typename Function>
SlotTable::Target MakeTarget(Function* replacement, Function* real) {
  return {reinterpret_cast<void*>(replacement), reinterpret_cast<void*>(real)};
}

std::vector<SlotTable::Target> MakeTargets(const HookTargets& targets) {
  return {MakeTarget(targets.execute, Api().TFE_Execute),
          MakeTarget(targets.delete_handle, Api().TFE_DeleteTensorHandle),
          MakeTarget(targets.copy_sharing, Api().TFE_TensorHandleCopySharingTensor),
          MakeTarget(targets.copy_to_device, Api().TFE_TensorHandleCopyToDevice),
          MakeTarget(targets.resolve, Api().TFE_TensorHandleResolve),
          MakeTarget(targets.add_input, Api().TFE_OpAddInput),
          MakeTarget(Api().HandleToDLPack != nullptr ? targets.to_dlpack : nullptr,
                     Api().HandleToDLPack)};
}

struct HookState {
  std::mutex mutex;
  int leases = 0;
  HookTargets targets;
  std::optional<SlotTable> slots;
  bool fake = false;
};

// Never destroyed: a lease may be released by a static object's destructor.
HookState& State() {
  static HookState& state = *new HookState;
  return state;
}

Status PatchSlots(HookState& state, const HookTargets& targets) {
  const std::string folder = TensorFlowDir();
  if (!state.slots || (state.leases == 0 && state.slots->folder() != folder)) {
    state.slots.emplace(folder, HookedSymbols(), &::mprotect);
  }
  FLOWSCOPE_RETURN_IF_ERROR(state.slots->Patch(MakeTargets(targets)));
  if (state.slots->CountPatched(kExecute) > 0) return Status::Ok();
  // Nothing of the same call stays behind.
  static_cast<void>(state.slots->Restore());
  return Unavailable("no loaded library below " + folder + " imports TFE_Execute");
}

Status CheckTargets(const HookState& state, const HookTargets& targets) {
  if (targets.execute == nullptr) return InvalidArgument("a hook needs a target for TFE_Execute");
  if (!ApiLoaded()) return Unavailable("TensorFlow's C API is not loaded");
  if (state.leases > 0 && targets != state.targets) {
    return FailedPrecondition("a hook with other targets is in place");
  }
  return Status::Ok();
}

void Release() {
  HookState& state = State();
  std::lock_guard lock(state.mutex);
  if (--state.leases > 0) return;
  state.targets = {};
  // A slot that cannot be written keeps leading to our function, which passes the call on.
  if (state.slots) static_cast<void>(state.slots->Restore());
}

}  // namespace

HookLease::HookLease(HookLease&& other) noexcept : held_(std::exchange(other.held_, false)) {}

HookLease& HookLease::operator=(HookLease&& other) noexcept {
  if (this == &other) return *this;
  if (held_) Release();
  held_ = std::exchange(other.held_, false);
  return *this;
}

HookLease::~HookLease() {
  if (held_) Release();
}

Result<HookLease> AcquireHook(const HookTargets& targets) {
  HookState& state = State();
  std::lock_guard lock(state.mutex);
  FLOWSCOPE_RETURN_IF_ERROR(CheckTargets(state, targets));
  // Also with leases alive: objects may have been loaded since.
  if (!state.fake) FLOWSCOPE_RETURN_IF_ERROR(PatchSlots(state, targets));
  state.targets = targets;
  ++state.leases;
  HookLease lease;
  lease.held_ = true;
  return lease;
}

int HookLeaseCount() {
  std::lock_guard lock(State().mutex);
  return State().leases;
}

int HookedSlotCount() {
  std::lock_guard lock(State().mutex);
  return State().slots ? State().slots->CountPatched() : 0;
}

bool HookSlotsRestored() {
  std::lock_guard lock(State().mutex);
  HookState& state = State();
  return !state.slots || state.slots->Intact(state.leases > 0);
}

void SetHookForTesting(bool fake) {
  std::lock_guard lock(State().mutex);
  State().fake = fake;
}

HookTargets HookTargetsForTesting() {
  std::lock_guard lock(State().mutex);
  return State().targets;
}

}  // namespace flowscope::tf
