#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/element.h"
#include "base/fp_environment.h"
#include "base/stats.h"

namespace flowscope {
namespace {

constexpr int64_t kMaxShownValues = 8;
constexpr int64_t kMaxShownStrings = 3;
constexpr size_t kMaxShownBytes = 24;
constexpr int kDigits = 4;

std::string Header(const Payload& payload) {
  std::string text(DTypeShortName(payload.dtype));
  text += '[';
  for (size_t axis = 0; axis < payload.dims.size(); ++axis) {
    if (axis > 0) text += ',';
    text += fmt::format("{}", payload.dims[axis]);
  }
  return text + "]";
}

std::string ShortElement(const Payload& payload, int64_t index) {
  if (payload.dtype != DType::kString) return FormatElementShort(payload, index, kDigits);
  return FormatBytesLiteral(payload.strings[static_cast<size_t>(index)], kMaxShownBytes);
}

// The values from `index` on, in brackets as deep as the axes that are left: "[[1, 2], [3, 4]]".
void AppendNested(const Payload& payload, size_t axis, int64_t& index, std::string& text) {
  if (axis == payload.dims.size()) {
    text += ShortElement(payload, index++);
    return;
  }
  text += '[';
  for (int64_t i = 0; i < payload.dims[axis]; ++i) {
    if (i > 0) text += ", ";
    AppendNested(payload, axis + 1, index, text);
  }
  text += ']';
}

std::string AllValues(const Payload& payload) {
  std::string text;
  int64_t index = 0;
  AppendNested(payload, 0, index, text);
  return text;
}

std::string FirstStrings(const Payload& payload) {
  std::string text = "[";
  for (int64_t i = 0; i < kMaxShownStrings; ++i) text += ShortElement(payload, i) + ", ";
  return text + "...]";
}

// Whole numbers in full as long as double holds them exactly.
std::string Number(const Payload& payload, double value) {
  const bool whole = IsInteger(payload.dtype) && std::abs(value) <= 0x1p53;
  return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.{}g}", value, kDigits);
}

std::string StatsLine(const Payload& payload) {
  const Stats stats = ComputeStats(payload, 0, false);
  std::string text;
  if (stats.finite() > 0) {
    text = fmt::format("min={} max={} mean={:.{}g} std={:.{}g} zeros={}/{}",
                       Number(payload, stats.min), Number(payload, stats.max), stats.mean, kDigits,
                       stats.std, kDigits, stats.zeros, stats.count);
  } else {
    text = "no finite value";
  }
  if (stats.nonfinite() == 0) return text;
  return text + fmt::format(" NaN={} +Inf={} -Inf={}", stats.nan, stats.pos_inf, stats.neg_inf);
}

}  // namespace

std::string Glance(const Payload& payload) {
  const ScopedDefaultFpEnvironment environment;
  std::string header = Header(payload);
  if (!IsPlainBytes(payload.dtype) && payload.dtype != DType::kString) return header;
  const int64_t count = payload.num_elements();
  if (count == 0) return header + " empty";
  if (ReadableElements(payload) != count) return header + " not held";
  if (payload.dtype == DType::kString && count > kMaxShownStrings) {
    return header + " " + FirstStrings(payload);
  }
  return header + " " + (count <= kMaxShownValues ? AllValues(payload) : StatsLine(payload));
}

}  // namespace flowscope
