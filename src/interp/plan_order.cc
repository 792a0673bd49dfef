#include "interp/plan_order.h"

#include <cstddef>
#include <utility>

namespace flowscope::interp {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// Depth-first walk from one node after another: each node comes after all it needs.
class Walk {
 public:
  // `chain`: by node, one more node that it needs, or kNone.
  Walk(const OrderInput& input, const std::vector<uint32_t>& chain)
      : input_(input), chain_(chain), state_(input.needs.size(), State::kNew) {}

  // False where a circle was met.
  bool Visit(uint32_t root) {
    if (!Push(root)) return state_[root] == State::kDone;
    while (!stack_.empty()) {
      Entry& top = stack_.back();
      const uint32_t next = Next(top);
      if (next == kNone) {
        state_[top.node] = State::kDone;
        order_.push_back(top.node);
        stack_.pop_back();
      } else if (!Push(next) && state_[next] == State::kOpen) {
        return false;
      }
    }
    return true;
  }

  bool Reached(uint32_t node) const { return state_[node] == State::kDone; }
  std::vector<uint32_t> TakeOrder() { return std::move(order_); }

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };
  struct Entry {
    uint32_t node;
    size_t next;
  };

  bool Push(uint32_t node) {
    if (state_[node] != State::kNew) return false;
    state_[node] = State::kOpen;
    stack_.push_back({node, 0});
    return true;
  }

  uint32_t Next(Entry& entry) const {
    const std::vector<uint32_t>& needs = input_.needs[entry.node];
    const size_t i = entry.next++;
    if (i < needs.size()) return needs[i];
    return i == needs.size() ? chain_[entry.node] : kNone;
  }

  const OrderInput& input_;
  const std::vector<uint32_t>& chain_;
  std::vector<State> state_;
  std::vector<Entry> stack_;
  std::vector<uint32_t> order_;
};

// By node: the stateful node that runs before it. Walking from the stateful nodes alone gives the
// order nearest to the definition that what they need allows; no circle can come of it.
std::optional<std::vector<uint32_t>> ChainStateful(const OrderInput& input) {
  const size_t count = input.needs.size();
  std::vector<uint32_t> chain(count, kNone);
  Walk walk(input, chain);
  for (uint32_t node = 0; node < count; ++node) {
    if (input.stateful[node] && !walk.Visit(node)) return {};
  }
  std::vector<uint32_t> result(count, kNone);
  uint32_t last = kNone;
  for (const uint32_t node : walk.TakeOrder()) {
    if (!input.stateful[node]) continue;
    result[node] = last;
    last = node;
  }
  return result;
}

}  // namespace

std::optional<std::vector<uint32_t>> OrderNodes(const OrderInput& input) {
  const auto count = static_cast<uint32_t>(input.needs.size());
  const std::optional<std::vector<uint32_t>> chain = ChainStateful(input);
  if (!chain) return {};
  Walk needed(input, *chain);
  for (const uint32_t root : input.roots) {
    if (!needed.Visit(root)) return {};
  }
  for (uint32_t node = 0; node < count; ++node) {
    if (input.stateful[node] && !needed.Visit(node)) return {};
  }
  // Once more from the first node on, so that the order is the definition's where that has one.
  Walk ordered(input, *chain);
  for (uint32_t node = 0; node < count; ++node) {
    if (needed.Reached(node)) ordered.Visit(node);
  }
  return ordered.TakeOrder();
}

}  // namespace flowscope::interp
