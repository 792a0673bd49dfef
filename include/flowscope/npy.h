// Values in NumPy's .npy files, the form in which the command line takes and gives tensors.
#pragma once

#include <string>

#include "base/payload.h"
#include "base/status.h"

namespace flowscope::api {

// Numbers, complex numbers, booleans, bytes ('S') and text ('U', given as UTF-8), little or big
// endian, in C or Fortran order. The value owns its memory. Corruption where the file contradicts
// itself; Unsupported for Python objects, which are never unpickled, and for structured types.
Result<Payload> ReadNpy(const std::string& path);

// Writes one value. What NumPy has no dtype for is written as raw bytes (bfloat16, float8, as
// numpy.save does for them) or as whole numbers (quantized and 4-bit integers). Strings are written
// as bytes of equal length, so NUL bytes at their ends are lost to a reader.
Status WriteNpy(const std::string& path, const Payload& value);

}  // namespace flowscope::api
