#include "analyze/summary_footer.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analyze/record_lines.h"
#include "analyze/summary.h"
#include "analyze/text.h"
#include "analyze/text_table.h"
#include "analyze/trace_facts.h"
#include "base/units.h"

namespace flowscope {
namespace {

constexpr size_t kFooterColumn = 9;
constexpr size_t kMaxInputs = 4;
constexpr size_t kMaxTypes = 4;

std::string FooterLine(std::string_view title, const Parts& parts, bool color) {
  std::string text = TitledLine(title, parts, kFooterColumn, kSummaryWidth);
  if (!text.starts_with(title)) return text;
  return Emphasize(std::string(title), Emphasis::kStrong, color) + text.substr(title.size());
}

std::string CountOrUnknown(const std::optional<int64_t>& count) {
  return count ? FormatCount(*count) : "?";
}

Parts InputParts(const Trace& trace) {
  Parts parts;
  size_t more = 0;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const OpRecord& op = trace.op(id);
    if (op.kind != OpKind::kInput || op.outputs.count == 0) continue;
    if (parts.size() == kMaxInputs) {
      ++more;
      continue;
    }
    parts.push_back(fmt::format("{}: {}", trace.str(op.name), TensorText(trace, trace.output(id))));
  }
  if (more > 0) parts.push_back(fmt::format("{} more inputs", more));
  return parts;
}

// The training flag that the root's first call really got.
std::string TrainingText(const Trace& trace) {
  const ModuleId root = RootModule(trace);
  if (root == kNoId || trace.CallsOfModule(root).empty()) return "";
  const StringId training = trace.module_call(trace.CallsOfModule(root).front()).training;
  return training == 0 ? "" : fmt::format("training={}", trace.str(training));
}

Parts Warnings(const Trace& trace) {
  const TraceInfo& info = trace.info();
  const int64_t unexplained = trace.CountEdges()[static_cast<size_t>(EdgeClass::kUnexplained)];
  Parts warnings;
  if (!info.error.empty()) warnings.push_back("the model raised: " + info.error);
  if (info.halted) warnings.push_back("halted on request: later ops did not run");
  if (info.interrupted) warnings.push_back("interrupted: later ops are missing");
  if (!info.degraded.empty()) warnings.push_back("degraded: " + info.degraded);
  if (unexplained > 0) warnings.push_back(Counted(unexplained, "input") + " unexplained");
  return warnings;
}

// Lines of a message break the layout; the first one says most.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::map<std::string, int64_t> TypesWithoutFormula(const Trace& trace, const CostIndex& costs) {
  std::map<std::string, int64_t> types;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const int64_t count = costs.OfOp(id).ops_without_formula;
    if (count > 0) types[std::string(trace.str(trace.op(id).type))] += count;
  }
  return types;
}

Parts ParamParts(const Trace& trace) {
  const ParamCounts counts = CountParams(trace);
  std::string frozen = "?";
  if (counts.total && counts.trainable) frozen = FormatCount(*counts.total - *counts.trainable);
  return {CountOrUnknown(counts.total) + " total", CountOrUnknown(counts.trainable) + " trainable",
          frozen + " frozen", counts.nbytes.value_or(0) > 0 ? BytesText(*counts.nbytes) : ""};
}

Parts ComputeParts(const Trace& trace, const CostIndex& costs) {
  const Cost total = costs.Total();
  Parts parts = {
      fmt::format("{} FLOPs by formula (a multiply-add is 2)", FormatCountShort(total.flops))};
  if (total.ops_without_formula == 0) {
    parts.push_back(total.ops > 0 ? "every op has a formula" : "");
    return parts;
  }
  parts.push_back(fmt::format("{} of {} without a formula: {}",
                              FormatCount(total.ops_without_formula), Counted(total.ops, "op"),
                              TopCounts(TypesWithoutFormula(trace, costs), kMaxTypes)));
  return parts;
}

Parts MemoryParts(const Trace& trace, const CostIndex& costs) {
  const MemoryFacts facts = CountMemory(trace, costs);
  Parts parts = {
      fmt::format("{} in {}", BytesText(facts.nbytes), Counted(facts.activations, "activation")),
      BytesText(facts.kept_nbytes) + " kept"};
  if (facts.stats_only > 0) parts.push_back(FormatCount(facts.stats_only) + " as statistics only");
  if (facts.not_kept > 0) parts.push_back(FormatCount(facts.not_kept) + " not kept");
  if (facts.largest == kNoId) return parts;
  const TensorRecord& largest = trace.tensor(facts.largest);
  parts.push_back(
      fmt::format("largest {} {}", BytesText(largest.nbytes), trace.OpLabel(largest.producer)));
  return parts;
}

std::string OpKinds(const Trace& trace) {
  std::map<std::string, int64_t> kinds;
  for (const OpRecord& op : trace.tables().ops) ++kinds[std::string(OpKindName(op.kind))];
  return CountsText(kinds);
}

