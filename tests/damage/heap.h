// How much memory the process has asked for: malloc and its kin, of every library in it.
#pragma once

#include <cstddef>

namespace flowscope::damage {

// False where a sanitizer brings an allocator of its own: then all figures are zero.
bool HeapIsCounted();
size_t HeapNow();
// The most since the last call of ResetPeak.
size_t HeapPeak();
void ResetPeak();

}  // namespace flowscope::damage
