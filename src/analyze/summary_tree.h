// The rows of a summary as a tree, before anything is text in columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/cost.h"
#include "trace/trace.h"

namespace flowscope {

enum class RowKind { kModel, kModule, kOps, kNote };

struct SummaryNode {
  RowKind kind = RowKind::kOps;
  std::string name;  // address below the parent, layer label, or the note
  std::string type;  // class or op type
  std::string output;
  std::optional<int64_t> params;  // nullopt for what has none by its nature
  Cost cost;
  int64_t duration_ns = 0;
  int64_t passes = 0;
  OpId first_op = kNoId;  // for the order of rows; kNoId comes last
  int64_t repeats = 1;    // like siblings in a row, this one the first
  std::string last_name;  // of the repeats
  std::vector<SummaryNode> children;
};

// The model row with everything below it, in order of execution. Without `ops_of_modules` only ops
// that belong to no module but the root have rows. Left out: sources, what ran while a function was
// traced, and modules that neither ran nor hold parameters.
SummaryNode BuildSummaryTree(const Trace& trace, const CostIndex& costs, bool ops_of_modules);

// Joins like siblings in a row, whatever is below them being alike too.
void FoldRepeats(SummaryNode& node);

// Puts one note in place of each run of more than one op row among siblings.
void CollapseOps(SummaryNode& node);

// Drops what lies deeper than `depth` below the node.
void CutDepth(SummaryNode& node, int64_t depth);

int64_t CountRows(const SummaryNode& node);
int64_t MaxDepth(const SummaryNode& node);

}  // namespace flowscope
