// Payloads for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/payload.h"

namespace flowscope {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr float kFloatInf = std::numeric_limits<float>::infinity();
inline constexpr float kFloatNan = std::numeric_limits<float>::quiet_NaN();

// A payload that owns a copy of `values`, whose type must be as wide as the dtype.
template <typename T>
Payload MakePayload(DType dtype, Dims dims, const std::vector<T>& values) {
  auto owner = std::make_shared<std::vector<T>>(values);
  Payload payload;
  payload.dtype = dtype;
  payload.dims = std::move(dims);
  payload.data = owner->data();
  payload.nbytes = owner->size() * sizeof(T);
  payload.owner = owner;
  return payload;
}

// The same as a vector.
template <typename T>
Payload MakePayload(DType dtype, const std::vector<T>& values) {
  return MakePayload(dtype, {static_cast<int64_t>(values.size())}, values);
}

// The same bytes, `offset` bytes after an aligned address.
inline Payload Misaligned(const Payload& payload, size_t offset) {
  auto owner = std::make_shared<std::vector<char>>(payload.nbytes + offset);
  std::memcpy(owner->data() + offset, payload.data, payload.nbytes);
  Payload copy = payload;
  copy.data = owner->data() + offset;
  copy.owner = owner;
  return copy;
}

// About normally distributed numbers, the same on every machine and in every run.
inline std::vector<double> NormalValues(size_t n, double mean, double deviation) {
  std::vector<double> values(n);
  uint64_t state = n;
  for (double& value : values) {
    double sum = -6;  // twelve uniform numbers have a mean of 6 and a variance of 1
    for (int i = 0; i < 12; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      sum += static_cast<double>(state >> 33) / 0x1p31;
    }
    value = mean + deviation * sum;
  }
  return values;
}

inline Payload MakeStrings(Dims dims, std::vector<std::string> strings) {
  struct Owned {
    std::vector<std::string> strings;
    std::vector<std::string_view> views;
  };
  auto owner = std::make_shared<Owned>();
  owner->strings = std::move(strings);
  owner->views.assign(owner->strings.begin(), owner->strings.end());
  Payload payload;
  payload.dtype = DType::kString;
  payload.dims = std::move(dims);
  payload.strings = owner->views;
  payload.owner = owner;
  return payload;
}

}  // namespace flowscope
