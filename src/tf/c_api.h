// TensorFlow's C API as a table of function pointers, filled by dlsym from the user's own wheel.
//
// There is no TensorFlow header and no TensorFlow library at build time: one binary serves every
// version. Optional entries are null where a version lacks them. The fake runtime under tests/
// fills the same table, so everything above tf/ runs under sanitizers without TensorFlow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

extern "C" {
struct TFE_Context;
struct TFE_ContextOptions;
struct TFE_Executor;
struct TFE_Op;
struct TFE_OpAttrs;
struct TFE_TensorHandle;
struct TF_Graph;
struct TF_Status;
struct TF_Tensor;
struct TF_Buffer {
  const void* data;
  size_t length;
  void (*data_deallocator)(void* data, size_t length);
};
// TensorFlow's TF_TString: 24 opaque bytes, read through TF_StringGetDataPointer/GetSize.
struct TF_TString {
  uint64_t opaque[3];
};
}

namespace flowscope::tf {

// X(result, name, arguments). Required entries exist in every TensorFlow from 2.16 on.
#define FLOWSCOPE_TF_REQUIRED(X)                                                                  \
  X(TF_Status*, TF_NewStatus, (void))                                                             \
  X(void, TF_DeleteStatus, (TF_Status*))                                                          \
  X(int, TF_GetCode, (const TF_Status*))                                                          \
  X(const char*, TF_Message, (const TF_Status*))                                                  \
  X(void, TF_SetStatus, (TF_Status*, int, const char*))                                           \
  X(TF_Buffer*, TF_NewBuffer, (void))                                                             \
  X(TF_Buffer*, TF_NewBufferFromString, (const void*, size_t))                                    \
  X(void, TF_DeleteBuffer, (TF_Buffer*))                                                          \
  X(const char*, TF_Version, (void))                                                              \
  X(TF_Buffer*, TF_GetAllOpList, (void))                                                          \
  X(TF_Tensor*, TF_AllocateTensor, (int, const int64_t*, int, size_t))                            \
  X(TF_Tensor*, TF_NewTensor,                                                                     \
    (int, const int64_t*, int, void*, size_t, void (*)(void*, size_t, void*), void*))             \
  X(void, TF_DeleteTensor, (TF_Tensor*))                                                          \
  X(int, TF_TensorType, (const TF_Tensor*))                                                       \
  X(int, TF_NumDims, (const TF_Tensor*))                                                          \
  X(int64_t, TF_Dim, (const TF_Tensor*, int))                                                     \
  X(size_t, TF_TensorByteSize, (const TF_Tensor*))                                                \
  X(void*, TF_TensorData, (const TF_Tensor*))                                                     \
  X(int64_t, TF_TensorElementCount, (const TF_Tensor*))                                           \
  X(void, TF_TensorFromProto, (const TF_Buffer*, TF_Tensor*, TF_Status*))                         \
  X(const char*, TF_StringGetDataPointer, (const TF_TString*))                                    \
  X(size_t, TF_StringGetSize, (const TF_TString*))                                                \
  X(TFE_Op*, TFE_NewOp, (TFE_Context*, const char*, TF_Status*))                                  \
  X(void, TFE_DeleteOp, (TFE_Op*))                                                                \
  X(void, TFE_OpAddInput, (TFE_Op*, TFE_TensorHandle*, TF_Status*))                               \
  X(void, TFE_OpSetAttrValueProto, (const TFE_Op*, const char*, const void*, size_t, TF_Status*)) \
  X(void, TFE_OpSetAttrType, (TFE_Op*, const char*, int))                                         \
  X(const char*, TFE_OpGetName, (const TFE_Op*, TF_Status*))                                      \
  X(TFE_Context*, TFE_OpGetContext, (const TFE_Op*, TF_Status*))                                  \
  X(const char*, TFE_OpGetDevice, (const TFE_Op*, TF_Status*))                                    \
  X(void, TFE_OpSetDevice, (TFE_Op*, const char*, TF_Status*))                                    \
  X(const TFE_OpAttrs*, TFE_OpGetAttrs, (const TFE_Op*))                                          \
  X(void, TFE_OpAttrsSerialize, (const TFE_OpAttrs*, TF_Buffer*, TF_Status*))                     \
  X(int, TFE_OpGetFlatInputCount, (const TFE_Op*, TF_Status*))                                    \
  X(TFE_TensorHandle*, TFE_OpGetFlatInput, (const TFE_Op*, int, TF_Status*)) /* borrowed */       \
  X(void, TFE_Execute, (TFE_Op*, TFE_TensorHandle**, int*, TF_Status*))                           \
  X(TFE_TensorHandle*, TFE_NewTensorHandle, (const TF_Tensor*, TF_Status*))                       \
  X(void, TFE_DeleteTensorHandle, (TFE_TensorHandle*))                                            \
  X(TFE_TensorHandle*, TFE_TensorHandleCopySharingTensor, (TFE_TensorHandle*, TF_Status*))        \
  X(TFE_TensorHandle*, TFE_TensorHandleCopyToDevice,                                              \
    (TFE_TensorHandle*, TFE_Context*, const char*, TF_Status*))                                   \
  X(int, TFE_TensorHandleDataType, (TFE_TensorHandle*))                                           \
  X(int, TFE_TensorHandleNumDims, (TFE_TensorHandle*, TF_Status*))                                \
  X(int64_t, TFE_TensorHandleDim, (TFE_TensorHandle*, int, TF_Status*))                           \
  X(int64_t, TFE_TensorHandleNumElements, (TFE_TensorHandle*, TF_Status*))                        \
  X(const char*, TFE_TensorHandleDeviceName, (TFE_TensorHandle*, TF_Status*))                     \
  X(TF_Tensor*, TFE_TensorHandleResolve, (TFE_TensorHandle*, TF_Status*))                         \
  X(unsigned char, TFE_ContextHasFunction, (TFE_Context*, const char*))                           \
  X(void, TFE_ContextGetFunctionDef, (TFE_Context*, const char*, TF_Buffer*, TF_Status*))

#define FLOWSCOPE_TF_OPTIONAL(X)                                                               \
  X(size_t, TF_TensorDefaultAlignment, (void))                                                 \
  X(TF_Buffer*, TF_GetRegisteredKernelsForOp, (const char*, TF_Status*))                       \
  X(void*, TFE_TensorHandleDevicePointer, (TFE_TensorHandle*, TF_Status*))                     \
  X(const char*, TFE_TensorHandleBackingDeviceName, (TFE_TensorHandle*, TF_Status*))           \
  X(TFE_TensorHandle*, TFE_NewTensorHandleFromDeviceMemory,                                    \
    (TFE_Context*, const char*, int, const int64_t*, int, void*, size_t,                       \
     void (*)(void*, size_t, void*), void*, TF_Status*))                                       \
  X(TFE_ContextOptions*, TFE_NewContextOptions, (void))                                        \
  X(void, TFE_DeleteContextOptions, (TFE_ContextOptions*))                                     \
  X(void, TFE_ContextOptionsSetConfig, (TFE_ContextOptions*, const void*, size_t, TF_Status*)) \
  X(TFE_Context*, TFE_NewContext, (const TFE_ContextOptions*, TF_Status*))                     \
  X(void, TFE_ContextSetRunEagerOpAsFunction, (TFE_Context*, unsigned char, TF_Status*))       \
  X(void, TFE_DeleteContext, (TFE_Context*))                                                   \
  X(void, TFE_ContextAddFunctionDef, (TFE_Context*, const char*, size_t, TF_Status*))          \
  X(TFE_Executor*, TFE_ContextGetExecutorForThread, (TFE_Context*))                            \
  X(void, TFE_DeleteExecutor, (TFE_Executor*))                                                 \
  X(bool, TFE_ExecutorIsAsync, (TFE_Executor*))                                                \
  X(TF_Graph*, TF_NewGraph, (void))                                                            \
  X(void, TF_DeleteGraph, (TF_Graph*))                                                         \
  X(void, TF_GraphGetOpDef, (TF_Graph*, const char*, TF_Buffer*, TF_Status*))

// By what TensorFlow finds an op's kernel: where two are equal, so are type, device and attributes.
struct OpFingerprint {
  uint64_t low = 0;
  uint64_t high = 0;

