// A small TensorFlow for tests: the same C API table, in this process, without TensorFlow.
//
//   fake::Runtime runtime;                       // installs the table
//   fake::Handle a = fake::Scalar(3.f);
//   fake::Handle b = fake::Run("Add", {a, a});   // goes through the hook of a live lease
//   EXPECT_EQ(fake::Floats(b), std::vector<float>{6});
//
// The verbs stand for TensorFlow's Python extension: each call goes where a patched slot would send
// it, to the targets of the live HookLease, else to the fake's own function. Thread-safe, except
// for setting it up.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/payload.h"
#include "base/status.h"
#include "tf/c_api.h"
#include "tf/handles.h"
#include "tf/hook.h"

namespace flowscope::fake {

// One reference to a tensor handle, released the way Python releases one: through the hook.
class Handle {
 public:
  Handle() = default;
  explicit Handle(TFE_TensorHandle* handle) : handle_(handle) {}
  Handle(Handle&& other) noexcept : handle_(other.release()) {}
  Handle& operator=(Handle&& other) noexcept;
  ~Handle() { reset(); }

  TFE_TensorHandle* get() const { return handle_; }
  operator TFE_TensorHandle*() const { return handle_; }  // NOLINT: an argument of the C API
  TFE_TensorHandle* release() { return std::exchange(handle_, nullptr); }
  void reset();

 private:
  TFE_TensorHandle* handle_ = nullptr;
};

// Installs the fake table and hook, with an empty default context and the random seed 0; takes its
// settings back at the end. One at a time.
class Runtime {
 public:
  Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();
};

// Objects that exist now. Storage of values is not counted: it goes with the last of these.
int64_t LiveHandles();
int64_t LiveTensors();
int64_t LiveOps();
int64_t LiveStatuses();
int64_t LiveBuffers();

// "" where nothing of the above lives, else what does.
std::string LeakReport();

// Where the verbs send their calls; a null member stands for the fake's own function. Without it
// they follow the live HookLease.
void SetSlots(const tf::HookTargets& slots);
void FollowLease();

// The next handle gets the address of the one deleted last, as happens in TensorFlow. Off by
// default, so that AddressSanitizer sees the use of a handle after its end.
void ReuseHandleAddresses(bool reuse);

// The context that the verbs use, and one more of them; contexts live until the Runtime ends.
TFE_Context* Context();
TFE_Context* NewContext();
void SetAsync(bool is_async);
void SeedRandom(uint64_t seed);

// --- Values.
Handle Scalar(float value);
Handle Scalar(int32_t value);
Handle Scalar(bool value);
Handle Tensor(Dims dims, std::vector<float> values);
Handle IntTensor(Dims dims, std::vector<int32_t> values);
Handle BoolTensor(Dims dims, std::vector<bool> values);
Handle StringTensor(Dims dims, std::vector<std::string> values);

// A value of any dtype of plain bytes, or without bytes (variant).
Handle RawTensor(DType dtype, Dims dims, std::string_view bytes);

// A handle whose shape and value are an error, as those of an asynchronous op that failed.
Handle Poisoned(const std::string& message);

// The elements, read past the hook.
std::vector<float> Floats(TFE_TensorHandle* handle);
std::vector<int32_t> Ints(TFE_TensorHandle* handle);
std::vector<bool> Bools(TFE_TensorHandle* handle);

// --- Serialized AttrValues.
using Attrs = std::vector<std::pair<std::string, std::string>>;
std::string BoolAttr(bool value);
std::string IntAttr(int64_t value);
std::string FloatAttr(float value);
std::string StringAttr(std::string_view value);
std::string TypeAttr(DType value);
std::string ShapeAttr(const Dims& dims);
std::string FuncAttr(std::string_view name);

// --- What Python does.
using Inputs = std::initializer_list<TFE_TensorHandle*>;

// Runs an op, or a function that was added. `TryRun` returns the op's error; the others end the
// program on one.
Result<std::vector<Handle>> TryRun(std::string_view type,
                                   const std::vector<TFE_TensorHandle*>& inputs,
                                   const Attrs& attrs = {}, std::string_view device = {});
std::vector<Handle> RunAll(std::string_view type, Inputs inputs, const Attrs& attrs = {});
Handle Run(std::string_view type, Inputs inputs = {}, const Attrs& attrs = {});

// The same in steps, for what happens between them: TensorFlow's fast path drops the handle of a
// variable's value once the op has it.
class Op {
 public:
  explicit Op(std::string_view type);
  Status status() const;  // of the last step
  Op& Add(TFE_TensorHandle* input);
  Op& Set(const std::string& name, const std::string& attr);
  Result<std::vector<Handle>> Execute();
  TFE_Op* get() const { return op_.get(); }

 private:
  std::string type_;
  tf::StatusPtr status_;
  tf::OpPtr op_;
};

// One more reference to the same handle; a new handle on that device; the elements as `.numpy()`
// reads them, through the hook.
Handle Share(TFE_TensorHandle* handle);
Handle CopyToDevice(TFE_TensorHandle* handle, const std::string& device);
std::vector<float> Read(TFE_TensorHandle* handle);

// --- Functions. The body runs inside the fake's TFE_Execute; ops it runs with the verbs are seen
// by the hook as nested ones. The handles it returns are its own: `Share` an input to return it.
// `definition` is what TFE_ContextGetFunctionDef returns.
using Function = std::function<Result<std::vector<Handle>>(const std::vector<TFE_TensorHandle*>&)>;
void AddFunction(const std::string& name, Function body, std::string definition = {});

// The fake's table, with its own TFE_Execute and the like.
const tf::CApi& FakeApi();

}  // namespace flowscope::fake