std::string EdgeClasses(const Trace& trace) {
  const auto counts = trace.CountEdges();
  std::map<std::string, int64_t> classes;
  int64_t total = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    if (counts[i] > 0) classes[std::string(EdgeClassName(static_cast<EdgeClass>(i)))] = counts[i];
  }
  std::string text = Counted(total, "edge");
  if (total > 0) text += " from " + CountsText(classes);
  return text;
}

std::string Regions(const Trace& trace) {
  std::map<std::string, int64_t> kinds;
  for (const RegionRecord& region : trace.tables().regions) {
    if (region.kind != RegionKind::kRoot) ++kinds[std::string(RegionKindName(region.kind))];
  }
  return kinds.empty() ? "" : "regions: " + CountsText(kinds);
}

std::string OpaqueCalls(const Trace& trace) {
  int64_t count = 0;
  std::string first;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    if (trace.op(id).opaque_reason == 0) continue;
    if (count++ == 0) {
      first = fmt::format("{}: {}", trace.OpLabel(id), trace.str(trace.op(id).opaque_reason));
    }
  }
  return count == 0 ? "" : fmt::format("{} ({})", Counted(count, "opaque op"), first);
}

std::string Modules(const Trace& trace) {
  int64_t called = RootIsCalled(trace) ? 1 : 0;
  for (ModuleId id = 0; id < trace.tables().modules.size(); ++id) {
    called += trace.CallsOfModule(id).empty() ? 0 : 1;
  }
  const auto all = static_cast<int64_t>(trace.tables().modules.size());
  if (all == 0) return "";
  return Counted(all, "module") +
         (called < all ? fmt::format(", {} not called", FormatCount(all - called)) : "");
}

Parts GraphParts(const Trace& trace) {
  return {Counted(static_cast<int64_t>(trace.num_ops()), "op") + ": " + OpKinds(trace),
          EdgeClasses(trace), Modules(trace), Regions(trace), OpaqueCalls(trace)};
}

Parts CaptureParts(const Trace& trace) {
  const TraceInfo& info = trace.info();
  Parts parts = {info.recorder.empty() ? "recorder ?" : info.recorder,
                 "TensorFlow " + (info.tensorflow_version.empty() ? "?" : info.tensorflow_version),
                 info.keras_version.empty() ? "" : "Keras " + info.keras_version,
                 FormatDuration(info.duration_ns), info.asynchronous ? "asynchronous" : ""};
  const bool whole = info.notes.empty() && Warnings(trace).empty();
  if (whole) parts.push_back("nothing missing");
  for (const std::string& note : info.notes) parts.push_back(FirstLine(note));
  return parts;
}

std::string Title(const Trace& trace) {
  const TraceInfo& info = trace.info();
  const std::string kind = info.root_kind.empty() ? "?" : info.root_kind;
  const bool named =
      !info.root_class.empty() && info.root_class != info.name && info.root_class != info.root_kind;
  return named ? fmt::format("{} ({}), {}", info.name, info.root_class, kind)
               : fmt::format("{}, {}", info.name, kind);
}

}  // namespace

std::string SummaryHeader(const Trace& trace, bool color) {
  Parts parts = InputParts(trace);
  parts.push_back(TrainingText(trace));
  parts.insert(parts.begin(), Title(trace));
  std::string text = TitledLine("", parts, 0, kSummaryWidth);
  const std::string title = Title(trace);
  text = Emphasize(title, Emphasis::kStrong, color) + text.substr(title.size());
  for (const std::string& warning : Warnings(trace)) {
    const std::string line = Shorten("!! " + FirstLine(warning), kSummaryWidth);
    text += Emphasize(line, Emphasis::kStrong, color) + "\n";
  }
  return text;
}

std::string SummaryFooter(const Trace& trace, const CostIndex& costs, bool color) {
  return FooterLine("Params", ParamParts(trace), color) +
         FooterLine("Compute", ComputeParts(trace, costs), color) +
         FooterLine("Memory", MemoryParts(trace, costs), color) +
         FooterLine("Graph", GraphParts(trace), color) +
         FooterLine("Capture", CaptureParts(trace), color);
}

std::string OneLine(const Trace& trace) {
  const TraceInfo& info = trace.info();
  Parts parts = {Counted(static_cast<int64_t>(trace.num_ops()), "op")};
  const auto modules = static_cast<int64_t>(trace.tables().modules.size());
  if (modules > 0) parts.push_back(Counted(modules, "module"));
  const ParamCounts params = CountParams(trace);
  if (params.total && *params.total > 0) parts.push_back(Counted(*params.total, "parameter"));
  parts.push_back(FormatDuration(info.duration_ns));
  const Parts warnings = Warnings(trace);
  const bool whole = warnings.empty() && info.notes.empty();
  if (whole) parts.push_back("nothing missing");
  for (const std::string& warning : warnings) parts.push_back(FirstLine(warning));
  if (!info.notes.empty()) {
    parts.push_back(Counted(static_cast<int64_t>(info.notes.size()), "note"));
  }
  return fmt::format("{} trace '{}': {}", info.root_kind.empty() ? "?" : info.root_kind, info.name,
                     JoinParts(parts, ", "));
}

}  // namespace flowscope
