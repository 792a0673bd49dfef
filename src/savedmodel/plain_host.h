// Runs ops as they are, for what is not to be recorded.
#pragma once

#include "interp/host.h"

namespace flowscope::savedmodel {

class PlainHost : public interp::Host {
 public:
  void Execute(const interp::NodeInfo& /*node*/, TFE_Op* op, TFE_TensorHandle** outputs,
               int* num_outputs, TF_Status* status) override {
    tf::Api().TFE_Execute(op, outputs, num_outputs, status);
  }
  void OnConstant(const interp::NodeInfo& /*node*/, TFE_TensorHandle* /*value*/) override {}
  uint32_t EnterRegion(const interp::RegionInfo& /*region*/) override { return 0; }
  void ExitRegion(uint32_t /*token*/, bool /*failed*/) override {}
};

}  // namespace flowscope::savedmodel
