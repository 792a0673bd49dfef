// What a test may say about the ops, modules, calls and variables that TraceMaker makes; see
// trace/testing.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/payload.h"
#include "trace/records.h"

namespace flowscope {

// How an op differs from a compute op with one float output.
struct OpSpec {
  Dims dims = {};                  // of every output
  std::vector<float> values = {};  // of the first output, float32; empty: zeros
  DType dtype = DType::kFloat32;
  OpKind kind = OpKind::kCompute;
  uint32_t num_outputs = 1;
  std::string attrs = {};  // serialized NameAttrList
  std::string error = {};  // the op failed with it: no outputs
  std::string opaque_reason = {};
  std::string device = "/job:localhost/replica:0/task:0/device:CPU:0";
  PayloadState state = PayloadState::kKept;
  int64_t duration_ns = 1000;
};

struct ModuleSpec {
  std::string class_name = "Dense";
  std::vector<std::string> aliases = {};
  std::vector<VariableId> variables = {};
  int64_t num_params = 0;
  int64_t num_trainable_params = 0;
  std::string config = {};
  std::string name = {};  // the last part of the address where empty
};

struct CallSpec {
  std::vector<TensorId> inputs = {};
  std::string training = {};
  std::string kwargs = {};
  bool failed = false;
};

struct VariableSpec {
  std::vector<std::string> aliases = {};
  std::vector<float> values = {};  // of version 0; empty: zeros
  DType dtype = DType::kFloat32;
  bool trainable = true;
  std::string name = {};  // empty: the last part of the address
};

}  // namespace flowscope
