// One run of a program: an explicit stack of frames, one node at a time.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "interp/frame.h"
#include "tf/handles.h"

namespace flowscope::interp {

class Machine {
 public:
  // All must outlive it. The program must not be refused.
  Machine(const Program& program, TFE_Context* context, Host& host, TF_Status* status);

  // Empty, with the status set, on failure.
  HeldHandles Run(std::span<TFE_TensorHandle* const> args);

 private:
  struct Opening {
    uint32_t callee = 0;  // of the node
    FrameRole role = FrameRole::kCall;
    RegionKind kind = RegionKind::kFunction;
    uint32_t index = 0;
    TFE_TensorHandle* predicate = nullptr;
  };

  // Each returns false on failure, with the status set.
  bool Step();
  bool RunNode(Frame& frame);
  bool RunOp(Frame& frame);
  bool MakeConstant(Frame& frame);
  bool StartBranch(Frame& frame);
  bool StartLoop(Frame& frame);
  bool TestLoop(Frame& frame);
  bool ContinueLoop(Frame& frame, HeldHandle condition);
  bool Open(Frame& frame, const Opening& opening, HeldHandles args);
  bool Close();
  bool Deliver(FrameRole role, HeldHandles values);

  tf::OpPtr NewOp(const Frame& frame);
  bool SetUp(TFE_Op* op, const Frame& frame);
  bool TakeInputs(Frame& frame, uint32_t from, HeldHandles& values);
  bool ShareAll(const HeldHandles& from, HeldHandles& to);
  HeldHandle Take(Frame& frame, const PlanInput& input);
  void Store(Frame& frame, std::span<HeldHandle> outputs);
  void DropInputs(Frame& frame);

  void Tell(std::string_view node, std::span<const HeldHandle> values);
  void TellArguments();
  NodeInfo InfoOf(const Frame& frame) const;
  HeldHandle Hold(TFE_TensorHandle* handle) { return HeldHandle(handle, HostDeleter{&host_}); }
  HeldHandle Share(TFE_TensorHandle* handle);
  bool ok() const;
  // ok(); else the place is added to TensorFlow's message.
  bool Checked();
  bool Fail(int code, const std::string& message);
  bool Fail(const Status& status);
  void Unwind();
  std::string DescribePlace() const;

  const Program& program_;
  TFE_Context* context_;
  Host& host_;
  TF_Status* status_;
  std::deque<Frame> frames_;
  std::vector<HeldHandles> constants_;  // by body, then by number
  std::vector<TFE_TensorHandle*> raw_outputs_;
  HeldHandles results_;
};

}  // namespace flowscope::interp
