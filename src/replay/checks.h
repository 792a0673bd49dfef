// What a true record says twice: checks that need no TensorFlow. Replay alone cannot see a parent
// swapped for one of equal value, an op that is missing, or an iteration with a wrong number.
#pragma once

#include <vector>

#include "base/status.h"
#include "replay/report.h"
#include "trace/trace.h"

namespace flowscope::replay {

struct CheckResult {
  std::vector<Finding> failures;
  std::vector<Finding> unverified;
  int64_t num_checks = 0;  // things that were looked at
};

// The invariants of trace.lint(), each sentence one finding; where these are broken nothing else
// can be asked of the trace.
CheckResult CheckInvariants(const Trace& trace);

// An op, and a module call, start within the time of the call that they stand in.
CheckResult CheckTimes(const Trace& trace);

// Every value kept has the dtype, shape and size that its row says, and the hash that was stored
// with it. An error where a value cannot be read.
Result<CheckResult> CheckValues(const Trace& trace);

// Iterations are numbered from 0 without gaps, and each condition and branch is the one that its
// predicate asks for.
CheckResult CheckRegions(const Trace& trace);

// What a module call gave back was there when it ended, and what it took when it began.
CheckResult CheckBoundaries(const Trace& trace);

// Every op takes and gives as many tensors, of the dtypes, as its registered definition and its
// attributes say, and has these attributes. `same_version`: the trace was recorded with the
// TensorFlow that is here.
CheckResult CheckSignatures(const Trace& trace, bool same_version);

// A variable's values have its dtype, a handle is one variable's, and what the recorded call
// returned is what its module call gave.
CheckResult CheckTables(const Trace& trace);

// What a call of an opened function gives was made inside of it, or given to it, and what the ops
// inside take was too.
Result<CheckResult> CheckOpenedCalls(const Trace& trace);

}  // namespace flowscope::replay
