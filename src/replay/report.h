// What validating a trace found out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/ids.h"

namespace flowscope::replay {

enum class State {
  kPassed,       // every op is replayed, proved by version history, or a declared source
  kFailed,       // something contradicts the record
  kUnverified,   // something could not be proved
  kUnavailable,  // values that are needed were not kept, or TensorFlow is not here
};
std::string_view StateName(State state);

// One thing that is wrong, or that could not be proved.
struct Finding {
  std::string check;    // which check found it, see docs/validation.md
  OpId op = kNoId;      // kNoId: about the trace as a whole
  std::string label;    // of the op; empty where there is none
  std::string message;  // one sentence that names the op
};

struct Report {
  State state = State::kPassed;
  std::string reason;                       // one sentence: why the state is what it is
  std::map<std::string, int64_t> coverage;  // rows of the trace by kind of proof
  std::vector<Finding> failures;
  std::vector<Finding> unverified;
  std::vector<Finding> declared;  // ops that ran and whose values are taken as they stand
  std::string first_difference;   // the first op that is equal only within the tolerance; or empty
};

// "passed: REASON" and a line for each kind of proof.
std::string FormatReport(std::string_view state, std::string_view reason,
                         const std::map<std::string, int64_t>& coverage);

}  // namespace flowscope::replay
