// Values in memory, for tests.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/payload_source.h"

namespace flowscope {

// Fill it before the trace is shared; reading is safe from any thread.
class MemoryPayloads : public PayloadSource {
 public:
  void Keep(TensorId tensor, DType dtype, Dims dims, std::string bytes) {
    auto kept = std::make_shared<Kept>();
    kept->dtype = dtype;
    kept->dims = std::move(dims);
    kept->bytes = std::move(bytes);
    kept_[tensor] = std::move(kept);
  }

  void KeepStrings(TensorId tensor, Dims dims, std::vector<std::string> values) {
    auto kept = std::make_shared<Kept>();
    kept->dtype = DType::kString;
    kept->dims = std::move(dims);
    kept->values = std::move(values);
    kept->views.assign(kept->values.begin(), kept->values.end());
    kept_[tensor] = std::move(kept);
  }

  void KeepStats(TensorId tensor, Stats stats) { stats_[tensor] = stats; }

  Result<Payload> Read(TensorId tensor) const override {
    const auto it = kept_.find(tensor);
    if (it == kept_.end()) {
      return Unavailable("the value of tensor " + std::to_string(tensor) + " was not kept");
    }
    const Kept& kept = *it->second;
    Payload payload;
    payload.dtype = kept.dtype;
    payload.dims = kept.dims;
    if (kept.dtype == DType::kString) {
      payload.strings = kept.views;
    } else {
      payload.data = kept.bytes.data();
      payload.nbytes = kept.bytes.size();
    }
    payload.owner = it->second;
    return payload;
  }

  std::optional<Stats> StoredStats(TensorId tensor) const override {
    const auto it = stats_.find(tensor);
    return it == stats_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  struct Kept {
    DType dtype = DType::kInvalid;
    Dims dims;
    std::string bytes;
    std::vector<std::string> values;
    std::vector<std::string_view> views;
  };
  std::map<TensorId, std::shared_ptr<const Kept>> kept_;
  std::map<TensorId, Stats> stats_;
};

}  // namespace flowscope
