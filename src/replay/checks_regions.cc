// Loops and branches against the values that steered them.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "replay/checks.h"

namespace flowscope::replay {
namespace {

// Parent region, loop, and the call that holds it: what makes two iterations one loop.
using LoopKey = std::tuple<RegionId, StringId, OpId>;

Finding About(const Trace& trace, RegionId id, std::string_view problem) {
  const RegionRecord& region = trace.region(id);
  Finding finding;
  finding.check = "regions";
  finding.op = region.op;
  if (region.op != kNoId) finding.label = trace.OpLabel(region.op);
  finding.message =
      fmt::format("{} {} {}", RegionKindName(region.kind), trace.RegionPath(id), problem);
  return finding;
}

void Fail(const Trace& trace, RegionId id, CheckResult& result, std::string_view problem) {
  result.failures.push_back(About(trace, id, problem));
}

std::optional<Payload> PredicateOf(const Trace& trace, const RegionRecord& region) {
  if (region.predicate == kNoId) return std::nullopt;
  if (trace.tensor(region.predicate).state != PayloadState::kKept) return std::nullopt;
  Result<Payload> value = trace.ReadTensor(region.predicate);
  return value.ok() ? std::optional(*std::move(value)) : std::nullopt;
}

// TensorFlow's rules: a scalar is true where it is not zero or empty, another tensor where it has
// elements.
bool IsTrue(const Payload& value) {
  if (!value.dims.empty()) return value.num_elements() > 0;
  if (value.dtype == DType::kString) return !value.strings.empty() && !value.strings[0].empty();
  const auto* bytes = static_cast<const unsigned char*>(value.data);
  const bool zero =
      std::all_of(bytes, bytes + value.nbytes, [](unsigned char b) { return b == 0; });
  if (zero || !IsFloating(value.dtype)) return !zero;
  std::string minus_zero(value.nbytes, '\0');  // little-endian: the sign is the last bit
  minus_zero.back() = static_cast<char>(0x80);
  return std::memcmp(bytes, minus_zero.data(), value.nbytes) != 0;
}

void CheckBranch(const Trace& trace, RegionId id, CheckResult& result) {
  const RegionRecord& region = trace.region(id);
  const std::string_view name = trace.str(region.name);
  const size_t colon = name.rfind(':');
  const std::string_view branch = colon == std::string_view::npos ? "" : name.substr(colon + 1);
  const std::optional<Payload> predicate = PredicateOf(trace, region);
  if (branch == "then_branch" || branch == "else_branch") {
    const bool is_else = branch == "else_branch";
    if (region.index != (is_else ? 1U : 0U)) {
      Fail(trace, id, result, fmt::format("has number {}", region.index));
    }
    if (predicate && IsTrue(*predicate) == is_else) {
      Fail(trace, id, result, "is not the one that its predicate asks for");
    }
    return;
  }
  if (region.op != kNoId && branch != fmt::format("branch_{}", region.index)) {
    Fail(trace, id, result, fmt::format("has number {}, which its name does not", region.index));
  }
  if (!predicate || predicate->dtype != DType::kInt32 || predicate->nbytes != sizeof(int32_t))
    return;
  int32_t asked = 0;
  std::memcpy(&asked, predicate->data, sizeof(asked));
  // A number out of range asks for the last branch.
  const bool in_range = asked >= 0 && asked <= static_cast<int32_t>(region.index);
  if (in_range && asked != static_cast<int32_t>(region.index)) {
    Fail(trace, id, result, fmt::format("is not number {}, which its predicate asks for", asked));
  }
}

void CheckIteration(const Trace& trace, RegionId id, std::map<LoopKey, uint32_t>& counts,
                    CheckResult& result) {
  const RegionRecord& region = trace.region(id);
  uint32_t& next = counts[{region.parent, region.name, region.op}];
  if (region.index != next) {
    Fail(trace, id, result, fmt::format("stands where number {} should", next));
  }
  next = region.index + 1;
  const std::optional<Payload> predicate = PredicateOf(trace, region);
  if (predicate && !IsTrue(*predicate))
    Fail(trace, id, result, "ran though its condition is false");
}

// Regions nest as they ran: one that was left does not come back.
void CheckNesting(const Trace& trace, CheckResult& result) {
  const auto& regions = trace.tables().regions;
  std::vector<bool> left(regions.size(), false);
  std::vector<RegionId> open = {0};
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const OpRecord& op = trace.op(id);
    if (op.run_counter == 0 || op.region == open.back()) continue;
    std::vector<RegionId> path;
    for (RegionId at = op.region; at != kNoId; at = regions[at].parent) path.push_back(at);
    std::ranges::reverse(path);
    size_t common = 0;
    while (common < std::min(path.size(), open.size()) && path[common] == open[common]) ++common;
    for (size_t i = common; i < open.size(); ++i) left[open[i]] = true;
    open = std::move(path);
    for (size_t i = common; i < open.size(); ++i) {
      if (!left[open[i]]) continue;
      Fail(trace, open[i], result,
           fmt::format("holds {}, though an op before it had left it", trace.OpLabel(id)));
      left[open[i]] = false;  // told once
    }
  }
}

// By region: whether an op ran in it, or in one inside of it.
std::vector<bool> HoldsOps(const Trace& trace) {
  std::vector<bool> holds(trace.tables().regions.size(), false);
  for (const OpRecord& op : trace.tables().ops) {
    if (op.run_counter == 0) continue;
    for (RegionId at = op.region; at != kNoId && !holds[at]; at = trace.region(at).parent) {
      holds[at] = true;
    }
  }
  return holds;
}

bool IsInside(const Trace& trace, OpId op, RegionId region) {
  for (RegionId at = trace.op(op).region; at != kNoId; at = trace.region(at).parent) {
    if (at == region) return true;
  }
  return false;
}

// What an iteration ran for is what the test before it gave, where that test computes at all.
void CheckPredicates(const Trace& trace, CheckResult& result) {
  std::map<std::tuple<LoopKey, uint32_t>, RegionId> tests;
  const std::vector<bool> holds = HoldsOps(trace);
  for (RegionId id = 0; id < trace.tables().regions.size(); ++id) {
    const RegionRecord& region = trace.region(id);
    if (region.op == kNoId) continue;
    if (region.kind == RegionKind::kFunction) {
      tests.emplace(std::tuple(LoopKey(region.parent, region.name, region.op), region.index), id);
      continue;
    }
    if (region.kind != RegionKind::kIteration || region.predicate == kNoId) continue;
    const auto name = trace.tables().strings.Find(fmt::format("{}:cond", trace.str(region.name)));
    if (!name) continue;
    const auto test = tests.find({LoopKey(region.parent, *name, region.op), region.index});
    if (test == tests.end() || !holds[test->second]) continue;
    const OpId producer = trace.tensor(region.predicate).producer;
    if (producer != kNoId && IsInside(trace, producer, test->second)) continue;
    result.unverified.push_back(
        About(trace, id, "ran for a value that the test before it did not give"));
  }
}

// The regions that the last op stood in: what they belong to may not have come to its end.
std::vector<bool> OpenAtTheEnd(const Trace& trace) {
  std::vector<bool> open(trace.tables().regions.size(), false);
  for (OpId id = static_cast<OpId>(trace.num_ops()); id-- > 0;) {
    if (trace.op(id).run_counter == 0) continue;
    for (RegionId at = trace.op(id).region; at != kNoId; at = trace.region(at).parent) {
      open[at] = true;
    }
    break;
  }
  return open;
}

// A loop, as its regions tell it.
struct LoopRegions {
  std::vector<RegionId> iterations;
  std::vector<RegionId> tests;

