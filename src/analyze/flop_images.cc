// Images, and numbers of few bits.
#include <algorithm>

#include "analyze/flop_parts.h"

namespace flowscope {
namespace {

constexpr int64_t kInterpolation = 9;  // three times a + (b - a) * t

std::optional<int64_t> PixelFlops(const FlopOp& op, int64_t factor) {
  const std::optional<int64_t> elements = op.InputElements(0);
  return elements ? Scaled(*elements / 3, factor) : std::nullopt;
}

std::optional<int64_t> CropAndResizeFlops(const FlopOp& op, int64_t) {
  return Scaled(op.OutputElements(0), op.StringAttr("method") == "nearest" ? 0 : kInterpolation);
}

std::optional<int64_t> ProjectiveFlops(const FlopOp& op, int64_t) {
  const std::optional<Dims> dims = op.OutputDims(0);
  if (!dims || dims->size() != 4) return std::nullopt;
  const std::optional<int64_t> pixels = CheckedProduct(std::span(*dims).first(3));
  const bool blends = op.StringAttr("interpolation") == "BILINEAR";
  return Sum(Scaled(pixels, 14), Scaled(op.OutputElements(0), blends ? kInterpolation : 0));
}

std::optional<int64_t> DilationFlops(const FlopOp& op, int64_t factor) {
  const std::optional<Dims> filter = op.InputDims(1);
  const std::optional<int64_t> elements = op.OutputElements(0);
  if (!filter || filter->size() != 3 || !elements) return std::nullopt;
  const std::array<int64_t, 4> factors = {*elements, (*filter)[0], (*filter)[1], factor};
  return CheckedProduct(factors);
}

std::optional<int64_t> LrnFlops(const FlopOp& op, int64_t) {
  const int64_t radius = op.IntAttr("depth_radius").value_or(5);
  if (radius < 0) return std::nullopt;
  return Scaled(op.InputElements(0), 2 * (2 * radius + 1) + 4);
}

}  // namespace

std::vector<FlopRow> ImageRows() {
  constexpr std::string_view kColors =
      "the conversion between RGB and HSV of Smith, Color Gamut Transform Pairs, written out";
  return {
      {"ResizeBilinear", PerOutput, kInterpolation,
       "9 * output elements: three interpolations a + (b - a) * t", kByDefinition},
      {"ResizeBilinearGrad", PerInput<0>, 12,
       "12 * gradient elements: four neighbours, two products and a sum each",
       "derivative of the bilinear interpolation"},
      {"ResizeBicubic", PerOutput, 35, "35 * output elements: five sums of four products",
       kByDefinition},
      {"ResizeNearestNeighborGrad", PerInput<0>, 1, "gradient elements: an addition each",
       "derivative of a choice"},
      {"CropAndResize", CropAndResizeFlops, 1,
       "9 * output elements: three interpolations; 0 with method nearest", kByDefinition},
      {"ImageProjectiveTransformV2 ImageProjectiveTransformV3", ProjectiveFlops, 1,
       "14 per output pixel for its place (three sums of products, two quotients), and 9 per "
       "output "
       "element with BILINEAR",
       kByDefinition},
      {"AdjustContrastv2", PerInput<0>, 4, "4 per element: mean, subtract, scale, add",
       kByDefinition},
      {"RGBToHSV", PixelFlops, 11, "11 per pixel", kColors},
      {"HSVToRGB", PixelFlops, 26, "26 per pixel", kColors},
      {"AdjustHue AdjustSaturation", PixelFlops, 39,
       "39 per pixel: to HSV 11, change and wrap or clip 2, back 26", kColors},
      {"LRN", LrnFlops, 1,
       "per element 2 for each of its 2 r + 1 neighbours, and scale, add, power, divide",
       kByDefinition},
      {"Dilation2D", DilationFlops, 2,
       "2 * output elements * filter height * filter width: add and maximum; padding counts",
       kByDefinition},
      {"FractionalMaxPool FractionalAvgPool", PerInput<0>, 1,
       "input elements; what lies in two windows counts once",
       "convention: one operation per element under the window"},
  };
}

std::vector<FlopRow> QuantizationRows() {
  return {
      {"FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel",
       PerInput<0>, 7, "7 per element: clip twice, subtract, scale, round, scale back, add",
       kByDefinition},
      {"QuantizeV2", PerInput<0>, 4, "4 per element: scale, round, clip twice", kByDefinition},
      {"Dequantize", PerInput<0>, 2, "2 per element: scale, add", kByDefinition},
      {"QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeAndDequantizeV4", PerInput<0>, 5,
       "5 per element: scale, round, clip twice, scale back", kByDefinition},
  };
}

}  // namespace flowscope
