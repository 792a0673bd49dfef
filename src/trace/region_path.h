// Where a region is: the names of the regions from the root down to it.
#pragma once

#include <string>

#include "trace/trace.h"

namespace flowscope {

// More names than this are shown by both ends, with the number of those between: functions that
// call themselves go thousands deep, and every region has a path of its own.
inline constexpr size_t kMostRegionNames = 64;

// "f/while[3]/cond:true"; empty for the root.
std::string RegionPathOf(const TraceTables& tables, RegionId region, bool with_iterations);

}  // namespace flowscope
