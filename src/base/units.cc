#include "base/units.h"

#include <span>
#include <string_view>

#include <fmt/format.h>

namespace flowscope {
namespace {

// The absolute value, also of the smallest number, which has no positive counterpart.
uint64_t Magnitude(int64_t number) {
  return number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
}

std::string_view Sign(int64_t number) { return number < 0 ? "-" : ""; }

// `value` in the largest unit that leaves at least 1.0 of it, each unit `step` times the one
// before. Rounding up to `step` ("1024.0 KB") goes on to the next unit.
std::string Scale(double value, double step, std::span<const std::string_view> units) {
  size_t unit = 0;
  while (unit + 1 < units.size() && value >= step - 0.05) {
    value /= step;
    ++unit;
  }
  return fmt::format("{:.1f}{}", value, units[unit]);
}

// Three significant digits of `count` / `unit`, which is at least 1 and rounds to less than 1000.
std::string ThreeDigits(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (decimals == 0) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string LongDuration(uint64_t seconds) {
  if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  const uint64_t minutes = (seconds + 30) / 60;
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

}  // namespace

std::string FormatBytes(uint64_t bytes) {
  static constexpr std::string_view kUnits[] = {" KB", " MB", " GB", " TB", " PB", " EB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  return Scale(static_cast<double>(bytes) / 1024, 1024, kUnits);
}

std::string FormatCount(int64_t count) {
  std::string digits = fmt::format("{}", Magnitude(count));
  for (size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, 1, ',');
  return fmt::format("{}{}", Sign(count), digits);
}

std::string FormatCountShort(int64_t count) {
  static constexpr std::string_view kUnits[] = {"K", "M", "B", "T", "Q"};
  const uint64_t magnitude = Magnitude(count);
  if (magnitude < 1000) return fmt::format("{}", count);
  const std::string scaled = Scale(static_cast<double>(magnitude) / 1000, 1000, kUnits);
  return fmt::format("{}{}", Sign(count), scaled);
}

std::string FormatDuration(int64_t nanoseconds) {
  const uint64_t magnitude = Magnitude(nanoseconds);
  const std::string_view sign = Sign(nanoseconds);
  const double value = static_cast<double>(magnitude);
  if (magnitude < 1000) return fmt::format("{} ns", nanoseconds);
  if (value < 999.5e3) return fmt::format("{}{} us", sign, ThreeDigits(value / 1e3));
  if (value < 999.5e6) return fmt::format("{}{} ms", sign, ThreeDigits(value / 1e6));
  if (value < 59.95e9) return fmt::format("{}{} s", sign, ThreeDigits(value / 1e9));
  const uint64_t seconds = magnitude / 1000000000 + (magnitude % 1000000000 >= 500000000 ? 1 : 0);
  return fmt::format("{}{}", sign, LongDuration(seconds));
}

}  // namespace flowscope
