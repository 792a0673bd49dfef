// Which process this is: what a fork copies has no threads, and is not the one that writes.
#pragma once

#include <cstdint>

namespace flowscope::store {

// Another number in every process that was forked from this one. Cheap to ask.
uint64_t ProcessGeneration();

}  // namespace flowscope::store
