// The part of TraceMaker (trace/testing.h) that makes tensors and their values.
#pragma once

#include <cassert>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trace/builder.h"
#include "trace/memory_payloads.h"

namespace flowscope {

class TensorMaker {
 public:
  TensorMaker() : payloads_(std::make_shared<MemoryPayloads>()) {}

  TraceBuilder& builder() { return builder_; }
  TraceTables& tables() { return builder_.tables(); }
  MemoryPayloads& payloads() { return *payloads_; }

  // Gives a tensor another value than its op's spec did.
  template <typename T>
  void SetValue(TensorId tensor, DType dtype, const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    TensorRecord& record = tables().tensors[tensor];
    record.dtype = dtype;
    record.state = PayloadState::kKept;
    record.nbytes = static_cast<int64_t>(values.size() * sizeof(T));
    std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    payloads_->Keep(tensor, dtype, DimsOf(tensor), std::move(bytes));
  }
  void SetStrings(TensorId tensor, std::vector<std::string> values) {
    TensorRecord& record = tables().tensors[tensor];
    record.dtype = DType::kString;
    record.state = PayloadState::kKept;
    record.nbytes = 0;
    payloads_->KeepStrings(tensor, DimsOf(tensor), std::move(values));
  }

 protected:
  TensorId AddTensor(OpId producer, uint16_t output_index, const Dims& dims,
                     const std::vector<float>& values, DType dtype, PayloadState state) {
    TensorRecord record;
    record.producer = producer;
    record.output_index = output_index;
    record.dtype = dtype;
    record.state = dtype == DType::kResource ? PayloadState::kNoValue : state;
    record.dims = builder_.InternDims(dims);
    record.shape_known = true;
    const auto count = static_cast<size_t>(NumElements(dims));
    record.nbytes = static_cast<int64_t>(count * DTypeSize(dtype));
    const bool held = record.state == PayloadState::kKept || dtype == DType::kResource;
    record.handle = held ? next_handle_ : 0;
    const TensorId id = builder_.AddTensor(record);
    handles_.push_back(next_handle_++);
    if (record.state == PayloadState::kKept) KeepValue(id, dims, values, dtype, count);
    return id;
  }

  void KeepValue(TensorId id, const Dims& dims, const std::vector<float>& values, DType dtype,
                 size_t count) {
    if (dtype == DType::kString) {
      payloads_->KeepStrings(id, dims, std::vector<std::string>(count));
      return;
    }
    std::string bytes(count * DTypeSize(dtype), '\0');
    if (!values.empty()) {
      assert(dtype == DType::kFloat32 && values.size() == count);
      std::memcpy(bytes.data(), values.data(), bytes.size());
    }
    payloads_->Keep(id, dtype, dims, std::move(bytes));
  }

  // The value of `to` becomes that of `from`.
  void CopyValue(TensorId from, TensorId to) {
    const Result<Payload> value = payloads_->Read(from);
    if (!value.ok() || value->dtype == DType::kString) return;
    std::string bytes(static_cast<const char*>(value->data), value->nbytes);
    payloads_->Keep(to, value->dtype, value->dims, std::move(bytes));
  }

  Dims DimsFromPool(uint32_t id) {
    const std::string_view bytes = tables().dims_pool.View(id);
    Dims dims(bytes.size() / sizeof(int64_t));
    if (!bytes.empty()) std::memcpy(dims.data(), bytes.data(), bytes.size());
    return dims;
  }
  Dims DimsOf(TensorId tensor) { return DimsFromPool(tables().tensors[tensor].dims); }

  TraceBuilder builder_;
  std::shared_ptr<MemoryPayloads> payloads_;
  std::vector<uint64_t> handles_;  // beside tables().tensors
  uint64_t next_handle_ = 0x1000;
};

}  // namespace flowscope
