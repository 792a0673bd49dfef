// From Status to the exceptions of flowscope.errors: the one place where that is decided.
#pragma once

#include <utility>

#include "base/status.h"

namespace flowscope::python {

// Throws the Python exception for a status that is not ok.
void Check(const Status& status);

template <typename T>
T Unwrap(Result<T> result) {
  Check(result.status());
  return std::move(result).value();
}

}  // namespace flowscope::python
