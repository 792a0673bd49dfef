#include "fake_runtime/fake_runtime.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include <protozero/pbf_writer.hpp>

#include "fake_runtime/fake_objects.h"
#include "tf/handles.h"

namespace flowscope::fake {
namespace {

// Room for the outputs of any fake op.
constexpr size_t kMaxOutputs = 64;

struct RuntimeState {
  std::mutex mutex;
  std::optional<tf::HookTargets> slots;
  std::vector<std::unique_ptr<TFE_Context>> contexts;
};

RuntimeState& State() {
  static RuntimeState state;
  return state;
}

// Where the calls of Python's extension lead now.
tf::HookTargets Slots() {
  tf::HookTargets slots = tf::HookTargetsForTesting();
  {
    std::lock_guard lock(State().mutex);
    if (State().slots) slots = *State().slots;
  }
  const tf::CApi& api = FakeApi();
  if (!slots.execute) slots.execute = api.TFE_Execute;
  if (!slots.delete_handle) slots.delete_handle = api.TFE_DeleteTensorHandle;
  if (!slots.copy_sharing) slots.copy_sharing = api.TFE_TensorHandleCopySharingTensor;
  if (!slots.copy_to_device) slots.copy_to_device = api.TFE_TensorHandleCopyToDevice;
  if (!slots.resolve) slots.resolve = api.TFE_TensorHandleResolve;
  if (!slots.add_input) slots.add_input = api.TFE_OpAddInput;
  return slots;
}

void Require(const Status& status, std::string_view what) {
  if (!status.ok()) Misuse(std::string(what) + ": " + status.ToString());
}

template <typename T>
Handle FromElements(DType dtype, Dims dims, const T& elements) {
  TensorValue value = NewValue(dtype, std::move(dims));
  if (value.count() != elements.size()) Misuse("the number of elements does not fit the shape");
  using Element = typename T::value_type;
  std::copy(elements.begin(), elements.end(), value.as<Element>());
  return Handle(NewHandle(std::move(value), DefaultDevice()));
}

template <typename T>
std::vector<T> Elements(DType dtype, TFE_TensorHandle* handle) {
  const TensorValue& value = handle->value;
  if (!handle->error.empty()) Misuse(handle->error);
  if (value.dtype != dtype) Misuse("a value of another dtype");
  return std::vector<T>(value.as<T>(), value.as<T>() + value.count());
}

template <typename Add>
std::string WriteAttr(Add add) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  add(writer);
  return bytes;
}

}  // namespace

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this == &other) return *this;
  reset();
  handle_ = other.release();
  return *this;
}

void Handle::reset() {
  if (handle_ != nullptr) Slots().delete_handle(release());
}

const tf::CApi& FakeApi() {
  static const tf::CApi api = [] {
    tf::CApi filled;
    FillObjectApi(filled);
    FillOpApi(filled);
    return filled;
  }();
  return api;
}

Runtime::Runtime() {
  tf::SetCApiForTesting(FakeApi());
  tf::SetHookForTesting(true);
  SeedRandom(0);
  NewContext();
}

Runtime::~Runtime() {
  FollowLease();
  ReuseHandleAddresses(false);
  tf::SetHookForTesting(false);
  std::lock_guard lock(State().mutex);
  State().contexts.clear();
}

int64_t LiveHandles() { return Counted<TFE_TensorHandle>::live; }
int64_t LiveTensors() { return Counted<TF_Tensor>::live; }
int64_t LiveOps() { return Counted<TFE_Op>::live; }
int64_t LiveStatuses() { return Counted<TF_Status>::live; }
int64_t LiveBuffers() { return Counted<TF_Buffer>::live; }

