// How far two values of the same op are from each other.
#pragma once

#include "base/payload.h"
#include "base/status.h"
#include "trace/records.h"

namespace flowscope::capture {

// InvalidArgument where dtype or shape differ. Elements that are no numbers are compared as bytes.
Result<CompiledDifference> Compare(const Payload& opened, const Payload& compiled);

}  // namespace flowscope::capture
