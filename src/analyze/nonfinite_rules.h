// What arithmetic makes NaN or Inf out of finite operands, by op type. Pure: numbers in, sentence
// out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace flowscope {

// One element of an op's output and the operands at the same coordinates.
struct ElementFacts {
  std::string_view type;          // of the op
  DType dtype = DType::kInvalid;  // of the output
  bool nan = false;               // the output element is NaN, else infinite
  std::optional<double> x, y;     // first and second operand; nullopt where unknown
};

// The largest finite value of a floating dtype; 0 for any other.
double LargestFinite(DType dtype);

// "log of 0", "0 / 0", "float16 overflow: 300 * 300 is beyond the largest float16, 65504"; empty
// where no rule tells.
std::string ExplainElement(const ElementFacts& facts);

// Op types whose infinite result from finite inputs can only be an overflow: sums and products.
bool IsSumOrProduct(std::string_view type);

// "float16 overflow: finite inputs, a result beyond the largest float16, 65504".
std::string OverflowText(DType dtype, std::string_view what);

}  // namespace flowscope
