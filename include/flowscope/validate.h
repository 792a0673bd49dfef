// Whether a trace is true: every op runs again from the record.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "flowscope/trace.h"

namespace flowscope::api {

struct ValidateOptions {
  bool perturb = false;             // move each input, and see that the outputs move
  std::optional<double> tolerance;  // relative difference of floats that counts as equal; not set:
                                    // the same bits where the trace comes from this TensorFlow,
                                    // else the bounds of docs/validation.md
  // Called now and then with the ops that are done and all of them; false ends the validation.
  std::function<bool(size_t done, size_t total)> progress;
};

struct ValidationFinding {
  std::string check;
  std::string label;  // of the op; empty where it is about the whole trace
  std::string message;
};

struct ValidationReport {
  std::string state;                        // passed, failed, unverified or unavailable
  std::string reason;                       // why, in one sentence
  std::map<std::string, int64_t> coverage;  // rows of the trace by kind of proof
  std::vector<ValidationFinding> failures;
  std::vector<ValidationFinding> unverified;
  std::string first_difference;  // the first op that is equal only within the tolerance; or empty
};

// Runs nothing that acts outside of a TensorFlow context of its own. Call LoadTensorFlow before:
// without it the report is unavailable, unless the record contradicts itself. A Status that is not
// ok is a fault of the file or of this library, never a verdict.
Result<ValidationReport> Validate(const Trace& trace, const ValidateOptions& options = {});

// As print(report) in Python, and as a JSON object with the findings.
std::string ToText(const ValidationReport& report);
std::string ToJson(const ValidationReport& report);

}  // namespace flowscope::api