  friend bool operator==(const OpFingerprint&, const OpFingerprint&) = default;
};

struct CApi {
#define FLOWSCOPE_TF_MEMBER(result, name, args) result(*name) args = nullptr;
  FLOWSCOPE_TF_REQUIRED(FLOWSCOPE_TF_MEMBER)
  FLOWSCOPE_TF_OPTIONAL(FLOWSCOPE_TF_MEMBER)
#undef FLOWSCOPE_TF_MEMBER
  // tensorflow::ResourceHandle::SerializeAsString() const. The C API hands out a resource tensor as
  // the C++ objects themselves and has no call that turns one into bytes. Optional.
  std::string (*ResourceHandleSerialize)(const void* resource_handle) = nullptr;
  // tensorflow::TFE_HandleToDLPack, which is no part of the C API. Optional.
  void* (*HandleToDLPack)(TFE_TensorHandle* handle, TF_Status* status) = nullptr;
  // tensorflow::AttrBuilder::CacheKey(device), which the builder keeps for the execution that
  // follows. Of objects with this table of virtual functions, null where there is no such call.
  OpFingerprint (*AttrBuilderCacheKey)(void* attr_builder, std::string_view device) = nullptr;
  const void* AttrBuilderTable = nullptr;
};

// The table of this process. Only after LoadCApi or SetCApiForTesting succeeded.
const CApi& Api();
bool ApiLoaded();

// The name under which TensorFlow exports CApi::HandleToDLPack.
inline constexpr const char* kHandleToDLPack =
    "_ZN10tensorflow18TFE_HandleToDLPackEP16TFE_TensorHandleP10TSL_Status";

// Looks every entry up in the TensorFlow libraries that are already in this process, found under
// `tensorflow_dir` (the package folder: libtensorflow_cc.so.2, libtensorflow_framework.so.2).
// Unavailable, naming the missing symbols, where a required entry is not there; the table stays as
// it was. Idempotent.
Status LoadCApi(const std::string& tensorflow_dir);

// The package folder that LoadCApi was given, with symbolic links resolved; empty before.
std::string TensorFlowDir();

// Replaces the table; tests only.
void SetCApiForTesting(const CApi& api);

}  // namespace flowscope::tf
