// Payloads as NumPy arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "base/payload.h"
#include "base/stats.h"

namespace flowscope::python {

// A read-only view of the payload's memory, no copy; bfloat16, float8 and small integers with the
// dtypes of ml_dtypes. Strings become an object array of bytes, which is a copy.
nanobind::object ToNumpy(const Payload& payload);

// {"min": ..., "histogram": [...]}
nanobind::dict ToDict(const Stats& stats);

}  // namespace flowscope::python
