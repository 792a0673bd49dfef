#include "analyze/nonfinite.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_set>

#include "analyze/cost.h"
#include "analyze/nonfinite_cause.h"
#include "analyze/nonfinite_scan.h"

namespace flowscope {
namespace {

// For every op the last op that started inside it, itself where nothing did.
std::vector<OpId> LastInside(const Trace& trace) {
  std::vector<OpId> last(trace.num_ops());
  std::iota(last.begin(), last.end(), OpId{0});
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    for (RegionId region = trace.op(id).region; region != kNoId;
         region = trace.region(region).parent) {
      const OpId opened_by = trace.region(region).op;
      if (opened_by != kNoId) last[opened_by] = std::max(last[opened_by], id);
    }
  }
  return last;
}

// Ops in the order in which they ended, so that the inside of an op comes before the op. Rows are
// in the order of starts; where times say nothing (a trace without them), the regions do.
std::vector<OpId> OrderOfEnds(const Trace& trace) {
  const std::vector<OpId> last_inside = LastInside(trace);
  std::vector<OpId> order(trace.num_ops());
  std::iota(order.begin(), order.end(), OpId{0});
  const auto key = [&](OpId id) {
    const int64_t end = trace.op(id).start_ns + trace.op(id).duration_ns;
    return std::make_tuple(end, last_inside[id], ~id);
  };
  std::sort(order.begin(), order.end(), [&](OpId a, OpId b) { return key(a) < key(b); });
  return order;
}

class Finder {
 public:
  Finder(const Trace& trace, const NonFiniteScan& scan)
      : trace_(trace), scan_(scan), touched_(trace.num_ops(), false) {
    for (const VersionRecord& version : trace.tables().versions) {
      version_values_[{version.variable, version.index}] = version.value;
    }
  }

  NonFiniteReport Find() {
    NonFiniteReport report;
    report.scanned = scan_.scanned;
    report.skipped = scan_.skipped;
    const std::vector<OpId> order = OrderOfEnds(trace_);
    for (const OpId id : order) Visit(id, report);
    if (report.first.op == kNoId) FindTaker(order, report);
    if (report.first.op == kNoId) return report;
    report.parents = ParentsOf(trace_, report.first);
    report.cause = ExplainNonFinite(trace_, scan_, report.first);
    if (first_nan_ && first_nan_->op != report.first.op) {
      report.nan_cause = ExplainNonFinite(trace_, scan_, *first_nan_);
    }
    return report;
  }

 private:
  bool IsBad(TensorId tensor) const { return scan_.bad.contains(tensor); }

  TensorId ValueOf(const AccessRecord& access) const {
    const auto it = version_values_.find({access.variable, access.version});
    return it == version_values_.end() ? kNoId : it->second;
  }

  // Tensors that the op gave: outputs, then values that it wrote to variables.
  std::vector<TensorId> Given(OpId id) const {
    std::vector<TensorId> given;
    for (uint32_t i = 0; i < trace_.op(id).outputs.count; ++i) {
      given.push_back(trace_.output(id, i));
    }
    for (const AccessRecord& access : trace_.AccessesOfOp(id)) {
      if (access.write) given.push_back(ValueOf(access));
    }
    return given;
  }

  std::vector<TensorId> Taken(OpId id) const {
    std::vector<TensorId> taken;
    for (const EdgeRecord& edge : trace_.inputs(id)) taken.push_back(edge.tensor);
    for (const AccessRecord& access : trace_.AccessesOfOp(id)) {
      if (!access.write) taken.push_back(ValueOf(access));
    }
    return taken;
  }

  // The first of them that is bad; with `nan`, the first that holds a NaN.
  TensorId FirstBad(const std::vector<TensorId>& tensors, bool nan) const {
    for (const TensorId tensor : tensors) {
      const auto it = scan_.bad.find(tensor);
      if (it != scan_.bad.end() && (!nan || it->second.nan > 0)) return tensor;
    }
    return kNoId;
  }

  // A bad value that no op of the run made: a literal, or a variable's value from before it.
  TensorId BadFromOutside(OpId id) const {
    for (const TensorId tensor : Taken(id)) {
      if (tensor == kNoId || trace_.tensor(tensor).producer != kNoId) continue;
      if (IsBad(tensor)) return tensor;
    }
    return kNoId;
  }

