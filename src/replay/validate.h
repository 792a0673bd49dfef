// Proves a trace: runs every op again from the record, and checks what the record says twice.
#pragma once

#include <functional>
#include <optional>

#include "replay/compare.h"
#include "replay/report.h"
#include "replay/sandbox.h"
#include "trace/trace.h"

namespace flowscope::replay {

struct ValidateOptions {
  // Called now and then with the ops that are done and all of them; false ends the validation with
  // an error.
  std::function<bool(size_t done, size_t total)> progress;
  // Differences within these bounds count as equal. Not set, or none for a dtype: only the same
  // bits, or DefaultTolerance where the trace comes from another TensorFlow than the one here.
  std::function<std::optional<Tolerance>(DType)> tolerance;
  bool perturb = false;  // see perturb.h
  SandboxOptions sandbox;
};

// Runs nothing in the user's context and nothing that acts outside of a context of its own. Without
// TensorFlow the report is unavailable. An error is ours or a broken file's, never a verdict.
Result<Report> Validate(const Trace& trace, const ValidateOptions& options);

}  // namespace flowscope::replay
