// What a predicate is shown of an op: facts that are known when it has just run, and no value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "trace/selector.h"

namespace flowscope::python {

// A copy of the facts, so that a predicate may keep it.
struct LiveOp {
  explicit LiveOp(const OpFacts& facts);

  std::string label;
  std::string layer_label;
  std::string type;
  std::string kind;
  std::optional<std::string> module;
  std::vector<std::string> modules;  // call labels, from the outermost in
  uint32_t pass_index;
  std::optional<uint32_t> iteration;
  std::string region;
  std::string attrs;  // serialized, decoded when asked for
};

void RegisterLiveOp(nanobind::module_& m);

}  // namespace flowscope::python
