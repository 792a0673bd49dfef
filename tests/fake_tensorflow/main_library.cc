// A libtensorflow_cc.so.2 with every required name and no behaviour, except that TFE_Execute leaves
// 1 in the count of results and TFE_DeleteTensorHandle nothing. With FLOWSCOPE_TOO_OLD it has
// hardly a name.

#include "tf/c_api.h"

#define FLOWSCOPE_EXPORT extern "C" __attribute__((visibility("default")))

#ifdef FLOWSCOPE_TOO_OLD

FLOWSCOPE_EXPORT const char* TF_Version() { return "2.3.0"; }

#else

#define FLOWSCOPE_STUB(result, name, args) \
  FLOWSCOPE_EXPORT result FLOWSCOPE_STUB_NAME(name) args { return static_cast<result>(0); }
#define FLOWSCOPE_STUB_NAME(name) name
#define TFE_Execute TFE_Execute_unused
FLOWSCOPE_TF_REQUIRED(FLOWSCOPE_STUB)
#undef TFE_Execute

FLOWSCOPE_EXPORT void TFE_Execute(TFE_Op*, TFE_TensorHandle**, int* count, TF_Status*) {
  *count = 1;
}

#endif
