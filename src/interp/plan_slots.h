// The flat numbering of everything a body computes, and what a written input refers to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "interp/body.h"

namespace flowscope::interp {

inline constexpr uint32_t kNoNode = UINT32_MAX;

struct SlotRange {
  uint32_t first = 0;
  uint32_t count = 0;
  uint32_t node = kNoNode;  // that makes them; kNoNode for arguments
};

// Arguments have the first slots, the outputs of nodes follow in the order of the definition.
class SlotMap {
 public:
  // Unsupported, saying what, where the number of tensors cannot be told. `body` must outlive it.
  static Result<SlotMap> LayOut(const Body& body, const Bindings& bindings);

  // "arg", "arg:index", "node:output" and "node:output:index". Without an index: all of a list.
  Result<SlotRange> Find(std::string_view reference) const;

  uint32_t num_args() const { return num_args_; }
  uint32_t num_slots() const { return num_slots_; }
  SlotRange OutputsOf(uint32_t node) const { return outputs_[node]; }

 private:
  explicit SlotMap(const Body& body) : body_(&body) {}
  Status AddArgs(const Bindings& bindings);
  Status AddOutputs(uint32_t node);
  Status AddArgumentNode(uint32_t node);
  Result<uint32_t> Count(const std::vector<tf::OpArg>& args, const AttrList& attrs) const;
  Result<SlotRange> FindOutput(uint32_t node, std::string_view name) const;

  const Body* body_;
  std::unordered_map<std::string_view, SlotRange> args_;
  std::vector<SlotRange> outputs_;  // by node
  uint32_t num_args_ = 0;
  uint32_t num_slots_ = 0;
};

}  // namespace flowscope::interp
