// Single elements of a payload.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/float_formats.h"
#include "base/payload.h"

namespace flowscope {

// How many elements can be read: what `nbytes` and `strings` hold, never what the dims only claim.
// 0 for resource and variant.
int64_t ReadableElements(const Payload& payload);

// NaN, infinite or finite; a complex element is NaN if either part is, else it has the infinity of
// its first infinite part. `index` must be below ReadableElements().
FloatClass ClassifyElement(const Payload& payload, int64_t index);

// A byte string as Python writes it, b'cat', cut after `max_bytes` with "..." and the full length.
std::string FormatBytesLiteral(std::string_view bytes, size_t max_bytes);

// Like FormatElement, with floats cut to `digits` significant digits.
std::string FormatElementShort(const Payload& payload, int64_t index, int digits);

}  // namespace flowscope
