// The printed forms of single records.
#include <algorithm>

#include <fmt/format.h>

#include "analyze/cost.h"
#include "analyze/record_lines.h"
#include "analyze/summary.h"
#include "analyze/summary_footer.h"
#include "analyze/text.h"
#include "analyze/text_table.h"
#include "analyze/trace_facts.h"
#include "base/units.h"
#include "trace/attrs.h"

namespace flowscope {
namespace {

constexpr size_t kMaxAttrWidth = 40;

// "a, b, c, ... 4 more".
template <typename Items, typename Format>
std::string Listed(const Items& items, Format format) {
  std::string text;
  size_t shown = 0;
  for (const auto& item : items) {
    if (shown == kMaxListedParts) return text + fmt::format(", ... {} more", items.size() - shown);
    text += (shown++ > 0 ? ", " : "") + format(item);
  }
  return text;
}

std::string PassText(const Trace& trace, OpId id) {
  const uint32_t passes = trace.site(trace.op(id).site).num_passes;
  return passes > 1 ? fmt::format("pass {} of {}", trace.op(id).pass, passes) : "";
}

// "/job:localhost/replica:0/task:0/device:CPU:0" is "CPU:0".
std::string DeviceText(std::string_view device) {
  constexpr std::string_view kMark = "device:";
  const size_t at = device.rfind(kMark);
  return std::string(at == device.npos ? device : device.substr(at + kMark.size()));
}

std::string OutputsText(const Trace& trace, OpId id) {
  const OpRecord& op = trace.op(id);
  if (op.error != 0) return "failed";
  if (op.outputs.count == 0) return "no output";
  std::string first = GlanceText(trace, trace.output(id));
  return op.outputs.count == 1
             ? first
             : fmt::format("{} +{}", first, Counted(op.outputs.count - 1, "output"));
}

std::string LiteralText(const Trace& trace, TensorId tensor) {
  const Result<Payload> value = trace.ReadTensor(tensor);
  const bool shown = value.ok() && value->num_elements() == 1;
  return shown ? "literal " + FormatElement(*value, 0) : "literal";
}

std::string VariableVersionText(const Trace& trace, const AccessRecord& access) {
  return fmt::format("{} v{}", trace.str(trace.variable(access.variable).address), access.version);
}

// Where each input comes from; variables are told by their accesses.
Parts InputTexts(const Trace& trace, OpId id) {
  Parts texts;
  for (const EdgeRecord& edge : trace.inputs(id)) {
    if (edge.edge_class == EdgeClass::kVariable) continue;
    const bool made_here = edge.tensor != kNoId && trace.tensor(edge.tensor).producer != kNoId;
    if (made_here) {
      texts.push_back(trace.OpLabel(trace.tensor(edge.tensor).producer));
    } else if (edge.tensor != kNoId && edge.edge_class == EdgeClass::kLiteral) {
      texts.push_back(LiteralText(trace, edge.tensor));
    } else {
      texts.emplace_back(EdgeClassName(edge.edge_class));
    }
  }
  for (const AccessRecord& access : trace.AccessesOfOp(id)) {
    texts.push_back((access.write ? "writes " : "reads ") + VariableVersionText(trace, access));
  }
  return texts;
}

std::string SourceNameText(const Trace& trace, OpId id) {
  const OpRecord& op = trace.op(id);
  return IsSource(op.kind) && op.name != 0 ? fmt::format("name {}", trace.str(op.name)) : "";
}

Parts WhereParts(const Trace& trace, OpId id) {
  const std::string region = trace.RegionPath(trace.op(id).region);
  return {SourceNameText(trace, id), ModuleCallText(trace, id),
          region.empty() ? "" : "in " + region, PassText(trace, id), LocationText(trace, id, true)};
}

std::string GraphText(const Trace& trace, OpId id) {
  const auto same = [](const std::string& text) { return text; };
  const std::string from = Listed(InputTexts(trace, id), same);
  const std::string to =
      Listed(trace.Children(id), [&](OpId child) { return trace.OpLabel(child); });
  return fmt::format("{} -> this -> {}", from.empty() ? "nothing" : from,
                     to.empty() ? "nothing" : to);
}

Parts CostParts(const Cost& cost, std::optional<int64_t> flops, int64_t duration_ns) {
  return {flops ? Counted(*flops, "FLOP") : "FLOPs ?", "reads " + BytesText(cost.bytes_read),
          "writes " + BytesText(cost.bytes_written), FormatDuration(duration_ns)};
}

Parts OpCostParts(const Trace& trace, OpId id) {
  const OpRecord& op = trace.op(id);
  if (IsSource(op.kind)) return {};
  Parts parts = CostParts(OpCost(trace, id), OpFlops(trace, id), op.duration_ns);
  parts.push_back(DeviceText(trace.str(op.device)));
  return parts;
}

// Without the word that says which kind of attribute a type or shape is.
std::string AttrText(const std::string& name, const std::string& value) {
  std::string text = FormatAttr(value);
  for (const std::string_view prefix : {"type: ", "shape: "}) {
    if (text.starts_with(prefix)) text = text.substr(prefix.size());
  }
  return fmt::format("{}={}", name, Shorten(text, kMaxAttrWidth));
}

Parts AttrParts(const Trace& trace, OpId id) {
  Parts parts;
  const auto attrs = SplitAttrs(trace.tables().attrs.View(trace.op(id).attrs));
  if (!attrs.ok()) return {attrs.status().message()};
  for (const auto& [name, value] : *attrs) {
    if (!name.starts_with('_')) parts.push_back(AttrText(name, value));
  }
  return parts;
}

std::string KindText(const Trace& trace, OpId id) {
  const OpRecord& op = trace.op(id);
  const std::string_view kind = OpKindName(op.kind);
  const std::string_view type = trace.str(op.type);
  const bool told = op.kind == OpKind::kCompute || kind == type;
  return told ? std::string(type) : fmt::format("{}, {}", type, kind);
}

std::string TextOf(const Trace& trace, StringId id) { return std::string(trace.str(id)); }

std::string PassLine(const Trace& trace, OpId id) {
  return fmt::format("  :{:<8} {}\n", trace.op(id).pass, OutputsText(trace, id));
}

std::string PassesText(const Trace& trace, SiteId site) {
  const auto ops = trace.OpsOfSite(site);
  std::string text;
  for (size_t i = 0; i < std::min(ops.size(), kMaxListedParts); ++i)
    text += PassLine(trace, ops[i]);
  if (ops.size() > kMaxListedParts) {
    text += fmt::format("  ... {} more\n",
                        FormatCount(static_cast<int64_t>(ops.size() - kMaxListedParts)));
  }
  return text;
}

}  // namespace

std::string DescribeOp(const Trace& trace, OpId id) {
  const OpRecord& op = trace.op(id);
  return fmt::format("{} [{}] -> {}\n", trace.OpLabel(id), KindText(trace, id),
                     OutputsText(trace, id)) +
         RecordLine("where", WhereParts(trace, id)) + RecordLine("graph", {GraphText(trace, id)}) +
         RecordLine("cost", OpCostParts(trace, id)) + RecordLine("attrs", AttrParts(trace, id)) +
         RecordLine("opaque", {TextOf(trace, op.opaque_reason)}) +
         RecordLine("error", {TextOf(trace, op.error)});
}

std::string DescribeLayer(const Trace& trace, SiteId site) {
  const auto ops = trace.OpsOfSite(site);
  if (ops.size() == 1) return DescribeOp(trace, ops.front());
  const CostIndex costs(trace);
  Cost cost;
  int64_t duration_ns = 0;
  for (const OpId id : ops) {
    cost += costs.OfOp(id);
    duration_ns += trace.op(id).duration_ns;
  }
  const bool known = cost.ops_without_formula == 0;
  const std::string_view region = trace.str(trace.site(site).region_path);
  return fmt::format("{} [{}] {} passes\n", trace.LayerLabel(site),
                     trace.str(trace.site(site).type),
                     FormatCount(static_cast<int64_t>(ops.size()))) +
         PassesText(trace, site) +
         RecordLine("where", {TextOf(trace, trace.site(site).module_address),
                              region.empty() ? "" : "in " + std::string(region),
                              ops.empty() ? "" : LocationText(trace, ops.front(), true)}) +
         RecordLine("cost",
                    CostParts(cost, known ? std::optional(cost.flops) : std::nullopt, duration_ns));
}

}  // namespace flowscope
