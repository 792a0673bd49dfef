#include "capture/hook_targets.h"

#include "capture/recorder.h"

namespace flowscope::capture {
namespace {

void Execute(TFE_Op* op, TFE_TensorHandle** outputs, int* num_outputs, TF_Status* status) {
  if (Recorder* recorder = Recorder::Current()) {
    recorder->Execute(op, outputs, num_outputs, status);
  } else {
    Recorder::CountElsewhere();
    tf::Api().TFE_Execute(op, outputs, num_outputs, status);
  }
}

void DeleteHandle(TFE_TensorHandle* handle) {
  if (HandleMap::NumWatching() > 0) Recorder::OnDelete(handle);
  tf::Api().TFE_DeleteTensorHandle(handle);
}

// Where the same pointer comes back it is one more reference. That is counted first: another thread
// may drop its own while we ask for ours.
template <typename Copy>
TFE_TensorHandle* Follow(TFE_TensorHandle* handle, Copy make_copy) {
  Recorder::OnCopy(handle, handle);
  TFE_TensorHandle* copy = make_copy();
  if (copy != handle) {
    if (copy != nullptr) Recorder::OnCopy(handle, copy);
    Recorder::OnDelete(handle);
  }
  return copy;
}

TFE_TensorHandle* CopySharing(TFE_TensorHandle* handle, TF_Status* status) {
  return Follow(handle,
                [&] { return tf::Api().TFE_TensorHandleCopySharingTensor(handle, status); });
}

TFE_TensorHandle* CopyToDevice(TFE_TensorHandle* handle, TFE_Context* context, const char* device,
                               TF_Status* status) {
  return Follow(handle, [&] {
    return tf::Api().TFE_TensorHandleCopyToDevice(handle, context, device, status);
  });
}

TF_Tensor* Resolve(TFE_TensorHandle* handle, TF_Status* status) {
  if (Recorder* recorder = Recorder::Current()) recorder->OnValueRead(handle);
  return tf::Api().TFE_TensorHandleResolve(handle, status);
}

void AddInput(TFE_Op* op, TFE_TensorHandle* handle, TF_Status* status) {
  if (Recorder* recorder = Recorder::Current()) recorder->OnAddInput(op, handle);
  tf::Api().TFE_OpAddInput(op, handle, status);
}

void* ToDLPack(TFE_TensorHandle* handle, TF_Status* status) {
  if (Recorder* recorder = Recorder::Current()) recorder->OnExport(handle);
  return tf::Api().HandleToDLPack(handle, status);
}

}  // namespace

const tf::HookTargets& RecorderTargets() {
  static const tf::HookTargets targets{Execute, DeleteHandle, CopySharing, CopyToDevice,
                                       Resolve, AddInput,     ToDLPack};
  return targets;
}

}  // namespace flowscope::capture
