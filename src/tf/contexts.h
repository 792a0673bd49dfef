// Contexts beside the user's.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "tf/c_api.h"

namespace flowscope::tf {

struct ContextDeleter {
  void operator()(TFE_Context* context) const;
};
// Everything made in a context must go before it.
using ContextPtr = std::unique_ptr<TFE_Context, ContextDeleter>;

// A context with the settings of `config`, a serialized ConfigProto (empty: the defaults), that
// runs ops as the one of TensorFlow's Python package does: each wrapped in a function, which lets
// oneDNN's kernels take their place. Unavailable where this TensorFlow cannot.
Result<ContextPtr> NewContext(const std::string& config);

}  // namespace flowscope::tf
