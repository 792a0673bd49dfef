#include "replay/report.h"

#include <fmt/format.h>

namespace flowscope::replay {

std::string_view StateName(State state) {
  switch (state) {
    case State::kPassed:
      return "passed";
    case State::kFailed:
      return "failed";
    case State::kUnverified:
      return "unverified";
    default:
      return "unavailable";
  }
}

std::string FormatReport(std::string_view state, std::string_view reason,
                         const std::map<std::string, int64_t>& coverage) {
  std::string text = fmt::format("{}: {}", state, reason);
  for (const auto& [proof, count] : coverage) text += fmt::format("\n  {:<24}{:>8}", proof, count);
  return text;
}

}  // namespace flowscope::replay