  bool Any(const std::vector<bool>& regions) const {
    const auto is_one = [&](RegionId id) { return static_cast<bool>(regions[id]); };
    return std::ranges::any_of(iterations, is_one) || std::ranges::any_of(tests, is_one);
  }
};

// What the last test gave, where it can be told from what the one before gave: a value of the same
// place in the code.
std::optional<Payload> LastTest(const Trace& trace, const LoopRegions& loop) {
  const RegionId iteration = loop.iterations.back();
  const TensorId asked = trace.region(iteration).predicate;
  const OpId before = asked == kNoId ? kNoId : trace.tensor(asked).producer;
  if (before == kNoId) return std::nullopt;
  for (const OpId id : trace.OpsOfSite(trace.op(before).site)) {
    if (id <= before) continue;
    if (!IsInside(trace, id, iteration) && !IsInside(trace, id, loop.tests.back())) continue;
    const TensorId given = trace.op(id).outputs.first + trace.tensor(asked).output_index;
    if (trace.op(id).outputs.count <= trace.tensor(asked).output_index) continue;
    if (trace.tensor(given).state != PayloadState::kKept) continue;
    Result<Payload> value = trace.ReadTensor(given);
    if (value.ok()) return *std::move(value);
  }
  return std::nullopt;
}

void CheckLoopEnd(const Trace& trace, const LoopRegions& loop, const std::vector<bool>& open,
                  CheckResult& result) {
  const RegionRecord& region = trace.region(loop.iterations.front());
  const OpRecord& call = trace.op(region.op);
  const TraceInfo& info = trace.info();
  const bool ended_early = info.halted || info.interrupted || !info.error.empty();
  const bool cut_off = ended_early && call.outputs.count == 0 && loop.Any(open);
  if (call.error != 0 || cut_off) return;
  if (loop.tests.size() != loop.iterations.size() + 1) {
    result.failures.push_back(
        {"regions", region.op, trace.OpLabel(region.op),
         fmt::format("loop {} of {} has {} iterations and {} tests of its condition",
                     trace.str(region.name), trace.OpLabel(region.op), loop.iterations.size(),
                     loop.tests.size())});
    return;
  }
  const std::optional<Payload> last = LastTest(trace, loop);
  if (last && IsTrue(*last)) {
    Fail(trace, loop.tests.back(), result, "says that the loop goes on, and it does not");
  }
}

void CheckLoopEnds(const Trace& trace, CheckResult& result) {
  std::map<LoopKey, LoopRegions> loops;
  const auto& regions = trace.tables().regions;
  for (RegionId id = 0; id < regions.size(); ++id) {
    if (regions[id].op == kNoId || regions[id].kind != RegionKind::kIteration) continue;
    loops[{regions[id].parent, regions[id].name, regions[id].op}].iterations.push_back(id);
  }
  for (RegionId id = 0; id < regions.size(); ++id) {
    const std::string_view name = trace.str(regions[id].name);
    const bool is_test = regions[id].kind == RegionKind::kFunction && name.ends_with(":cond");
    if (regions[id].op == kNoId || !is_test) continue;
    const auto loop = trace.tables().strings.Find(name.substr(0, name.rfind(':')));
    const auto known = loop ? loops.find({regions[id].parent, *loop, regions[id].op}) : loops.end();
    if (known != loops.end()) known->second.tests.push_back(id);
  }
  const std::vector<bool> open = OpenAtTheEnd(trace);
  for (const auto& [key, loop] : loops) CheckLoopEnd(trace, loop, open, result);
}

}  // namespace

CheckResult CheckRegions(const Trace& trace) {
  CheckResult result;
  std::map<LoopKey, uint32_t> iterations;
  std::map<LoopKey, uint32_t> conditions;
  for (RegionId id = 0; id < trace.tables().regions.size(); ++id) {
    const RegionRecord& region = trace.region(id);
    ++result.num_checks;
    // What no op opened, such as a step of a training run, was asked for by the program.
    const bool was_chosen = region.op != kNoId && (region.kind == RegionKind::kBranch ||
                                                   region.kind == RegionKind::kIteration);
    if (was_chosen && region.predicate == kNoId) {
      result.unverified.push_back(About(trace, id, "has no predicate in the record"));
    }
    if (region.kind == RegionKind::kBranch) CheckBranch(trace, id, result);
    if (region.op == kNoId) continue;
    if (region.kind == RegionKind::kIteration) CheckIteration(trace, id, iterations, result);
    const bool is_condition =
        region.kind == RegionKind::kFunction && trace.str(region.name).ends_with(":cond");
    if (is_condition) CheckIteration(trace, id, conditions, result);
  }
  CheckNesting(trace, result);
  CheckPredicates(trace, result);
  CheckLoopEnds(trace, result);
  return result;
}

}  // namespace flowscope::replay
