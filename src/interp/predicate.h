// What a tensor says when a loop or a branch asks it, by TensorFlow's rules.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "tf/c_api.h"

namespace flowscope::interp {

// A scalar is true where it is not zero (a string: not empty); any other tensor where it has
// elements. InvalidArgument for a scalar of a dtype that has no truth.
Result<bool> ReadCondition(TFE_TensorHandle* handle);

// The branch that an int32 scalar chooses among `count`; a number out of range chooses the last.
Result<uint32_t> ReadBranch(TFE_TensorHandle* handle, uint32_t count);

}  // namespace flowscope::interp
