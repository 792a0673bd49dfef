// Stands for TensorFlow's Python extension: calls the C API of another library. Built several ways,
// so that its import slots are lazy, resolved and read-only, or read as data.

#include "tf/c_api.h"

extern "C" {
void TFE_Execute(TFE_Op*, TFE_TensorHandle**, int*, TF_Status*);
void TFE_DeleteTensorHandle(TFE_TensorHandle*);

// What TFE_Execute leaves in the count of results.
__attribute__((visibility("default"))) int ClientExecute() {
  int count = 0;
  TFE_Execute(nullptr, nullptr, &count, nullptr);
  return count;
}

__attribute__((visibility("default"))) void ClientDelete() { TFE_DeleteTensorHandle(nullptr); }
}
