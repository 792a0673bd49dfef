// NumPy's format for one array.
#pragma once

#include <string>
#include <string_view>

#include "base/payload.h"
#include "base/status.h"

namespace flowscope::exports {

// A value as an .npy file: the header, then the bytes of the elements.
struct NpyArray {
  std::string header;
  std::string made;           // bytes that had to be made
  std::string_view borrowed;  // else the payload's own memory
  bool is_made = false;

  std::string_view bytes() const { return is_made ? std::string_view(made) : borrowed; }
};

// Valid for as long as the payload. What NumPy has no dtype for is written as numpy.save writes
// ml_dtypes: bfloat16 and float8 as raw bytes; quantized and 4-bit integers as whole numbers.
// Strings are bytes of equal length, so NUL bytes at their ends are lost to a reader. Unsupported
// for handles and variants.
Result<NpyArray> ToNpy(const Payload& value);

}  // namespace flowscope::exports