std::string LeakReport() {
  std::string report;
  const auto add = [&](int64_t count, const char* what) {
    if (count != 0) report += (report.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add(LiveHandles(), "handles");
  add(LiveTensors(), "tensors");
  add(LiveOps(), "ops");
  add(LiveStatuses(), "statuses");
  add(LiveBuffers(), "buffers");
  return report;
}

void SetSlots(const tf::HookTargets& slots) {
  std::lock_guard lock(State().mutex);
  State().slots = slots;
}

void FollowLease() {
  std::lock_guard lock(State().mutex);
  State().slots.reset();
}

void ReuseHandleAddresses(bool reuse) { SetReuse(reuse); }

TFE_Context* Context() {
  std::lock_guard lock(State().mutex);
  if (State().contexts.empty()) Misuse("no fake::Runtime lives");
  return State().contexts.front().get();
}

TFE_Context* NewContext() {
  std::lock_guard lock(State().mutex);
  return State().contexts.emplace_back(std::make_unique<TFE_Context>()).get();
}

void SetAsync(bool is_async) { Context()->is_async = is_async; }
void SeedRandom(uint64_t seed) { ResetRandom(seed); }

Handle Scalar(float value) { return Tensor({}, {value}); }
Handle Scalar(int32_t value) { return IntTensor({}, {value}); }
Handle Scalar(bool value) { return BoolTensor({}, {value}); }

Handle Tensor(Dims dims, std::vector<float> values) {
  return FromElements(DType::kFloat32, std::move(dims), values);
}
Handle IntTensor(Dims dims, std::vector<int32_t> values) {
  return FromElements(DType::kInt32, std::move(dims), values);
}
Handle BoolTensor(Dims dims, std::vector<bool> values) {
  return FromElements(DType::kBool, std::move(dims), values);
}
Handle StringTensor(Dims dims, std::vector<std::string> values) {
  if (static_cast<size_t>(NumElements(dims)) != values.size()) Misuse("strings and shape differ");
  return Handle(NewHandle(NewStrings(std::move(dims), std::move(values)), DefaultDevice()));
}

Handle RawTensor(DType dtype, Dims dims, std::string_view bytes) {
  TensorValue value = NewValue(dtype, std::move(dims));
  value.storage->bytes.resize(bytes.size());
  if (!bytes.empty()) std::memcpy(value.storage->bytes.data(), bytes.data(), bytes.size());
  return Handle(NewHandle(std::move(value), DefaultDevice()));
}

Handle Poisoned(const std::string& message) {
  Handle handle = Scalar(0.f);
  handle.get()->error = message;
  return handle;
}

std::vector<float> Floats(TFE_TensorHandle* handle) {
  return Elements<float>(DType::kFloat32, handle);
}
std::vector<int32_t> Ints(TFE_TensorHandle* handle) {
  return Elements<int32_t>(DType::kInt32, handle);
}
std::vector<bool> Bools(TFE_TensorHandle* handle) { return Elements<bool>(DType::kBool, handle); }

std::string BoolAttr(bool value) {
  return WriteAttr([&](auto& writer) { writer.add_bool(5, value); });
}
std::string IntAttr(int64_t value) {
  return WriteAttr([&](auto& writer) { writer.add_int64(3, value); });
}
std::string FloatAttr(float value) {
  return WriteAttr([&](auto& writer) { writer.add_float(4, value); });
}
std::string StringAttr(std::string_view value) {
  return WriteAttr([&](auto& writer) { writer.add_string(2, value.data(), value.size()); });
}
std::string TypeAttr(DType value) {
  return WriteAttr([&](auto& writer) { writer.add_enum(6, static_cast<int32_t>(value)); });
}
// Messages go in as bytes, because a nested pbf_writer leaves out an empty one.
std::string ShapeAttr(const Dims& dims) {
  const std::string shape = WriteAttr([&](auto& writer) {
    for (const int64_t dim : dims) {
      writer.add_message(2, WriteAttr([&](auto& message) { message.add_int64(1, dim); }));
    }
  });
  return WriteAttr([&](auto& writer) { writer.add_message(7, shape); });
}
std::string FuncAttr(std::string_view name) {
  return WriteAttr([&](auto& writer) {
    protozero::pbf_writer(writer, 10).add_string(1, name.data(), name.size());
  });
}

Op::Op(std::string_view type) : type_(type), status_(tf::NewStatus()) {
  op_.reset(FakeApi().TFE_NewOp(Context(), type_.c_str(), status_.get()));
}

Status Op::status() const { return tf::FromTf(status_.get(), type_); }

Op& Op::Add(TFE_TensorHandle* input) {
  Slots().add_input(op_.get(), input, status_.get());
  return *this;
}

Op& Op::Set(const std::string& name, const std::string& attr) {
  FakeApi().TFE_OpSetAttrValueProto(op_.get(), name.c_str(), attr.data(), attr.size(),
                                    status_.get());
  return *this;
}

Result<std::vector<Handle>> Op::Execute() {
  std::vector<TFE_TensorHandle*> results(kMaxOutputs);
  auto count = static_cast<int>(results.size());
  Slots().execute(op_.get(), results.data(), &count, status_.get());
  FLOWSCOPE_RETURN_IF_ERROR(status());
  std::vector<Handle> outputs;
  for (int i = 0; i < count; ++i) outputs.emplace_back(results[static_cast<size_t>(i)]);
  return outputs;
}

Result<std::vector<Handle>> TryRun(std::string_view type,
                                   const std::vector<TFE_TensorHandle*>& inputs, const Attrs& attrs,
                                   std::string_view device) {
  Op op(type);
  FLOWSCOPE_RETURN_IF_ERROR(op.status());
  FakeApi().TFE_OpSetDevice(op.get(), std::string(device).c_str(), tf::NewStatus().get());
  for (TFE_TensorHandle* input : inputs) op.Add(input);
  for (const auto& [name, value] : attrs) op.Set(name, value);
  return op.Execute();
}

std::vector<Handle> RunAll(std::string_view type, Inputs inputs, const Attrs& attrs) {
  Result<std::vector<Handle>> outputs = TryRun(type, inputs, attrs);
  Require(outputs.status(), type);
  return std::move(outputs).value();
}

Handle Run(std::string_view type, Inputs inputs, const Attrs& attrs) {
  std::vector<Handle> outputs = RunAll(type, inputs, attrs);
  return outputs.empty() ? Handle() : std::move(outputs.front());
}

Handle Share(TFE_TensorHandle* handle) {
  const tf::StatusPtr status = tf::NewStatus();
  Handle shared(Slots().copy_sharing(handle, status.get()));
  Require(tf::FromTf(status.get(), "copy"), "Share");
  return shared;
}

Handle CopyToDevice(TFE_TensorHandle* handle, const std::string& device) {
  const tf::StatusPtr status = tf::NewStatus();
  Handle copy(Slots().copy_to_device(handle, Context(), device.c_str(), status.get()));
  Require(tf::FromTf(status.get(), "copy"), "CopyToDevice");
  return copy;
}

std::vector<float> Read(TFE_TensorHandle* handle) {
  const tf::StatusPtr status = tf::NewStatus();
  const tf::TensorPtr tensor(Slots().resolve(handle, status.get()));
  Require(tf::FromTf(status.get(), "resolve"), "Read");
  const TensorValue& value = tensor->value;
  return std::vector<float>(value.as<float>(), value.as<float>() + value.count());
}

void AddFunction(const std::string& name, Function body, std::string definition) {
  TFE_Context* context = Context();
  std::lock_guard lock(context->mutex);
  context->functions[name] = {std::move(body), std::move(definition)};
}

}  // namespace flowscope::fake
