// Recorded values, changed a little or a lot, to see what an op does with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/float_formats.h"
#include "base/payload.h"
#include "base/status.h"
#include "tf/handles.h"

namespace flowscope::replay {

// The dtype of the floats that an element is made of.
DType PartOf(DType dtype);
bool IsMovable(DType dtype);
// Numbers in the payload; a complex element has two.
size_t NumParts(const Payload& value);

// One float's bits, moved.
using Move = std::function<uint64_t(const FloatFormat&, uint64_t bits, size_t index)>;

// A few per cent up or down; zero becomes a small number.
uint64_t MoveLittle(const FloatFormat& format, uint64_t bits, size_t index);
uint64_t FlipSign(const FloatFormat& format, uint64_t bits, size_t index);
// Between 1/4 and 4, of either sign; `salt` makes another choice.
Move Scatter(uint64_t salt);
// Far away, so that a comparison turns.
Move MoveFar(bool down);

// Numbers that look random and are the same in every run.
uint64_t Mix(uint64_t x);

// A copy in which the chosen numbers are moved (bools: turned); what is not finite stays.
Result<tf::HandlePtr> Moved(const Payload& value, const Move& move,
                            const std::function<bool(size_t index)>& chosen);

}  // namespace flowscope::replay
