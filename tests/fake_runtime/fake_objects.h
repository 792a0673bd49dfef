// The objects behind the fake C API: what the opaque TF_ and TFE_ structs hold here. Internal to
// the fake runtime; tests include fake_runtime.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/payload.h"
#include "base/status.h"
#include "fake_runtime/fake_runtime.h"
#include "tf/c_api.h"

namespace flowscope::fake {

// Counts the live objects of one type.
template <typename T>
struct Counted {
  Counted() { ++live; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --live; }
  inline static std::atomic<int64_t> live = 0;
};

struct Variable;

// The memory of a tensor, shared by every tensor and handle that shows the same value.
struct Storage {
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();

  std::vector<std::byte> bytes;
  std::vector<std::string> text;       // dtype string
  std::vector<TF_TString> strings;     // views of `text`
  std::shared_ptr<Variable> variable;  // dtype resource
  void* foreign = nullptr;             // memory given to TF_NewTensor
  size_t foreign_size = 0;
  void (*free_foreign)(void*, size_t, void*) = nullptr;
  void* free_argument = nullptr;
};

struct TensorValue {
  DType dtype = DType::kInvalid;
  Dims dims;
  std::shared_ptr<Storage> storage;

  void* data() const;
  size_t byte_size() const;
  size_t count() const { return static_cast<size_t>(NumElements(dims)); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data());
  }
};

void Set(TF_Status* status, int code, const std::string& message);

// Zeroed memory for a value of plain bytes.
TensorValue NewValue(DType dtype, Dims dims);
TensorValue NewStrings(Dims dims, std::vector<std::string> text);

struct Variable {
  std::mutex mutex;
  std::string container;
  std::string name;
  TensorValue value;
};

struct FunctionEntry {
  Function body;  // empty where only the definition is known
  std::string definition;
};

using AttrMap = std::map<std::string, std::string>;

// Runs one op; the Status carries TensorFlow's message.
using Kernel = std::function<Result<std::vector<TensorValue>>(const std::vector<TensorValue>&,
                                                              const AttrMap&)>;

// Null where there is no such kernel.
const Kernel* FindKernel(const std::string& type);
void ResetRandom(uint64_t seed);

// A serialized OpList of everything FindKernel knows, and of ops that function bodies have.
const std::string& OpListBytes();
std::string KernelListBytes(std::string_view op);  // a serialized KernelList

// Ends the test program with a message: the code under test broke the C API's rules.
[[noreturn]] void Misuse(const std::string& what);

TFE_TensorHandle* NewHandle(TensorValue value, std::string device);
void SetReuse(bool reuse);
const char* DefaultDevice();

void FillObjectApi(tf::CApi& api);
void FillOpApi(tf::CApi& api);

}  // namespace flowscope::fake

struct TF_Status : flowscope::fake::Counted<TF_Status> {
  int code = 0;
  std::string message;
};

struct TF_Tensor : flowscope::fake::Counted<TF_Tensor> {
  flowscope::fake::TensorValue value;
};

struct TFE_TensorHandle : flowscope::fake::Counted<TFE_TensorHandle> {
  std::atomic<int> references = 1;
  flowscope::fake::TensorValue value;
  std::string device;
  std::string error;  // what every question about it answers, where not empty
};

struct TFE_Context {
  std::mutex mutex;
  std::map<std::string, flowscope::fake::FunctionEntry> functions;
  std::atomic<bool> is_async = false;
};

struct TFE_Executor {
  bool is_async = false;
};

struct TFE_ContextOptions {
  std::string config;
};

struct TFE_Op : flowscope::fake::Counted<TFE_Op> {
  TFE_Context* context = nullptr;
  std::string type;
  std::string device;
  std::vector<TFE_TensorHandle*> inputs;  // one reference each
  flowscope::fake::AttrMap attrs;
};
