// Quantities as a person reads them. Three significant digits at most, never a locale.
#pragma once

#include <cstdint>
#include <string>

namespace flowscope {

// "0 B", "999 B", "1.1 KB", "24.5 MB": steps of 1024, one decimal.
std::string FormatBytes(uint64_t bytes);

// "1,234", "-12,345,678".
std::string FormatCount(int64_t count);

// "999", "1.2K", "25.6M", "1.8B", "3.0T": steps of 1000, one decimal.
std::string FormatCountShort(int64_t count);

// "850 ns", "12.3 us", "648 ms", "1.23 s", "2 min 5 s", "1 h 2 min". A negative duration, which
// only a clock that was set back can give, has a minus sign.
std::string FormatDuration(int64_t nanoseconds);

}  // namespace flowscope
