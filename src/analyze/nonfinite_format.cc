#include <fmt/format.h>

#include "analyze/nonfinite.h"
#include "analyze/text.h"

namespace flowscope {
namespace {

constexpr size_t kMaxChainLines = 12;

std::string OpText(const Trace& trace, OpId id) {
  return fmt::format("{} ({})", trace.OpLabel(id), trace.str(trace.op(id).type));
}

std::string ValueText(const NonFiniteStep& step) {
  const bool scalar = step.element.empty();
  return scalar ? step.value : fmt::format("{} at {}", step.value, TupleText(step.element));
}

std::string CountsText(const Trace& trace, const NonFiniteStep& step) {
  const TensorRecord& tensor = trace.tensor(step.tensor);
  std::string text = fmt::format("NaN {}, +Inf {}, -Inf {}", step.nan, step.pos_inf, step.neg_inf);
  if (tensor.shape_known) {
    text += fmt::format(" of {}", Counted(NumElements(trace.dims(tensor.dims)), "element"));
  }
  return text;
}

void AddLine(std::string_view title, const std::string& text, std::string& out) {
  if (!text.empty()) out += fmt::format("  {:<8} {}\n", title, text);
}

void AddParents(const NonFiniteReport& report, std::string& out) {
  for (size_t i = 0; i < report.parents.size(); ++i) {
    const ParentValue& parent = report.parents[i];
    const std::string at = parent.element.empty() ? "" : fmt::format(", there {}", parent.element);
    AddLine(i == 0 ? "inputs" : "", fmt::format("{}  {}{}", parent.name, parent.glance, at), out);
  }
}

std::string StepText(const Trace& trace, const NonFiniteReport& report, const NonFiniteStep& step) {
  std::string text = fmt::format("{}  {}", OpText(trace, step.op), ValueText(step));
  if (step.op == report.first_nan) text += "  <- first NaN";
  return text;
}

// The first NaN stays visible however long the chain is.
void AddChain(const Trace& trace, const NonFiniteReport& report, std::string& out) {
  AddLine("reaches", Counted(static_cast<int64_t>(report.chain.size()), "later op"), out);
  size_t hidden = 0;
  for (size_t i = 0; i < report.chain.size(); ++i) {
    const bool is_last = i + 1 == report.chain.size();
    if (i >= kMaxChainLines && report.chain[i].op != report.first_nan && !is_last) {
      ++hidden;
      continue;
    }
    if (hidden > 0) out += fmt::format("    ... {} more\n", hidden);
    hidden = 0;
    out += fmt::format("    {}\n", StepText(trace, report, report.chain[i]));
  }
}

}  // namespace

std::string FormatNothingFound(const NonFiniteSearch& search) {
  std::string text = fmt::format("no NaN and no infinity in {}", Counted(search.scanned, "value"));
  if (search.skipped > 0) text += fmt::format("; {} not kept", Counted(search.skipped, "value"));
  return text;
}

std::string FormatNonFinite(const Trace& trace, const NonFiniteReport& report) {
  const NonFiniteStep& first = report.first;
  std::string out = fmt::format("first non-finite value: {} in {}, {}\n", ValueText(first),
                                OpText(trace, first.op), TensorText(trace, first.tensor));
  AddLine("cause", report.cause, out);
  AddLine("layer", ModuleCallText(trace, first.op), out);
  AddLine("region", trace.RegionPath(trace.op(first.op).region), out);
  AddLine("line", LocationText(trace, first.op, true), out);
  AddLine("counts", CountsText(trace, first), out);
  AddParents(report, out);
  AddChain(trace, report, out);
  if (report.first_nan == first.op) {
    AddLine("NaN", "begins at the same op", out);
  } else if (report.first_nan == kNoId) {
    AddLine("NaN", "none: only infinities", out);
  } else {
    AddLine("NaN",
            fmt::format("begins in {}: {}", OpText(trace, report.first_nan), report.nan_cause),
            out);
  }
  std::string seen = Counted(report.scanned, "tensor") + " looked at";
  if (report.skipped > 0) seen += fmt::format(", {} without a kept value", report.skipped);
  AddLine("seen", seen, out);
  return out;
}

}  // namespace flowscope
