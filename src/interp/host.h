// What the interpreter asks of whoever lets it run a function: the recorder, replay, a test.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tf/c_api.h"
#include "trace/records.h"

namespace flowscope::interp {

// The node of a function body behind an op. Views live as long as the plan.
struct NodeInfo {
  std::string_view function;  // function the node stands in
  std::string_view name;      // node name: name scopes separated by '/'
  std::string_view op;
  std::string_view attrs;  // serialized NameAttrList, defaults filled in
};

// A body that is about to run. A loop gives a region for every iteration, named after its node; the
// condition before it runs in a region of its own: a kFunction named "<node>:cond" with the same
// index, the last one without an iteration after it. A branch is named "<node>:then_branch",
// "<node>:else_branch" or "<node>:branch_<index>".
struct RegionInfo {
  RegionKind kind = RegionKind::kFunction;
  std::string_view name;      // function name; loop or branch: node name, as told above
  std::string_view function;  // whose body runs
  std::string_view node;      // that opened it; empty for the outermost function
  uint32_t index = 0;         // iteration number from 0; branch number: else_branch is 1
  TFE_TensorHandle* predicate = nullptr;  // condition or branch index; borrowed, null where none
};

class Host {
 public:
  virtual ~Host() = default;

  // Runs an op that the interpreter has built, as TFE_Execute would.
  virtual void Execute(const NodeInfo& node, TFE_Op* op, TFE_TensorHandle** outputs,
                       int* num_outputs, TF_Status* status) = 0;

  // A constant of a body was made without running an op. Once in a run for each constant: a body
  // that runs again uses the same tensor.
  virtual void OnConstant(const NodeInfo& node, TFE_TensorHandle* value) = 0;

  // Called around every body that is run op by op. The token comes back on exit.
  virtual uint32_t EnterRegion(const RegionInfo& region) = 0;
  virtual void ExitRegion(uint32_t token, bool failed) = 0;

  // Values that no op of the body gave by itself: what a call, branch or loop at `node` came to,
  // or, with an empty name, the arguments of the body just entered. Borrowed; null where nobody in
  // the body needs a value.
  virtual void OnValues(std::string_view /*node*/, std::span<TFE_TensorHandle* const> /*values*/) {}

  // One more reference to a handle (the same pointer; null on failure), and one less: for a host
  // that counts references.
  virtual TFE_TensorHandle* Share(TFE_TensorHandle* handle, TF_Status* status) {
    return tf::Api().TFE_TensorHandleCopySharingTensor(handle, status);
  }
  virtual void Delete(TFE_TensorHandle* handle) { tf::Api().TFE_DeleteTensorHandle(handle); }
};

}  // namespace flowscope::interp
