// Recorded values as tensors that an op can take.
#pragma once

#include "base/payload.h"
#include "base/status.h"
#include "tf/handles.h"

namespace flowscope::replay {

// A new handle on the payload's memory, which stays as it is: TensorFlow may read it and not write
// or reuse it. Memory that is not aligned for its kernels, and strings, are copied. Unsupported for
// resource and variant.
Result<tf::HandlePtr> ToHandle(const Payload& payload);

// A handle on a tensor made from a serialized TensorProto, without running an op.
Result<tf::HandlePtr> HandleFromProto(std::string_view proto);

}  // namespace flowscope::replay
