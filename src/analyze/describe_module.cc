// The printed forms of modules, module calls and variables.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analyze/cost.h"
#include "analyze/record_lines.h"
#include "analyze/summary.h"
#include "analyze/summary_footer.h"
#include "analyze/text.h"
#include "analyze/text_table.h"
#include "analyze/trace_facts.h"
#include "base/units.h"
#include "trace/lookup_hints.h"

namespace flowscope {
namespace {

// Cuts what is too long to list.
Parts Some(Parts parts) {
  if (parts.size() <= kMaxListedParts) return parts;
  const size_t more = parts.size() - kMaxListedParts;
  parts.resize(kMaxListedParts);
  parts.push_back(fmt::format("... {} more", more));
  return parts;
}

Parts Aliases(const Trace& trace, Span addresses) {
  Parts aliases;
  for (uint32_t i = 1; i < addresses.count; ++i) {
    aliases.emplace_back(trace.str(trace.tables().string_lists[addresses.first + i]));
  }
  return aliases;
}

Parts Named(const Trace& trace, Span span) {
  Parts parts;
  for (uint32_t i = 0; i < span.count; ++i) {
    const NamedTensor& named = trace.tables().named_tensors[span.first + i];
    parts.push_back(fmt::format("{}: {}", trace.str(named.path), TensorText(trace, named.tensor)));
  }
  return parts;
}

std::string ShapeOf(const Trace& trace, const VariableRecord& variable) {
  const std::string shape = variable.shape_known ? TupleText(trace.dims(variable.dims)) : "?";
  return fmt::format("{} {}", DTypeName(variable.dtype), shape);
}

Parts VariableParts(const Trace& trace, Span variables) {
  Parts parts;
  for (uint32_t i = 0; i < variables.count; ++i) {
    const VariableRecord& variable =
        trace.variable(trace.tables().variable_lists[variables.first + i]);
    parts.push_back(fmt::format("{} {}", trace.str(variable.address), ShapeOf(trace, variable)));
  }
  return parts;
}

Parts ChildParts(const Trace& trace, ModuleId id) {
  Parts parts;
  for (const ModuleRecord& module : trace.tables().modules) {
    if (module.parent != id) continue;
    parts.push_back(
        fmt::format("{} ({})", trace.str(module.address), trace.str(module.class_name)));
  }
  return parts;
}

Parts CallParts(const Trace& trace, ModuleId id) {
  Parts parts;
  for (const ModuleCallId call : trace.CallsOfModule(id)) {
    const ModuleCallRecord& record = trace.module_call(call);
    const std::string training =
        record.training == 0 ? "" : fmt::format(" training={}", trace.str(record.training));
    parts.push_back(fmt::format("{}{} {}{}", trace.CallLabel(call), training,
                                FormatDuration(record.duration_ns),
                                record.failed ? " failed" : ""));
  }
  return parts;
}

Parts CostParts(const Cost& cost, int64_t duration_ns) {
  if (cost.ops == 0) return {FormatDuration(duration_ns)};
  std::string unknown;
  if (cost.ops_without_formula > 0) {
    unknown = fmt::format("{} of {} without a formula", cost.ops_without_formula,
                          Counted(cost.ops, "op"));
  }
  return {Counted(cost.flops, "FLOP"), unknown, "reads " + BytesText(cost.bytes_read),
          "writes " + BytesText(cost.bytes_written), FormatDuration(duration_ns)};
}

Cost CallCost(const Trace& trace, ModuleCallId call) {
  const CostIndex costs(trace);
  const ModuleCallRecord& record = trace.module_call(call);
  Cost cost;
  for (OpId id = record.first_op; id < record.end_op; ++id) {
    if (trace.InModuleCall(id, call)) cost += costs.OfOp(id);
  }
  return cost;
}

// "mask=None, training=True" without an entry that is told beside it.
std::string WithoutEntry(std::string list, const std::string& entry) {
  constexpr std::string_view kBetween = ", ";
  for (size_t at = list.find(entry); !entry.empty() && at != std::string::npos;
       at = list.find(entry, at + 1)) {
    const size_t end = at + entry.size();
    const bool begins = at == 0 || list.substr(0, at).ends_with(kBetween);
    const bool ends = end == list.size() || list.substr(end).starts_with(kBetween);
    if (!begins || !ends) continue;
    const bool last = end == list.size();
    const size_t from = last && at > 0 ? at - kBetween.size() : at;
    return list.erase(from, (last ? end : end + kBetween.size()) - from);
  }
  return list;
}

std::string CallOutput(const Trace& trace, const ModuleCallRecord& call) {
  if (call.failed) return "failed";
  if (call.outputs.count == 0) return "?";
  std::string first = GlanceText(trace, trace.tables().named_tensors[call.outputs.first].tensor);
  if (call.outputs.count == 1) return first;
  return fmt::format("{} +{}", first, Counted(call.outputs.count - 1, "output"));
}

// The ops that read or wrote each version, and by whom it was made.
Parts VersionParts(const Trace& trace, VariableId id) {
  Parts parts;
  for (const VersionRecord& version : trace.VersionsOfVariable(id)) {
    std::string text = fmt::format("v{}", version.index);
    if (version.writer != kNoId) {
      text += fmt::format(" by {}", trace.OpLabel(version.writer));
    } else {
      text += version.index == 0 ? " from before the run" : " from outside this run";
    }
    if (version.value != kNoId) text += " " + GlanceText(trace, version.value);
    parts.push_back(std::move(text));
  }
  return parts;
}

Parts AccessParts(const Trace& trace, VariableId id, bool write) {
  Parts parts;
  for (const AccessRecord& access : trace.tables().accesses) {
    if (access.variable == id && access.write == write) parts.push_back(trace.OpLabel(access.op));
  }
  return parts;
}

// What nobody declared is only known by its handle.
const char* TrainableText(const VariableRecord& variable) {
  if (variable.trainable) return "trainable";
  return variable.module == kNoId ? "owner not known" : "not trainable";
}

std::string LatestGlance(const Trace& trace, VariableId id) {
  const std::vector<VersionRecord> versions = trace.VersionsOfVariable(id);
  const bool known = !versions.empty() && versions.back().value != kNoId;
  return known ? GlanceText(trace, versions.back().value) : ShapeOf(trace, trace.variable(id));
}

}  // namespace

std::string DescribeModule(const Trace& trace, ModuleId id) {
  const ModuleRecord& module = trace.module(id);
  const auto calls = trace.CallsOfModule(id);
  const Cost cost = ModuleCost(trace, id);
  std::vector<Span> outputs;
  for (const ModuleCallId call : calls) outputs.push_back(trace.module_call(call).outputs);
  std::string text =
      fmt::format("{} [module] -> {}, {}, {}, {} ({} trainable)\n", trace.str(module.address),
                  trace.str(module.class_name), Counted(static_cast<int64_t>(calls.size()), "call"),
                  Counted(cost.ops, "op"), Counted(module.num_params, "parameter"),
                  FormatCount(module.num_trainable_params));
  return text + RecordLine("also", Some(Aliases(trace, module.addresses))) +
         RecordLine("calls", Some(CallParts(trace, id))) +
         RecordLine("output", {calls.empty() ? "" : CallsOutputText(trace, outputs)}) +
         RecordLine("holds", Some(VariableParts(trace, module.variables))) +
         RecordLine("children", Some(ChildParts(trace, id))) +
         RecordLine("not run", {calls.empty() ? NotRunHint(trace, id) : ""}) +
         RecordLine("cost", calls.empty() ? Parts{} : CostParts(cost, ModuleDuration(trace, id)));
}

std::string DescribeModuleCall(const Trace& trace, ModuleCallId id) {
  const ModuleCallRecord& call = trace.module_call(id);
  const std::string training =
      call.training == 0 ? "" : fmt::format("training={}", trace.str(call.training));
  const std::string given = WithoutEntry(std::string(trace.str(call.kwargs)), training);
  const std::string region = trace.RegionPath(call.region);
  const Cost cost = CallCost(trace, id);
  return fmt::format("{} [call of {}] -> {}\n", trace.CallLabel(id),
                     trace.str(trace.module(call.module).class_name), CallOutput(trace, call)) +
         RecordLine("where",
                    {call.parent == kNoId ? "" : "in " + trace.CallLabel(call.parent),
                     region.empty() ? "" : "in " + region, std::string(trace.str(call.method))}) +
         RecordLine("inputs", Some(Named(trace, call.inputs))) +
         RecordLine("args", {training, given}) +
         RecordLine("outputs", Some(Named(trace, call.outputs))) +
         RecordLine("ops", {Counted(cost.ops, "op")}) +
         RecordLine("cost", CostParts(cost, call.duration_ns));
}

std::string DescribeVariable(const Trace& trace, VariableId id) {
  const VariableRecord& variable = trace.variable(id);
  const Parts versions = VersionParts(trace, id);
  return fmt::format("{} [variable] -> {}, {}\n", trace.str(variable.address),
                     LatestGlance(trace, id), TrainableText(variable)) +
         RecordLine("also", Some(Aliases(trace, variable.addresses))) +
         RecordLine("name", {std::string(trace.str(variable.name))}) +
         RecordLine("owner",
                    {variable.module == kNoId
                         ? ""
                         : std::string(trace.str(trace.module(variable.module).address))}) +
         RecordLine("versions", Some(versions)) +
         RecordLine("reads", Some(AccessParts(trace, id, false))) +
         RecordLine("writes", Some(AccessParts(trace, id, true)));
}

}  // namespace flowscope
