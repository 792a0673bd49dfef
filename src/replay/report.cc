#include "replay/report.h"

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

}  // namespace flowscope::replay
