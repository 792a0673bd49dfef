// A body in the middle of its run. Frames live on the heap, so that functions may call each other
// as deep as memory goes.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "interp/host.h"
#include "interp/plan.h"
#include "interp/program.h"

namespace flowscope::interp {

// One reference to a handle, given back through the host.
struct HostDeleter {
  Host* host = nullptr;
  void operator()(TFE_TensorHandle* handle) const { host->Delete(handle); }
};
using HeldHandle = std::unique_ptr<TFE_TensorHandle, HostDeleter>;
using HeldHandles = std::vector<HeldHandle>;

// What becomes of the values that a frame returns.
enum class FrameRole : uint8_t {
  kOutermost,  // they are the result of the run
  kCall,       // outputs of the caller's node
  kCondition,  // whether the caller's loop goes on
  kIteration,  // the next values of the caller's loop
};

// A loop that a frame is in. A frame runs one node at a time and so has one loop at most.
struct Loop {
  HeldHandles values;
  HeldHandle condition;
  uint32_t iteration = 0;
};

struct Frame {
  const ProgramBody* body = nullptr;
  uint32_t body_index = 0;  // in the program
  FrameRole role = FrameRole::kOutermost;
  RegionKind kind = RegionKind::kFunction;
  uint32_t index = 0;      // of the region
  std::string_view label;  // of the region
  uint32_t region = 0;     // the host's token
  uint32_t next_node = 0;
  HeldHandles slots;
  std::unique_ptr<Loop> loop;

  const Plan& plan() const { return *body->plan; }
  const PlanNode& node() const { return plan().nodes[next_node]; }
  bool done() const { return next_node == plan().nodes.size(); }
};

}  // namespace flowscope::interp
