#include "analyze/nonfinite_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

#include "base/float_formats.h"

namespace flowscope {
namespace {

std::string Number(double value) { return fmt::format("{:.6g}", value); }

// TensorFlow's kernels take denormal numbers for zero.
bool IsDenormal(double value, DType dtype) {
  const double smallest = dtype == DType::kFloat64 ? std::numeric_limits<double>::min()
                                                   : std::numeric_limits<float>::min();
  return value != 0 && std::abs(value) < smallest;
}

std::string ZeroText(double value) {
  return value == 0 ? "0" : Number(value) + " (denormal, taken for 0)";
}

bool ActsAsZero(double value, DType dtype) { return value == 0 || IsDenormal(value, dtype); }

std::string OfZeroOrNegative(std::string_view function, double value, const ElementFacts& facts) {
  if (ActsAsZero(value, facts.dtype)) return fmt::format("{} of {}", function, ZeroText(value));
  if (value < 0) return fmt::format("{} of {}, a negative number", function, Number(value));
  return "";
}

std::string Log(const ElementFacts& facts) { return OfZeroOrNegative("log", *facts.x, facts); }

std::string Log1p(const ElementFacts& facts) {
  if (*facts.x == -1) return "log1p of -1, the log of 0";
  return *facts.x < -1 ? fmt::format("log1p of {}, below -1", Number(*facts.x)) : "";
}

std::string Sqrt(const ElementFacts& facts) {
  return *facts.x < 0 ? fmt::format("sqrt of {}, a negative number", Number(*facts.x)) : "";
}

std::string Rsqrt(const ElementFacts& facts) { return OfZeroOrNegative("rsqrt", *facts.x, facts); }

std::string Reciprocal(const ElementFacts& facts) {
  if (!ActsAsZero(*facts.x, facts.dtype)) return "";
  return fmt::format("reciprocal of {}: division by zero", ZeroText(*facts.x));
}

std::string SqrtGrad(const ElementFacts& facts) {
  return *facts.x == 0 ? "derivative of sqrt at 0: division by zero" : "";
}

// For functions that grow past every float: exp, sinh, cosh.
template <const std::string_view& kName>
std::string Growing(const ElementFacts& facts) {
  if (facts.nan || !std::isfinite(*facts.x)) return "";
  return OverflowText(facts.dtype, fmt::format("{}({})", kName, Number(*facts.x)));
}
constexpr std::string_view kExp = "exp";
constexpr std::string_view kExpm1 = "expm1";
constexpr std::string_view kSinh = "sinh";
constexpr std::string_view kCosh = "cosh";

std::string Square(const ElementFacts& facts) {
  if (facts.nan || !std::isfinite(*facts.x)) return "";
  return OverflowText(facts.dtype, fmt::format("{} squared", Number(*facts.x)));
}

// For functions that are defined on [-limit, limit] only.
template <const std::string_view& kName>
std::string WithinOne(const ElementFacts& facts) {
  if (std::abs(*facts.x) > 1) {
    return fmt::format("{} of {}, outside [-1, 1]", kName, Number(*facts.x));
  }
  return std::abs(*facts.x) == 1 ? fmt::format("{} of {}, a pole", kName, Number(*facts.x)) : "";
}
constexpr std::string_view kAcos = "acos";
constexpr std::string_view kAsin = "asin";
constexpr std::string_view kAtanh = "atanh";

std::string Acosh(const ElementFacts& facts) {
  return *facts.x < 1 ? fmt::format("acosh of {}, below 1", Number(*facts.x)) : "";
}

std::string GammaPole(const ElementFacts& facts) {
  const bool pole = *facts.x <= 0 && *facts.x == std::floor(*facts.x);
  return pole ? fmt::format("{} at {}, a pole", facts.type == "Lgamma" ? "lgamma" : "digamma",
                            Number(*facts.x))
              : "";
}

std::string Cast(const ElementFacts& facts) {
  if (!std::isfinite(*facts.x)) return "";
  // A dtype without infinities gives NaN for what is too large.
  if (facts.nan && std::abs(*facts.x) <= LargestFinite(facts.dtype)) return "";
  return fmt::format("{} overflow: a cast of {}, beyond the largest {}, {}{}",
                     DTypeName(facts.dtype), Number(*facts.x), DTypeName(facts.dtype),
                     Number(LargestFinite(facts.dtype)),
                     facts.nan ? ", and there is no infinity" : "");
}

std::string Divide(const ElementFacts& facts) {
  const double x = *facts.x, y = *facts.y;
  if (std::isinf(x) && std::isinf(y)) return fmt::format("{} / {}", Number(x), Number(y));
  if (ActsAsZero(y, facts.dtype)) {
    const std::string quotient = fmt::format("{} / {}", Number(x), ZeroText(y));
    return x == 0 ? quotient : quotient + ": division by zero";
  }
  if (facts.nan || !std::isfinite(x)) return "";
  return OverflowText(facts.dtype, fmt::format("{} / {}", Number(x), Number(y)));
}

std::string Multiply(const ElementFacts& facts) {
  const double x = *facts.x, y = *facts.y;
  const bool zero_times_inf = (x == 0 && std::isinf(y)) || (std::isinf(x) && y == 0);
  if (facts.nan && zero_times_inf) return fmt::format("{} * {}", Number(x), Number(y));
  if (facts.nan || !std::isfinite(x) || !std::isfinite(y)) return "";
  return OverflowText(facts.dtype, fmt::format("{} * {}", Number(x), Number(y)));
}

template <char kSign>
std::string AddOrSubtract(const ElementFacts& facts) {
  const double x = *facts.x, y = *facts.y;
  std::string sum = fmt::format("{} {} {}", Number(x), kSign, Number(y));
  if (facts.nan && std::isinf(x) && std::isinf(y)) return sum;
  if (facts.nan || !std::isfinite(x) || !std::isfinite(y)) return "";
  return OverflowText(facts.dtype, sum);
}

std::string Power(const ElementFacts& facts) {
  const double x = *facts.x, y = *facts.y;
  const std::string power = fmt::format("{} to the power {}", Number(x), Number(y));
  if (x == 0 && y < 0) return power + ": division by zero";
  if (facts.nan && x < 0 && y != std::floor(y)) return power + ", which is not real";
  if (facts.nan || !std::isfinite(x) || !std::isfinite(y)) return "";
  return OverflowText(facts.dtype, power);
}

std::string TimesLog(const ElementFacts& facts) {
  const std::string log = OfZeroOrNegative("log", *facts.y, facts);
  return log.empty() ? "" : fmt::format("{} * {}", Number(*facts.x), log);
}

struct Rule {
  int operands;
  std::string (*explain)(const ElementFacts& facts);
};

const std::unordered_map<std::string_view, Rule>& Rules() {
  static const std::unordered_map<std::string_view, Rule> rules = {
      {"Log", {1, Log}},
      {"Log1p", {1, Log1p}},
      {"Sqrt", {1, Sqrt}},
      {"Rsqrt", {1, Rsqrt}},
      {"SqrtGrad", {1, SqrtGrad}},
      {"Reciprocal", {1, Reciprocal}},
      {"Inv", {1, Reciprocal}},
      {"Exp", {1, Growing<kExp>}},
      {"Expm1", {1, Growing<kExpm1>}},
      {"Sinh", {1, Growing<kSinh>}},
      {"Cosh", {1, Growing<kCosh>}},
      {"Square", {1, Square}},
      {"Acos", {1, WithinOne<kAcos>}},
      {"Asin", {1, WithinOne<kAsin>}},
      {"Atanh", {1, WithinOne<kAtanh>}},
      {"Acosh", {1, Acosh}},
      {"Lgamma", {1, GammaPole}},
      {"Digamma", {1, GammaPole}},
      {"Cast", {1, Cast}},
      {"Div", {2, Divide}},
      {"RealDiv", {2, Divide}},
      {"TruncateDiv", {2, Divide}},
      {"FloorDiv", {2, Divide}},
      {"Xdivy", {2, Divide}},
      {"Mod", {2, Divide}},
      {"FloorMod", {2, Divide}},
      {"Mul", {2, Multiply}},
      {"Add", {2, AddOrSubtract<'+'>}},
      {"AddV2", {2, AddOrSubtract<'+'>}},
      {"BiasAdd", {2, AddOrSubtract<'+'>}},
      {"Sub", {2, AddOrSubtract<'-'>}},
      {"Pow", {2, Power}},
      {"Xlogy", {2, TimesLog}},
  };
  return rules;
}

}  // namespace

double LargestFinite(DType dtype) {
  if (!IsFloating(dtype)) return 0;
  const FloatFormat format = FloatFormatOf(dtype);
  uint64_t bits = format.magnitude_mask();
  // The codes of infinity and NaN fill at most the top exponent: step over it at once.
  const uint64_t top_exponent = bits >> format.mantissa_bits << format.mantissa_bits;
  if (ClassifyFloat(format, top_exponent) != FloatClass::kFinite) bits = top_exponent - 1;
  while (ClassifyFloat(format, bits) != FloatClass::kFinite) --bits;
  return DecodeFloat(format, bits);
}

std::string OverflowText(DType dtype, std::string_view what) {
  return fmt::format("{} overflow: {} is beyond the largest {}, {}", DTypeName(dtype), what,
                     DTypeName(dtype), Number(LargestFinite(dtype)));
}

std::string ExplainElement(const ElementFacts& facts) {
  const auto it = Rules().find(facts.type);
  if (it == Rules().end() || !facts.x || (it->second.operands == 2 && !facts.y)) return "";
  // A NaN operand explains itself, and complex operands are known by their magnitude only.
  if (std::isnan(*facts.x) || (facts.y && std::isnan(*facts.y))) return "";
  const bool known = !IsComplex(facts.dtype) || (it->second.operands == 1 && *facts.x == 0);
  return known ? it->second.explain(facts) : "";
}

bool IsSumOrProduct(std::string_view type) {
  static constexpr std::array kTypes = {"MatMul",
                                        "BatchMatMul",
                                        "BatchMatMulV2",
                                        "BatchMatMulV3",
                                        "Einsum",
                                        "Conv2D",
                                        "Conv3D",
                                        "Conv",
                                        "Sum",
                                        "Prod",
                                        "Mean",
                                        "Cumsum",
                                        "Cumprod",
                                        "AddN",
                                        "AccumulateNV2",
                                        "L2Loss",
                                        "Add",
                                        "AddV2",
                                        "Sub",
                                        "Mul",
                                        "BiasAdd",
                                        "Square",
                                        "SquaredDifference",
                                        "DepthwiseConv2dNative",
                                        "AvgPool",
                                        "AvgPool3D",
                                        "BiasAddGrad",
                                        "Conv2DBackpropInput",
                                        "Conv2DBackpropFilter",
                                        "Conv3DBackpropInputV2",
                                        "Conv3DBackpropFilterV2",
                                        "DepthwiseConv2dNativeBackpropInput",
                                        "DepthwiseConv2dNativeBackpropFilter",
                                        "EuclideanNorm",
                                        "SegmentSum",
                                        "UnsortedSegmentSum"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

}  // namespace flowscope
