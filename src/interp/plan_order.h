// In which order the nodes of a body run, and which of them run at all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace flowscope::interp {

struct OrderInput {
  std::vector<std::vector<uint32_t>> needs;  // by node: those whose data or end it waits for
  std::vector<bool> stateful;                // by node
  std::vector<uint32_t> roots;               // what is returned, or must have run
};

// Nodes in an order in which everything a node needs stands before it, and stateful nodes stand as
// in the definition wherever what they need allows that. Left out is what TensorFlow prunes:
// stateless nodes that nothing needs. nullopt where nodes need each other in a circle.
std::optional<std::vector<uint32_t>> OrderNodes(const OrderInput& input);

}  // namespace flowscope::interp
