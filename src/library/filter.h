// Which ops a filter of the public headers means.
#pragma once

#include <vector>

#include "base/status.h"
#include "flowscope/trace.h"
#include "trace/trace.h"

namespace flowscope::library {

struct FilteredOps {
  std::vector<OpId> ids;
  size_t left_out = 0;  // by the limit
};

// NotFound with near names where none fits.
Result<FilteredOps> OpsOf(const Trace& trace, const api::OpFilter& filter);

}  // namespace flowscope::library
