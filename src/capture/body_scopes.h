// Opens and closes the module calls of function bodies as their nodes run.
//
// Every body that runs (a function, an iteration, a branch) has a frame here. Before a node runs
// the module calls around it are opened, unless a frame outside has them open already, and those
// that it is not in are closed. Nodes of one call need not run one after the other: the call then
// goes on.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/body_origins.h"
#include "trace/builder.h"

namespace flowscope::capture {

// Where scopes are opened: a recording, or a structure that is written down without a run.
class ScopeTarget {
 public:
  virtual ~ScopeTarget() = default;
  virtual TraceBuilder& scope_builder() = 0;
  virtual int64_t Now() const = 0;  // since the start
  // Null where nobody knows who asked for the function's ops.
  virtual std::shared_ptr<const BodyOrigins> OriginsOf(const std::string& function) = 0;
};

class BodyScopes {
 public:
  // The target must outlive it.
  explicit BodyScopes(ScopeTarget& target) : target_(target), builder_(target.scope_builder()) {}

  // A body whose region has just been opened.
  void Enter(const std::string& function);
  // Closes what is open in the innermost body; its region is closed by the caller, after this.
  void Exit(bool failed);

  // The scopes that the node stands in are open after this. What is known of it comes back.
  BodyOrigin Before(std::string_view node);
  // The module of a call of the innermost body's table; kNoId where there is none.
  ModuleId ModuleOf(uint32_t call) const;
  // Whether a call takes or gives what the node makes. An empty name: the body's arguments.
  bool Asks(std::string_view node) const;
  // The node has given these values, kNoId where one is not known. `on_output` is told of each that
  // a call which is open gives.
  using OnOutput = std::function<void(size_t index, ModuleCallId call)>;
  void Made(std::string_view node, std::span<const TensorId> values,
            const OnOutput& on_output = {});

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

  ScopeTarget& target_;
  TraceBuilder& builder_;
  std::vector<Frame> frames_;
};

}  // namespace flowscope::capture
