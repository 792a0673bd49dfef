// Opens and closes the module calls of function bodies as their nodes run.
//
// Every body that runs (a function, an iteration, a branch) has a frame here. Before a node runs
// the module calls around it are opened, unless a frame outside has them open already, and those
// that it is not in are closed. Nodes of one call need not run one after the other: the call then
// goes on.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/body_origins.h"
#include "tf/c_api.h"
#include "trace/builder.h"

namespace flowscope::capture {

class Recorder;

class BodyScopes {
 public:
  explicit BodyScopes(Recorder& recorder) : recorder_(recorder) {}

  // A body whose region has just been opened.
  void Enter(const std::string& function);
  // Closes what is open in the innermost body; its region is closed by the caller, after this.
  void Exit(bool failed);

  // The scopes that the node stands in are open after this. What is known of it comes back.
  BodyOrigin Before(std::string_view node);
  // The module of a call of the innermost body's table; kNoId where there is none.
  ModuleId ModuleOf(uint32_t call) const;
  // The node has given these values; an empty name: the body's arguments, null where nobody needs
  // one.
  void Made(std::string_view node, std::span<TFE_TensorHandle* const> values);

 private:
  struct Open {
    uint32_t call = kNoId;
    ModuleCallId module_call = kNoId;
    RegionId region = kNoId;
  };
  struct Frame {
    std::shared_ptr<const BodyOrigins> origins;
    std::vector<ModuleId> modules_outside;   // outermost first
    std::vector<std::string> parts_outside;  // names of regions that no op opened
    std::vector<Open> open;
    std::unordered_map<uint32_t, std::shared_ptr<TraceBuilder::SuspendedCall>> suspended;
    std::unordered_map<uint32_t, ModuleCallId> module_calls;
    std::vector<TensorId> values;
  };

  std::vector<uint32_t> Chain(const Frame& frame, uint32_t call) const;
  bool IsOpenOutside(const BodyCall& call, const Frame& frame, size_t& modules_passed) const;
  void PassSilentCalls(Frame& frame, std::string_view before);
  void MoveTo(Frame& frame, std::span<const uint32_t> chain);
  void OpenCall(Frame& frame, uint32_t call);
  void CloseLast(Frame& frame, bool failed);
  void SetTensors(const Frame& frame, const Open& open);
  std::vector<NamedTensor> Named(const Frame& frame,
                                 const std::vector<std::pair<std::string, uint32_t>>& values);

  Recorder& recorder_;
  std::vector<Frame> frames_;
};

}  // namespace flowscope::capture
