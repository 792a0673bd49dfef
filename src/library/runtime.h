// The context in which the C++ library runs models.
#pragma once

#include "base/status.h"
#include "tf/c_api.h"

namespace flowscope::library {

// Loads TensorFlow where that has not happened. Lives as long as the process.
Result<TFE_Context*> ProcessContext();

}  // namespace flowscope::library
