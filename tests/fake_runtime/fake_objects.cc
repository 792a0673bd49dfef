#include "fake_runtime/fake_objects.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace flowscope::fake {
namespace {

// Deleted handles' memory while addresses are reused, last one first.
struct HandlePool {
  std::mutex mutex;
  bool reuse = false;
  std::vector<void*> free;
};

HandlePool& Pool() {
  static HandlePool pool;
  return pool;
}

void* AllocateHandle() {
  HandlePool& pool = Pool();
  std::lock_guard lock(pool.mutex);
  if (pool.free.empty()) return ::operator new(sizeof(TFE_TensorHandle));
  void* memory = pool.free.back();
  pool.free.pop_back();
  return memory;
}

void FreeHandle(void* memory) {
  HandlePool& pool = Pool();
  std::lock_guard lock(pool.mutex);
  if (pool.reuse) {
    pool.free.push_back(memory);
  } else {
    ::operator delete(memory);
  }
}

void CheckAlive(const TFE_TensorHandle* handle) {
  if (handle == nullptr) Misuse("a null tensor handle");
  if (handle->references.load() <= 0) Misuse("a tensor handle used after its end");
}

// False, with the status set, where the handle stands for an error.
bool Usable(const TFE_TensorHandle* handle, TF_Status* status) {
  CheckAlive(handle);
  Set(status, handle->error.empty() ? 0 : 3, handle->error);
  return handle->error.empty();
}

TF_Tensor* NewTensor(TensorValue value) {
  auto* tensor = new TF_Tensor;
  tensor->value = std::move(value);
  return tensor;
}

TF_Tensor* AllocateTensor(int dtype, const int64_t* dims, int rank, size_t bytes) {
  TF_Tensor* tensor = NewTensor(NewValue(static_cast<DType>(dtype), Dims(dims, dims + rank)));
  tensor->value.storage->bytes.resize(bytes);
  return tensor;
}

TF_Tensor* WrapTensor(int dtype, const int64_t* dims, int rank, void* data, size_t bytes,
                      void (*deallocator)(void*, size_t, void*), void* argument) {
  TensorValue value{static_cast<DType>(dtype), Dims(dims, dims + rank),
                    std::make_shared<Storage>()};
  value.storage->foreign = data;
  value.storage->foreign_size = bytes;
  value.storage->free_foreign = deallocator;
  value.storage->free_argument = argument;
  return NewTensor(std::move(value));
}

Dims ReadShape(protozero::pbf_reader shape) {
  Dims dims;
  while (shape.next(2)) {
    protozero::pbf_reader dim = shape.get_message();
    dims.push_back(dim.next(1) ? dim.get_int64() : 0);
  }
  return dims;
}

template <typename T, typename Range>
std::string ToBytes(const Range& range) {
  std::string bytes;
  for (const auto element : range) {
    const T value = static_cast<T>(element);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return bytes;
}

// TensorProto: content as bytes, or packed floats, ints or bools; one element stands for all.
TensorValue ReadTensorProto(protozero::pbf_reader proto) {
  DType dtype = DType::kInvalid;
  Dims dims;
  std::string bytes;
  while (proto.next()) {
    switch (proto.tag()) {
      case 1:
        dtype = static_cast<DType>(proto.get_int32());
        break;
      case 2:
        dims = ReadShape(proto.get_message());
        break;
      case 4:
        bytes = proto.get_string();
        break;
      case 5:
        bytes = ToBytes<float>(proto.get_packed_float());
        break;
      case 7:
        bytes = ToBytes<int32_t>(proto.get_packed_int32());
        break;
      case 11:
        bytes = ToBytes<bool>(proto.get_packed_bool());
        break;
      default:
        proto.skip();
    }
  }
  TensorValue value = NewValue(dtype, dims);
  std::vector<std::byte>& memory = value.storage->bytes;
  for (size_t i = 0; i < memory.size() && !bytes.empty(); ++i) {
    const size_t element = DTypeSize(dtype);
    const size_t from = i < bytes.size() ? i : bytes.size() - element + i % element;
    memory[i] = static_cast<std::byte>(bytes[from]);
  }
  return value;
}

void TensorFromProto(const TF_Buffer* buffer, TF_Tensor* tensor, TF_Status* status) {
  try {
    tensor->value = ReadTensorProto({static_cast<const char*>(buffer->data), buffer->length});
    Set(status, 0, "");
  } catch (const protozero::exception& error) {
    Set(status, 3, error.what());
  }
}

struct CountedBuffer : TF_Buffer, Counted<TF_Buffer> {};

TF_Buffer* NewBuffer() {
  auto* buffer = new CountedBuffer;
  static_cast<TF_Buffer&>(*buffer) = {nullptr, 0, nullptr};
  return buffer;
}

TF_Buffer* NewBufferFromString(const void* data, size_t length) {
  TF_Buffer* buffer = NewBuffer();
  void* copy = std::malloc(length + 1);
  std::memcpy(copy, data, length);
  *buffer = {copy, length, [](void* memory, size_t) { std::free(memory); }};
  return buffer;
}

void DeleteBuffer(TF_Buffer* buffer) {
  if (buffer == nullptr) return;
  if (buffer->data_deallocator != nullptr) {
    buffer->data_deallocator(const_cast<void*>(buffer->data), buffer->length);
  }
  delete static_cast<CountedBuffer*>(buffer);
}

TFE_TensorHandle* ShareHandle(TFE_TensorHandle* handle, TF_Status* status) {
  CheckAlive(handle);
  Set(status, 0, "");
  ++handle->references;
  return handle;
}

TFE_TensorHandle* CopyHandle(TFE_TensorHandle* handle, TFE_Context*, const char* device,
                             TF_Status* status) {
  if (!Usable(handle, status)) return nullptr;
  return NewHandle(handle->value, device);
}

void DeleteHandle(TFE_TensorHandle* handle) {
  if (handle == nullptr) return;
  CheckAlive(handle);
  if (--handle->references > 0) return;
  handle->~TFE_TensorHandle();
  FreeHandle(handle);
}

std::string SerializeResource(const void* resource) {
  const auto* variable = static_cast<const Variable*>(resource);
  std::string bytes;
  protozero::pbf_writer proto(bytes);
  proto.add_string(1, DefaultDevice());
  proto.add_string(2, variable->container);
  proto.add_string(3, variable->name);
  proto.add_string(5, "tensorflow::Var");
  return bytes;
}

void FillStatusAndBuffers(tf::CApi& api) {
  api.TF_NewStatus = [] { return new TF_Status; };
  api.TF_DeleteStatus = [](TF_Status* status) { delete status; };
  api.TF_GetCode = [](const TF_Status* status) { return status->code; };
  api.TF_Message = [](const TF_Status* status) { return status->message.c_str(); };
  api.TF_SetStatus = [](TF_Status* status, int code, const char* text) { Set(status, code, text); };
  api.TF_NewBuffer = NewBuffer;
  api.TF_NewBufferFromString = NewBufferFromString;
  api.TF_DeleteBuffer = DeleteBuffer;
}

void FillTensors(tf::CApi& api) {
  api.TF_AllocateTensor = AllocateTensor;
  api.TF_NewTensor = WrapTensor;
  api.TF_DeleteTensor = [](TF_Tensor* tensor) { delete tensor; };
  api.TF_TensorType = [](const TF_Tensor* tensor) { return static_cast<int>(tensor->value.dtype); };
  api.TF_NumDims = [](const TF_Tensor* tensor) {
    return static_cast<int>(tensor->value.dims.size());
  };
  api.TF_Dim = [](const TF_Tensor* tensor, int i) {
    return tensor->value.dims.at(static_cast<size_t>(i));
  };
  api.TF_TensorByteSize = [](const TF_Tensor* tensor) { return tensor->value.byte_size(); };
  api.TF_TensorData = [](const TF_Tensor* tensor) { return tensor->value.data(); };
  api.TF_TensorElementCount = [](const TF_Tensor* tensor) {
    return NumElements(tensor->value.dims);
  };
  api.TF_TensorFromProto = TensorFromProto;
  api.TF_StringGetDataPointer = [](const TF_TString* string) {
    return reinterpret_cast<const char*>(string->opaque[0]);
  };
  api.TF_StringGetSize = [](const TF_TString* string) { return size_t{string->opaque[1]}; };
  api.TF_TensorDefaultAlignment = [] { return size_t{64}; };
  api.ResourceHandleSerialize = SerializeResource;
}

void FillHandles(tf::CApi& api) {
  api.TFE_NewTensorHandle = [](const TF_Tensor* tensor, TF_Status* status) {
    Set(status, 0, "");
    return NewHandle(tensor->value, DefaultDevice());
  };
  api.TFE_DeleteTensorHandle = DeleteHandle;
  api.TFE_TensorHandleCopySharingTensor = ShareHandle;
  api.TFE_TensorHandleCopyToDevice = CopyHandle;
  api.TFE_TensorHandleDataType = [](TFE_TensorHandle* handle) {
    CheckAlive(handle);
    return static_cast<int>(handle->value.dtype);
  };
  api.TFE_TensorHandleNumDims = [](TFE_TensorHandle* handle, TF_Status* status) {
    return Usable(handle, status) ? static_cast<int>(handle->value.dims.size()) : -1;
  };
  api.TFE_TensorHandleDim = [](TFE_TensorHandle* handle, int i, TF_Status* status) {
    return Usable(handle, status) ? handle->value.dims.at(static_cast<size_t>(i)) : -1;
  };
  api.TFE_TensorHandleNumElements = [](TFE_TensorHandle* handle, TF_Status* status) {
    return Usable(handle, status) ? NumElements(handle->value.dims) : -1;
  };
  api.TFE_TensorHandleDeviceName = [](TFE_TensorHandle* handle, TF_Status* status) {
    return Usable(handle, status) ? handle->device.c_str() : nullptr;
  };
  api.TFE_TensorHandleBackingDeviceName = api.TFE_TensorHandleDeviceName;
  api.TFE_TensorHandleResolve = [](TFE_TensorHandle* handle, TF_Status* status) {
    return Usable(handle, status) ? NewTensor(handle->value) : nullptr;
  };
}

}  // namespace

void Set(TF_Status* status, int code, const std::string& message) {
  status->code = code;
  status->message = message;
}

Storage::~Storage() {
  if (free_foreign != nullptr) free_foreign(foreign, foreign_size, free_argument);
}

void* TensorValue::data() const {
  if (storage->variable) return storage->variable.get();
  if (storage->foreign != nullptr) return storage->foreign;
  if (dtype == DType::kString) return storage->strings.data();
  return storage->bytes.data();
}

size_t TensorValue::byte_size() const {
  if (storage->variable) return sizeof(Variable);
  if (storage->foreign != nullptr) return storage->foreign_size;
  if (dtype == DType::kString) return storage->strings.size() * sizeof(TF_TString);
  return storage->bytes.size();
}

TensorValue NewValue(DType dtype, Dims dims) {
  TensorValue value{dtype, std::move(dims), std::make_shared<Storage>()};
  value.storage->bytes.resize(value.count() * DTypeSize(dtype));
  return value;
}

TensorValue NewStrings(Dims dims, std::vector<std::string> text) {
  TensorValue value{DType::kString, std::move(dims), std::make_shared<Storage>()};
  value.storage->text = std::move(text);
  for (const std::string& element : value.storage->text) {
    const auto address = reinterpret_cast<uint64_t>(element.data());
    value.storage->strings.push_back({{address, element.size(), 0}});
  }
  return value;
}

void Misuse(const std::string& what) {
  std::fprintf(stderr, "fake runtime: %s\n", what.c_str());
  std::abort();
}

TFE_TensorHandle* NewHandle(TensorValue value, std::string device) {
  auto* handle = new (AllocateHandle()) TFE_TensorHandle;
  handle->value = std::move(value);
  handle->device = std::move(device);
  return handle;
}

void SetReuse(bool reuse) {
  HandlePool& pool = Pool();
  std::lock_guard lock(pool.mutex);
  pool.reuse = reuse;
  if (reuse) return;
  for (void* memory : pool.free) ::operator delete(memory);
  pool.free.clear();
}

const char* DefaultDevice() { return "/job:localhost/replica:0/task:0/device:CPU:0"; }

void FillObjectApi(tf::CApi& api) {
  FillStatusAndBuffers(api);
  FillTensors(api);
  FillHandles(api);
}

}  // namespace flowscope::fake
