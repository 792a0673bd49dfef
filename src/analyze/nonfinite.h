// Where does the first NaN or Inf start, and how does it travel?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/stats.h"
#include "base/status.h"
#include "trace/trace.h"

namespace flowscope {

// One op on the way from the cause to the symptom.
struct NonFiniteStep {
  OpId op = kNoId;
  TensorId tensor = kNoId;
  std::vector<int64_t> element;  // coordinates of the first bad element; empty where unknown
  std::string value;             // "-inf", "nan"
  int64_t nan = 0, pos_inf = 0, neg_inf = 0;
};

struct ParentValue {
  OpId op = kNoId;  // kNoId for a literal and for a variable's value from before the run
  TensorId tensor = kNoId;
  std::string name;  // label, "literal", "variable dense.kernel"
  std::string glance;
  std::string element;  // value at the same coordinates where shapes agree (or broadcast), else ""
};

struct NonFiniteReport {
  NonFiniteStep first;               // first op to end with a bad output
  std::vector<ParentValue> parents;  // its inputs
  std::string cause;                 // one sentence: "log of 0 at (0, 2)", "float16 overflow: ..."
  // Every later op that the bad values reach, first NaN included, in the order in which ops ended.
  std::vector<NonFiniteStep> chain;
  OpId first_nan = kNoId;  // kNoId where only infinities occur
  std::string nan_cause;   // why the first NaN is one; empty where it is `first`
  // Tensors of a dtype that can be non-finite: looked at, and without a kept value.
  int64_t scanned = 0, skipped = 0;
};

// nullopt where every kept value that an op gave or took is finite. Ops whose inputs were already
// bad when they came in (model inputs, constants, variables) are reported at that source. An op
// whose inside is recorded comes after what is inside. Scans with `threads` threads (0: all).
std::optional<NonFiniteReport> FindFirstNonFinite(const Trace& trace, int threads = 0);

// The same with what was looked at. Unavailable where no value was kept, so that nothing can be
// said.
struct NonFiniteSearch {
  std::optional<NonFiniteReport> report;
  int64_t scanned = 0, skipped = 0;
};
Result<NonFiniteSearch> SearchNonFinite(const Trace& trace, int threads = 0);

// "no NaN and no infinity in 12 values".
std::string FormatNothingFound(const NonFiniteSearch& search);

// Several lines for a person: op, layer, line, element, parents, chain.
std::string FormatNonFinite(const Trace& trace, const NonFiniteReport& report);

}  // namespace flowscope
