// Operation counts by op type: the table that cost.h answers from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace flowscope {

// One op as a formula sees it. Answers are nullopt where the trace does not know, and where a count
// does not fit 64 bits.
class FlopOp {
 public:
  FlopOp(const Trace& trace, OpId id) : trace_(trace), id_(id) {}

  size_t num_inputs() const { return trace_.op(id_).inputs.count; }
  std::optional<Dims> InputDims(size_t index) const;
  std::optional<Dims> OutputDims(size_t index) const;
  std::optional<int64_t> InputElements(size_t index) const;
  std::optional<int64_t> OutputElements(size_t index) const;

  // The attribute's value; `missing` where the op does not carry it.
  bool BoolAttr(std::string_view name, bool missing) const;
  std::optional<std::string> StringAttr(std::string_view name) const;
  std::optional<int64_t> IntAttr(std::string_view name) const;
  std::optional<std::vector<int64_t>> IntsAttr(std::string_view name) const;
  // Of a list, whatever it holds.
  std::optional<int64_t> ListSizeAttr(std::string_view name) const;

 private:
  std::optional<Dims> DimsOf(TensorId tensor) const;

  const Trace& trace_;
  OpId id_;
};

// Product of the factors; nullopt on a negative factor and on overflow.
std::optional<int64_t> CheckedProduct(std::span<const int64_t> factors);

// `factor` is the row's number in the table, such as operations per element. Rows count operations
// on numbers of the op's dtype: one on complex numbers is one, where the row says nothing else.
using FlopFunction = std::optional<int64_t> (*)(const FlopOp& op, int64_t factor);

// A row of the table: the op types that share a formula.
struct FlopRow {
  std::string_view types;  // separated by a space
  FlopFunction function;
  int64_t factor;
  std::string_view text;
  std::string_view source;
};

std::vector<std::string_view> TypesOf(const FlopRow& row);

// nullptr for an op type without a formula.
const FlopRow* FindFlopRow(std::string_view type);
std::span<const FlopRow> AllFlopRows();

// The functions of the table that need more than element counts.
std::optional<int64_t> MatMulFlops(const FlopOp& op, int64_t factor);
std::optional<int64_t> BatchMatMulFlops(const FlopOp& op, int64_t factor);
std::optional<int64_t> EinsumFlops(const FlopOp& op, int64_t factor);
std::optional<int64_t> ConvFlops(const FlopOp& op, int64_t factor);
std::optional<int64_t> ConvInputGradFlops(const FlopOp& op, int64_t factor);
std::optional<int64_t> ConvFilterGradFlops(const FlopOp& op, int64_t factor);
std::optional<int64_t> DepthwiseConvFlops(const FlopOp& op, int64_t factor);
std::optional<int64_t> DepthwiseInputGradFlops(const FlopOp& op, int64_t factor);
std::optional<int64_t> DepthwiseFilterGradFlops(const FlopOp& op, int64_t factor);

}  // namespace flowscope
