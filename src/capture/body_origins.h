// Who asked for the ops of a function's body: which module calls, which lines. What the function
// was traced from is known to Python alone; capture asks once for each function that it opens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/records.h"

namespace flowscope::capture {

// A call of a module within a body, or a part of it with a name of its own ("optimizer").
struct BodyCall {
  ModuleId module = kNoId;  // kNoId: a region
  RegionKind region_kind = RegionKind::kFunction;
  std::string name;         // of a region
  uint32_t parent = kNoId;  // the call around it, in the same table
  std::string method;
  std::string training;
  std::string kwargs;
  std::vector<std::pair<std::string, uint32_t>> inputs;  // path, number in BodyOrigins::values
  std::vector<std::pair<std::string, uint32_t>> outputs;
};

struct BodyOrigin {
  uint32_t call = kNoId;  // the innermost
  LocationId location = kNoId;
  uint32_t gradient_of = kNoId;  // the call of a module that has what this is the gradient of
  bool backward = false;
};

struct BodyOrigins {
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <typename T>
  using ByName = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

  std::vector<BodyCall> calls;
  ByName<BodyOrigin> nodes;
  // Calls that make no op: they come before this node, those of the empty name at the end.
  ByName<std::vector<uint32_t>> silent_calls;
  uint32_t num_values = 0;
  // What calls take and give: output index and number, by the node that makes it; by argument.
  ByName<std::vector<std::pair<uint32_t, uint32_t>>> values_of_node;
  std::vector<std::pair<uint32_t, uint32_t>> values_of_arguments;
};

class BodyOriginProvider {
 public:
  virtual ~BodyOriginProvider() = default;

  // Null where nothing is known. Called with no lock of ours held, in any GIL state.
  virtual std::shared_ptr<const BodyOrigins> Of(const std::string& function) = 0;
};

}  // namespace flowscope::capture
