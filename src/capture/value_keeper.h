// Which values of a recording are kept, and as what: the value, its statistics, or nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>

#include "capture/live_payloads.h"
#include "trace/builder.h"

namespace flowscope::capture {

// Dtype, shape and size. Without `ask_shape` only the dtype: while an asynchronous op runs, the
// question would wait for it.
TensorRecord DescribeTensor(TraceBuilder& builder, TFE_TensorHandle* handle, bool ask_shape,
                            TF_Status* scratch);

class ValueKeeper {
 public:
  struct Rules {
    bool keep_values = true;  // false: statistics of everything
    int64_t budget = -1;      // bytes of values after which statistics are kept; -1: no bound
    std::function<void(const std::string&)> on_over_budget;  // once, with a sentence for the user
  };
  // `payloads` must outlive the keeper.
  ValueKeeper(Rules rules, LivePayloads& payloads)
      : rules_(std::move(rules)), payloads_(payloads) {}

  // Keeps what `tensor`, described by `record`, shall have of its value; a value that is not
  // `wanted` is left alone. Returns the state of the tensor. A value that is streamed is kept and
  // not held: ask the payloads.
  PayloadState Keep(TensorId tensor, const TensorRecord& record, TFE_TensorHandle* handle,
                    bool wanted);
  // The same for a value that the user's program holds anyway: it is kept and costs nothing.
  PayloadState KeepSource(TensorId tensor, const TensorRecord& record, TFE_TensorHandle* handle);
  // A value that was kept is let go.
  void Forget(TFE_TensorHandle* handle, int64_t nbytes);

 private:
  bool Admit(TFE_TensorHandle* handle, int64_t nbytes);
  void Recount();
  void SayOver();

  Rules rules_;
  LivePayloads& payloads_;
  int64_t used_ = 0;
  // Counting every value is cheap and counts memory that two of them share twice. Only when that
  // sum reaches the budget are the buffers told apart.
  bool exact_ = false;
  bool over_ = false;
  std::unordered_set<const void*> buffers_;
  std::unordered_set<TensorId> sources_;
};

}  // namespace flowscope::capture
