// Sorting and searching, random numbers, sparse tensors.
#include <algorithm>

#include "analyze/flop_parts.h"

namespace flowscope {
namespace {

constexpr std::string_view kComparisons =
    "comparisons as in Cormen et al., Introduction to Algorithms: each is one operation";

// A heap of the k best.
std::optional<int64_t> TopKFlops(const FlopOp& op, int64_t) {
  const std::optional<Dims> best = op.OutputDims(0);
  if (!best || best->empty()) return std::nullopt;
  return Scaled(op.InputElements(0), CeilLog2(best->back()));
}

// A binary search in each row of the first input for each value of the second.
std::optional<int64_t> SearchFlops(const FlopOp& op, int64_t) {
  const std::optional<Dims> sorted = op.InputDims(0);
  if (!sorted || sorted->empty() || sorted->back() < 0) return std::nullopt;
  return Scaled(op.InputElements(1), CeilLog2(sorted->back() + 1));
}

std::optional<int64_t> BucketizeFlops(const FlopOp& op, int64_t) {
  const std::optional<int64_t> boundaries = op.ListSizeAttr("boundaries");
  if (!boundaries) return std::nullopt;
  return Scaled(op.InputElements(0), CeilLog2(*boundaries + 1));
}

// Sums of exponentials of the logits, then for each sample a number and a binary search.
std::optional<int64_t> MultinomialFlops(const FlopOp& op, int64_t) {
  const std::optional<Dims> logits = op.InputDims(0);
  if (!logits || logits->empty()) return std::nullopt;
  return Sum(Scaled(op.InputElements(0), 4),
             Scaled(op.OutputElements(0), 2 + CeilLog2(logits->back())));
}

std::optional<int64_t> SparseMatMulFlops(const FlopOp& op, int64_t) {
  const std::optional<Dims> product = op.OutputDims(0);
  if (!product || product->empty()) return std::nullopt;
  const std::optional<int64_t> values = op.InputElements(1);
  if (!values) return std::nullopt;
  const std::array<int64_t, 3> factors = {*values, product->back(), 2};
  return CheckedProduct(factors);
}

// The rows that the indices name are added up.
std::optional<int64_t> SparseSegmentFlops(const FlopOp& op, int64_t) {
  const std::optional<Dims> rows = op.InputDims(0);
  if (!rows || rows->empty()) return std::nullopt;
  const std::optional<int64_t> row = CheckedProduct(std::span(*rows).subspan(1));
  return row ? Scaled(op.InputElements(1), *row) : std::nullopt;
}

}  // namespace

std::vector<FlopRow> SortRows() {
  return {
      {"TopK TopKV2", TopKFlops, 1, "n log2 k for each row of n: a heap of the k best",
       kComparisons},
      {"LowerBound UpperBound", SearchFlops, 1, "log2 (n + 1) for each value: a binary search",
       kComparisons},
      {"Bucketize", BucketizeFlops, 1, "log2 (boundaries + 1) for each value: a binary search",
       kComparisons},
      {"InTopK InTopKV2", PerInput<0>, 1, "predictions: each is compared with the target's",
       kByDefinition},
      {"Unique UniqueV2 UniqueWithCounts UniqueWithCountsV2", PerInput<0>, 1,
       "input elements: a comparison each; hashing is not counted", kByDefinition},
      {"Bincount DenseBincount", PerInput<0>, 1, "input elements: an addition each", kByDefinition},
      {"HistogramFixedWidth", PerInput<0>, 5, "5 per element: subtract, scale, floor, clip twice",
       kByDefinition},
      {"CumulativeLogsumexp", PerInput<0>, 6,
       "6 per element: maximum, minimum, subtract, exp, log1p, add", kByDefinition},
  };
}

std::vector<FlopRow> RandomRows() {
  constexpr std::string_view kBits =
      "counted from the definition; the generator's own bits are not";
  constexpr std::string_view kBoxMuller =
      "Box & Muller, A Note on the Generation of Random Normal Deviates: for two numbers two "
      "uniform "
      "ones, log, sqrt, sin, cos and four products";
  return {
      {"RandomUniform RandomUniformInt StatelessRandomUniform StatelessRandomUniformV2 "
       "StatelessRandomUniformInt StatelessRandomUniformIntV2 StatefulUniform StatefulUniformInt",
       PerOutput, 1, "output elements: bits to a number of the range", kBits},
      {"RandomStandardNormal StatelessRandomNormal StatelessRandomNormalV2 "
       "StatefulStandardNormalV2",
       PerOutput, 5, "5 * output elements", kBoxMuller},
      {"TruncatedNormal StatelessTruncatedNormal StatelessTruncatedNormalV2 "
       "StatefulTruncatedNormal",
       PerOutput, 6, "6 * output elements: a normal number and a comparison; none is drawn again",
       kBoxMuller},
      {"Multinomial StatelessMultinomial", MultinomialFlops, 1,
       "4 per logit (maximum, subtract, exp, sum), 2 + log2 (classes) per sample", kComparisons},
  };
}

std::vector<FlopRow> SparseRows() {
  return {
      {"SparseTensorDenseMatMul", SparseMatMulFlops, 2,
       "2 n for each stored value, n columns of the result", kByDefinition},
      {"SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN", SparseSegmentFlops, 1,
       "indices * elements of a row: an addition each", kByDefinition},
      {"SparseReduceSum SparseReduceMax", PerInput<1>, 1,
       "stored values: one operation each, as in every reduction", kByDefinition},
  };
}

}  // namespace flowscope