  void Visit(OpId id, NonFiniteReport& report) {
    const std::vector<TensorId> given = Given(id);
    const TensorId bad = FirstBad(given, false);
    if (bad == kNoId) return;
    const bool is_first = report.first.op == kNoId;
    const bool reached = is_first || IsReached(id);
    const TensorId nan = report.first_nan == kNoId ? FirstBad(given, true) : kNoId;
    if (!reached && nan == kNoId) return;

    if (nan != kNoId) {
      report.first_nan = id;
      first_nan_ = MakeStep(id, nan, true);
    }
    if (reached) Reach(id, given, is_first);
    if (is_first) {
      report.first = MakeStep(id, bad, false);
    } else {
      report.chain.push_back(nan != kNoId ? *first_nan_ : MakeStep(id, bad, false));
    }
  }

  // Where all that ops gave is finite: the first op that took a bad value and did not pass it on.
  void FindTaker(const std::vector<OpId>& order, NonFiniteReport& report) const {
    for (const OpId id : order) {
      const TensorId bad = BadFromOutside(id);
      if (bad == kNoId) continue;
      report.first = MakeStep(id, bad, false);
      return;
    }
  }

  bool IsReached(OpId id) const {
    if (touched_[id]) return true;
    const std::vector<TensorId> taken = Taken(id);
    return std::any_of(taken.begin(), taken.end(),
                       [&](TensorId tensor) { return reached_.contains(tensor); });
  }

  void Reach(OpId id, const std::vector<TensorId>& given, bool is_first) {
    for (const TensorId tensor : given) {
      if (IsBad(tensor)) reached_.insert(tensor);
    }
    // Who else takes the same bad value from outside suffers from the same cause.
    const TensorId outside = is_first ? BadFromOutside(id) : kNoId;
    if (outside != kNoId) reached_.insert(outside);
    for (RegionId region = trace_.op(id).region; region != kNoId;
         region = trace_.region(region).parent) {
      const OpId opened_by = trace_.region(region).op;
      if (opened_by != kNoId) touched_[opened_by] = true;
    }
  }

  // `nan`: at the first NaN, not at the first bad element.
  NonFiniteStep MakeStep(OpId id, TensorId tensor, bool nan) const {
    const BadTensor& bad = scan_.bad.at(tensor);
    NonFiniteStep step{id, tensor, {}, "", bad.nan, bad.pos_inf, bad.neg_inf};
    step.value = bad.nan > 0 ? "nan" : bad.pos_inf > 0 ? "inf" : "-inf";
    const Result<Payload> payload = trace_.ReadTensor(tensor);
    if (!payload.ok()) return step;
    const std::optional<NonFinite> found = LocateNonFinite(*payload, bad, nan);
    if (!found) return step;
    step.element = Unravel(found->index, payload->dims);
    step.value = found->kind == NonFiniteKind::kNan      ? "nan"
                 : found->kind == NonFiniteKind::kPosInf ? "inf"
                                                         : "-inf";
    return step;
  }

  const Trace& trace_;
  const NonFiniteScan& scan_;
  std::map<std::pair<VariableId, uint32_t>, TensorId> version_values_;
  std::unordered_set<TensorId> reached_;
  std::vector<bool> touched_;  // by op: bad values came up inside it
  std::optional<NonFiniteStep> first_nan_;
};

NonFiniteSearch Search(const Trace& trace, int threads) {
  const NonFiniteScan scan = ScanForNonFinite(trace, threads);
  NonFiniteSearch search{std::nullopt, scan.scanned, scan.skipped};
  if (scan.bad.empty()) return search;
  NonFiniteReport report = Finder(trace, scan).Find();
  if (report.first.op != kNoId) search.report = std::move(report);
  return search;
}

// Of what ops gave: sources are kept whatever save= says.
bool AnyValueKept(const Trace& trace) {
  bool any_lost = false;
  for (const TensorRecord& tensor : trace.tables().tensors) {
    const bool given = tensor.producer != kNoId && !IsSource(trace.op(tensor.producer).kind);
    if (!given || (!IsFloating(tensor.dtype) && !IsComplex(tensor.dtype))) continue;
    if (tensor.state == PayloadState::kKept || tensor.state == PayloadState::kStats) return true;
    any_lost |= tensor.state == PayloadState::kNotKept;
  }
  return !any_lost;
}

}  // namespace

std::optional<NonFiniteReport> FindFirstNonFinite(const Trace& trace, int threads) {
  return Search(trace, threads).report;
}

Result<NonFiniteSearch> SearchNonFinite(const Trace& trace, int threads) {
  NonFiniteSearch search = Search(trace, threads);
  if (search.report || AnyValueKept(trace)) return search;
  return Unavailable(
      "no value was kept, so nothing can be said about NaN or Inf; record again with save=\"all\", "
      "or with keep=\"stats\" where memory is short");
}

}  // namespace flowscope
