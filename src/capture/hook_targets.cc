#include "capture/hook_targets.h"

#include "capture/recorder.h"

namespace flowscope::capture {
namespace {

void Execute(TFE_Op* op, TFE_TensorHandle** outputs, int* num_outputs, TF_Status* status) {
  if (Recorder* recorder = Recorder::Current()) {
    recorder->Execute(op, outputs, num_outputs, status);
  } else {
    tf::Api().TFE_Execute(op, outputs, num_outputs, status);
  }
}

void DeleteHandle(TFE_TensorHandle* handle) {
  if (HandleMap::NumWatching() > 0) Recorder::OnDelete(handle);
  tf::Api().TFE_DeleteTensorHandle(handle);
}

TFE_TensorHandle* CopySharing(TFE_TensorHandle* handle, TF_Status* status) {
  TFE_TensorHandle* copy = tf::Api().TFE_TensorHandleCopySharingTensor(handle, status);
  Recorder* recorder = Recorder::Current();
  if (recorder != nullptr && copy != nullptr) recorder->OnCopy(handle, copy);
  return copy;
}

TFE_TensorHandle* CopyToDevice(TFE_TensorHandle* handle, TFE_Context* context, const char* device,
                               TF_Status* status) {
  TFE_TensorHandle* copy = tf::Api().TFE_TensorHandleCopyToDevice(handle, context, device, status);
  Recorder* recorder = Recorder::Current();
  if (recorder != nullptr && copy != nullptr) recorder->OnCopy(handle, copy);
  return copy;
}

TF_Tensor* Resolve(TFE_TensorHandle* handle, TF_Status* status) {
  if (Recorder* recorder = Recorder::Current()) recorder->OnValueRead(handle);
  return tf::Api().TFE_TensorHandleResolve(handle, status);
}

}  // namespace

const tf::HookTargets& RecorderTargets() {
  static const tf::HookTargets targets{Execute, DeleteHandle, CopySharing, CopyToDevice, Resolve};
  return targets;
}

}  // namespace flowscope::capture
