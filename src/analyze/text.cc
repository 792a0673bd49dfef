#include "analyze/text.h"

#include <fmt/format.h>

#include "base/units.h"

namespace flowscope {
namespace {

std::string_view ShortPath(std::string_view path) {
  const size_t last = path.rfind('/');
  if (last == std::string_view::npos || last == 0) return path;
  const size_t before = path.rfind('/', last - 1);
  return before == std::string_view::npos ? path : path.substr(before + 1);
}

std::string StatsText(const Trace& trace, TensorId tensor, const Stats& stats) {
  const TensorRecord& record = trace.tensor(tensor);
  std::string text(DTypeShortName(record.dtype));
  if (record.shape_known) text += fmt::format("[{}]", fmt::join(trace.dims(record.dims), ","));
  if (stats.numeric && stats.finite() > 0) {
    text += fmt::format(" min={:.4g} max={:.4g} mean={:.4g} std={:.4g} zeros={}/{}", stats.min,
                        stats.max, stats.mean, stats.std, stats.zeros, stats.count);
  }
  if (stats.nonfinite() > 0) {
    text += fmt::format(" NaN={} +Inf={} -Inf={}", stats.nan, stats.pos_inf, stats.neg_inf);
  }
  return text + " (statistics only)";
}

}  // namespace

std::string TupleText(std::span<const int64_t> numbers) {
  std::string text = "(";
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text += ", ";
    text += numbers[i] < 0 ? std::string("?") : std::to_string(numbers[i]);
  }
  return text + (numbers.size() == 1 ? ",)" : ")");
}

std::string TensorText(const Trace& trace, TensorId tensor) {
  const TensorRecord& record = trace.tensor(tensor);
  const auto& dims = trace.dims(record.dims);
  const bool has_rank = record.shape_known || !dims.empty();
  return std::string(DTypeName(record.dtype)) + " " + (has_rank ? TupleText(dims) : "?");
}

std::string LocationText(const Trace& trace, OpId op, bool with_source) {
  const LocationId id = trace.op(op).location;
  if (id == kNoId) return "";
  const LocationRecord& location = trace.tables().locations[id];
  std::string text = fmt::format("{}:{}", ShortPath(trace.str(location.file)), location.line);
  if (location.function != 0) text += fmt::format(" in {}", trace.str(location.function));
  if (with_source && location.text != 0) text += fmt::format(": {}", trace.str(location.text));
  return text;
}

std::string ModuleCallText(const Trace& trace, OpId op) {
  const ModuleCallId call = trace.op(op).module_call;
  return call == kNoId ? "" : trace.CallLabel(call);
}

std::string GlanceText(const Trace& trace, TensorId tensor) {
  const TensorRecord& record = trace.tensor(tensor);
  if (record.state == PayloadState::kKept) {
    const Result<Payload> payload = trace.ReadTensor(tensor);
    if (payload.ok()) return Glance(*payload);
    return fmt::format("{} (cannot be read: {})", TensorText(trace, tensor),
                       payload.status().message());
  }
  if (record.state == PayloadState::kStats) {
    const std::optional<Stats> stats = trace.StoredStats(tensor);
    if (stats) return StatsText(trace, tensor, *stats);
  }
  const bool has_none = record.state == PayloadState::kNoValue;
  return TensorText(trace, tensor) + (has_none ? " (no value)" : " (value not kept)");
}

std::string ProducerText(const Trace& trace, TensorId tensor) {
  if (tensor == kNoId) return "literal";
  const OpId producer = trace.tensor(tensor).producer;
  if (producer != kNoId) return trace.OpLabel(producer);
  return trace.tensor(tensor).dtype == DType::kResource ? "resource" : "literal";
}

std::string Counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", FormatCount(count), noun, count == 1 ? "" : "s");
}

std::string JoinParts(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

}  // namespace flowscope
