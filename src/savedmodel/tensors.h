// Tensors from memory and from protocol buffers, without running an op.
#pragma once

#include <span>
#include <string_view>

#include "base/payload.h"
#include "base/status.h"
#include "tf/handles.h"

namespace flowscope::savedmodel {

// A serialized TensorProto as a tensor.
Result<tf::HandlePtr> TensorFromProto(std::string_view proto);

// A copy of the value in memory of TensorFlow's. Unsupported for resources and variants.
Result<tf::HandlePtr> TensorFromPayload(const Payload& value);

// A rank-zero tensor of text.
Result<tf::HandlePtr> TextTensor(std::string_view text);

}  // namespace flowscope::savedmodel
