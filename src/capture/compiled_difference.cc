#include "capture/compiled_difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/stats.h"

namespace flowscope::capture {
namespace {

void AddElement(const Payload& a, const Payload& b, int64_t index, CompiledDifference& difference) {
  ++difference.num_different;
  const std::optional<double> x = ElementAsDouble(a, index);
  const std::optional<double> y = ElementAsDouble(b, index);
  if (!x || !y || *x == *y) return;
  if (std::isnan(*x) && std::isnan(*y)) return;
  const double abs = std::abs(*x - *y);
  const double larger = std::max(std::abs(*x), std::abs(*y));
  if (std::isnan(abs) || std::isnan(difference.max_abs)) {
    difference.max_abs = difference.max_rel = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  difference.max_abs = std::max(difference.max_abs, abs);
  if (larger > 0) difference.max_rel = std::max(difference.max_rel, abs / larger);
}

}  // namespace

Result<CompiledDifference> Compare(const Payload& opened, const Payload& compiled) {
  if (opened.dtype != compiled.dtype || opened.dims != compiled.dims) {
    return InvalidArgument("the compiled call gave another dtype or shape");
  }
  CompiledDifference difference;
  difference.num_elements = static_cast<uint64_t>(NumElements(opened.dims));
  const size_t size = DTypeSize(opened.dtype);
  if (size == 0) return Unavailable("elements of this dtype are not compared");
  const auto* a = static_cast<const char*>(opened.data);
  const auto* b = static_cast<const char*>(compiled.data);
  for (uint64_t i = 0; i < difference.num_elements; ++i) {
    if (std::memcmp(a + i * size, b + i * size, size) == 0) continue;
    AddElement(opened, compiled, static_cast<int64_t>(i), difference);
  }
  return difference;
}

}  // namespace flowscope::capture
