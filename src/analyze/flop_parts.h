// What the files that hold rows of the table share, and the rows that they give to it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyze/flop_formulas.h"

namespace flowscope {

inline constexpr std::string_view kByDefinition = "counted from the definition of the op";

inline std::optional<int64_t> Scaled(std::optional<int64_t> elements, int64_t factor) {
  if (!elements) return std::nullopt;
  const std::array<int64_t, 2> factors = {*elements, factor};
  return CheckedProduct(factors);
}

inline std::optional<int64_t> PerOutput(const FlopOp& op, int64_t factor) {
  return Scaled(op.OutputElements(0), factor);
}

template <size_t kInput>
std::optional<int64_t> PerInput(const FlopOp& op, int64_t factor) {
  return Scaled(op.InputElements(kInput), factor);
}

// nullopt where a part is unknown or the sum does not fit.
inline std::optional<int64_t> Sum(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

// Comparisons that a binary search or one level of a heap of that size needs; 1 for sizes below 2.
inline int64_t CeilLog2(int64_t size) {
  int64_t levels = 1;
  while (levels < 62 && (int64_t{1} << levels) < size) ++levels;
  return levels;
}

std::vector<FlopRow> LinearAlgebraRows();
std::vector<FlopRow> TransformRows();
std::vector<FlopRow> SortRows();
std::vector<FlopRow> RandomRows();
std::vector<FlopRow> SparseRows();
std::vector<FlopRow> ImageRows();
std::vector<FlopRow> QuantizationRows();

}  // namespace flowscope
