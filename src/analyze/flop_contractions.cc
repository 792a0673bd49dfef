// Formulas of products of matrices and of convolutions.
#include <algorithm>
#include <array>
#include <map>

#include "analyze/flop_formulas.h"

namespace flowscope {
namespace {

std::optional<int64_t> Times(std::optional<int64_t> a, std::optional<int64_t> b, int64_t c = 1) {
  if (!a || !b) return std::nullopt;
  const std::array<int64_t, 3> factors = {*a, *b, c};
  return CheckedProduct(factors);
}

// Dimension `index` from the end, from 1.
std::optional<int64_t> FromEnd(const std::optional<Dims>& dims, size_t index) {
  if (!dims || dims->size() < index) return std::nullopt;
  return (*dims)[dims->size() - index];
}

// Product of the first `count` dimensions; nullopt where there are fewer.
std::optional<int64_t> Leading(const std::optional<Dims>& dims, size_t count) {
  if (!dims || dims->size() < count) return std::nullopt;
  return CheckedProduct(std::span(*dims).first(count));
}

std::optional<int64_t> AllButLast(const std::optional<Dims>& dims, size_t last) {
  if (!dims || dims->size() <= last) return std::nullopt;
  return Leading(dims, dims->size() - last);
}

// One side of an einsum equation, with the sizes that its labels have.
using LabelSizes = std::map<char, int64_t>;

constexpr std::string_view kAnyDimensions = "...";

// Broadcasting inside the ellipsis: its n-th axis from the end gets a label of its own, below the
// printable ones.
char EllipsisLabel(size_t from_end) { return static_cast<char>(from_end + 1); }

std::string WithoutSpaces(std::string_view text) {
  std::string kept;
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept), [](char c) { return c != ' '; });
  return kept;
}

// "ab...c" with an ellipsis of `rank` axes as one label for each axis.
std::string ExpandLabels(std::string_view term, size_t rank) {
  const size_t at = term.find(kAnyDimensions);
  if (at == std::string_view::npos) return std::string(term);
  std::string labels(term.substr(0, at));
  for (size_t i = rank; i > 0; --i) labels += EllipsisLabel(i - 1);
  return labels + std::string(term.substr(at + kAnyDimensions.size()));
}

size_t EllipsisRank(std::string_view term, size_t dims) {
  const bool has = term.find(kAnyDimensions) != std::string_view::npos;
  const size_t named = term.size() - (has ? kAnyDimensions.size() : 0);
  return has && dims > named ? dims - named : 0;
}

// Adds the sizes of one input's labels; false where the term does not fit the shape.
bool AddTerm(std::string_view term, const Dims& dims, LabelSizes& sizes) {
  const std::string labels = ExpandLabels(term, EllipsisRank(term, dims.size()));
  if (labels.size() != dims.size()) return false;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t& size = sizes.try_emplace(labels[i], dims[i]).first->second;
    if (size == 1) size = dims[i];
    if (dims[i] != 1 && dims[i] != size) return false;
  }
  return true;
}

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

std::optional<Equation> ParseEquation(std::string_view text) {
  const std::string compact = WithoutSpaces(text);
  const size_t arrow = compact.find("->");
  if (arrow == std::string::npos) return std::nullopt;
  Equation equation;
  equation.output = compact.substr(arrow + 2);
  std::string_view left = std::string_view(compact).substr(0, arrow);
  for (size_t comma = left.find(','); comma != std::string_view::npos; comma = left.find(',')) {
    equation.inputs.emplace_back(left.substr(0, comma));
    left.remove_prefix(comma + 1);
  }
  equation.inputs.emplace_back(left);
  return equation;
}

bool SumsOverALabel(const LabelSizes& sizes, std::string_view output) {
  const bool keeps_ellipsis = output.find(kAnyDimensions) != std::string_view::npos;
  return std::any_of(sizes.begin(), sizes.end(), [&](const auto& entry) {
    const bool named = static_cast<unsigned char>(entry.first) > ' ';
    return named ? output.find(entry.first) == std::string_view::npos : !keeps_ellipsis;
  });
}

std::optional<LabelSizes> SizesOf(const FlopOp& op, const Equation& equation) {
  LabelSizes sizes;
  for (size_t i = 0; i < equation.inputs.size(); ++i) {
    const std::optional<Dims> dims = op.InputDims(i);
    if (!dims || !AddTerm(equation.inputs[i], *dims, sizes)) return std::nullopt;
  }
  return sizes;
}

std::optional<int64_t> ProductOf(const LabelSizes& sizes) {
  std::vector<int64_t> factors;
  factors.reserve(sizes.size());
  for (const auto& [label, size] : sizes) factors.push_back(size);
  return CheckedProduct(factors);
}

}  // namespace

std::optional<int64_t> MatMulFlops(const FlopOp& op, int64_t factor) {
  const size_t k_from_end = op.BoolAttr("transpose_a", false) ? 2 : 1;
  return Times(op.OutputElements(0), FromEnd(op.InputDims(0), k_from_end), factor);
}

std::optional<int64_t> BatchMatMulFlops(const FlopOp& op, int64_t factor) {
  const size_t k_from_end = op.BoolAttr("adj_x", false) ? 2 : 1;
  return Times(op.OutputElements(0), FromEnd(op.InputDims(0), k_from_end), factor);
}

// With two inputs: one multiplication for every combination of labels, and one addition where a
// label is summed over. With one input: an addition for each element where a label is summed over.
std::optional<int64_t> EinsumFlops(const FlopOp& op, int64_t factor) {
  const std::optional<std::string> text = op.StringAttr("equation");
  const std::optional<Equation> equation = text ? ParseEquation(*text) : std::nullopt;
  if (!equation || equation->inputs.size() > 2 || equation->inputs.size() != op.num_inputs()) {
    return std::nullopt;
  }
  const std::optional<LabelSizes> sizes = SizesOf(op, *equation);
  if (!sizes) return std::nullopt;
  const bool sums = SumsOverALabel(*sizes, equation->output);
  const int64_t multiplications = static_cast<int64_t>(equation->inputs.size()) - 1;
  return Times(ProductOf(*sizes), multiplications + (sums ? 1 : 0), factor);
}

// A filter is spatial dimensions, input channels of one group, output channels.
std::optional<int64_t> ConvFlops(const FlopOp& op, int64_t factor) {
  return Times(op.OutputElements(0), AllButLast(op.InputDims(1), 1), factor);
}

std::optional<int64_t> ConvInputGradFlops(const FlopOp& op, int64_t factor) {
  return Times(op.InputElements(2), AllButLast(op.InputDims(1), 1), factor);
}

std::optional<int64_t> ConvFilterGradFlops(const FlopOp& op, int64_t factor) {
  return Times(op.InputElements(2), AllButLast(op.OutputDims(0), 1), factor);
}

// A depthwise filter is height, width, channels, multiplier.
std::optional<int64_t> DepthwiseConvFlops(const FlopOp& op, int64_t factor) {
  return Times(op.OutputElements(0), AllButLast(op.InputDims(1), 2), factor);
}

std::optional<int64_t> DepthwiseInputGradFlops(const FlopOp& op, int64_t factor) {
  return Times(op.InputElements(2), AllButLast(op.InputDims(1), 2), factor);
}

std::optional<int64_t> DepthwiseFilterGradFlops(const FlopOp& op, int64_t factor) {
  return Times(op.InputElements(2), AllButLast(op.OutputDims(0), 2), factor);
}

}  // namespace flowscope
