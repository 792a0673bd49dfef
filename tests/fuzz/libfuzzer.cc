// The entry that libFuzzer calls; every target links it.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  flowscope::fuzz::TryBytes({reinterpret_cast<const char*>(data), size});
  return 0;
}
