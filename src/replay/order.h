// Whether the order in which threads add can explain a difference between the record and a run.
//
// Sums of floats depend on their order. Most kernels divide their work the same way every time;
// some (DenseBincount with float weights) leave it to the threads, and on a machine with other work
// such a kernel can take one order many times in a row. So runs that agree prove nothing: what
// counts is whether the op adds at all, and whether the difference is as small as rounding.
#pragma once

#include "replay/replayer.h"

namespace flowscope::replay {

enum class Order {
  kFixed,      // no order of additions explains the difference
  kVaries,     // two runs on the same inputs differ
  kCouldVary,  // runs agree, but the op adds floats, and rounding explains the difference
};

// For an op whose run differs from the record in a value.
Order LookAtOrder(Replayer& replayer, OpId id);

// The largest difference that another order of `count` additions is taken to make, where the
// largest number among terms and sums is `magnitude`: 8 sqrt(count) units of the last place of it.
double RoundingBound(DType dtype, size_t count, double magnitude);

}  // namespace flowscope::replay
