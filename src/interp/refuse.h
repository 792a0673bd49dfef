// The refuse-list: what must not be run op by op, because the result or an effect would differ from
// the compiled run. docs/refuse_list.md shows the same rows with their reasons and tests.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interp/body.h"

namespace flowscope::interp {

enum class RefuseWhen : uint8_t {
  kAlways,
  kUnlessInterpretRandom,  // the caller did not ask for random ops to be interpreted
  kCompiledByXla,          // XLA would compile this body
};

struct RefuseRow {
  std::string_view id;
  RefuseWhen when = RefuseWhen::kAlways;
  std::string_view sentence;  // what the function does, after "it"
  // Null: told by the planner, not by a look at one node.
  bool (*refuses)(const BodyNode& node, const Body& body) = nullptr;
  // Holds for functions too that the kernel of an op runs: what kernels keep would be kept twice.
  bool inside_kernels = false;
};

std::span<const RefuseRow> RefuseRows();

// Rows without a check of nodes.
inline constexpr std::string_view kMalformed = "malformed";
inline constexpr std::string_view kMissingFunction = "missing_function";
inline constexpr std::string_view kNoPlan = "no_plan";

// A row that a function falls under.
struct Finding {
  const RefuseRow* row = nullptr;
  std::string where;  // which node of which function, or what the planner says
};

Finding MakeFinding(std::string_view id, std::string where);

// One finding for each row that some node of the function falls under.
// The first node that does something besides computing and reading, described; empty where there is
// none. Such a function must not be run twice.
std::string FindEffect(const Body& body);

std::vector<Finding> Judge(const Body& body);

// The sentence that a caller sees.
std::string Explain(const Finding& finding);

// True where one of the findings holds whatever the caller asked for.
bool HoldsAlways(const std::vector<Finding>& findings);

}  // namespace flowscope::interp
