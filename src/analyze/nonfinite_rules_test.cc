#include "analyze/nonfinite_rules.h"

#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "base/payload_testing.h"

namespace flowscope {
namespace {

std::string Explain(std::string_view type, double x, bool nan, DType dtype = DType::kFloat32) {
  return ExplainElement({type, dtype, nan, x, std::nullopt});
}
std::string Explain2(std::string_view type, double x, double y, bool nan,
                     DType dtype = DType::kFloat32) {
  return ExplainElement({type, dtype, nan, x, y});
}

TEST(NonFiniteRulesTest, Logarithms) {
  EXPECT_EQ(Explain("Log", 0, false), "log of 0");
  EXPECT_EQ(Explain("Log", -1.5, true), "log of -1.5, a negative number");
  EXPECT_EQ(Explain("Log", 1e-42, false), "log of 1e-42 (denormal, taken for 0)");
  EXPECT_EQ(Explain("Log1p", -1, false), "log1p of -1, the log of 0");
  EXPECT_EQ(Explain("Log1p", -2, true), "log1p of -2, below -1");
  EXPECT_EQ(Explain2("Xlogy", 2, 0, false), "2 * log of 0");
}

TEST(NonFiniteRulesTest, OfComplexOperandsOnlyZeroIsKnown) {
  EXPECT_EQ(Explain("Log", 0, false, DType::kComplex64), "log of 0");
  EXPECT_EQ(Explain2("Mul", 0, kInf, true, DType::kComplex64), "");
}

TEST(NonFiniteRulesTest, Roots) {
  EXPECT_EQ(Explain("Sqrt", -4, true), "sqrt of -4, a negative number");
  EXPECT_EQ(Explain("Rsqrt", 0, false), "rsqrt of 0");
  EXPECT_EQ(Explain("Rsqrt", -4, true), "rsqrt of -4, a negative number");
  EXPECT_EQ(Explain2("SqrtGrad", 0, 1, false), "derivative of sqrt at 0: division by zero");
}

TEST(NonFiniteRulesTest, Divisions) {
  EXPECT_EQ(Explain2("RealDiv", 0, 0, true), "0 / 0");
  EXPECT_EQ(Explain2("RealDiv", 3, 0, false), "3 / 0: division by zero");
  EXPECT_EQ(Explain2("RealDiv", kInf, -kInf, true), "inf / -inf");
  EXPECT_EQ(Explain2("RealDiv", 1e30, 1e-20, false),
            "float32 overflow: 1e+30 / 1e-20 is beyond the largest float32, 3.40282e+38");
  EXPECT_EQ(Explain("Reciprocal", 0, false), "reciprocal of 0: division by zero");
}

TEST(NonFiniteRulesTest, SumsAndProducts) {
  EXPECT_EQ(Explain2("Mul", 0, -kInf, true), "0 * -inf");
  EXPECT_EQ(Explain2("Mul", kInf, 0, true), "inf * 0");
  EXPECT_EQ(Explain2("Sub", kInf, kInf, true), "inf - inf");
  EXPECT_EQ(Explain2("AddV2", kInf, -kInf, true), "inf + -inf");
  EXPECT_EQ(Explain2("Mul", 300, 300, false, DType::kFloat16),
            "float16 overflow: 300 * 300 is beyond the largest float16, 65504");
  EXPECT_EQ(Explain2("AddV2", 2e38, 2e38, false, DType::kBfloat16),
            "bfloat16 overflow: 2e+38 + 2e+38 is beyond the largest bfloat16, 3.38953e+38");
  EXPECT_EQ(Explain("Square", 300, false, DType::kFloat16),
            "float16 overflow: 300 squared is beyond the largest float16, 65504");
}

TEST(NonFiniteRulesTest, GrowingFunctions) {
  EXPECT_EQ(Explain("Exp", 100, false),
            "float32 overflow: exp(100) is beyond the largest float32, 3.40282e+38");
  EXPECT_EQ(Explain("Exp", 12, false, DType::kFloat16),
            "float16 overflow: exp(12) is beyond the largest float16, 65504");
  EXPECT_EQ(Explain2("Pow", 10, 39, false),
            "float32 overflow: 10 to the power 39 is beyond the largest float32, 3.40282e+38");
  EXPECT_EQ(Explain2("Pow", 0, -1, false), "0 to the power -1: division by zero");
  EXPECT_EQ(Explain2("Pow", -2, 0.5, true), "-2 to the power 0.5, which is not real");
}

TEST(NonFiniteRulesTest, Casts) {
  EXPECT_EQ(Explain("Cast", 70000, false, DType::kFloat16),
            "float16 overflow: a cast of 70000, beyond the largest float16, 65504");
  EXPECT_EQ(Explain("Cast", -1000, true, DType::kFloat8E4m3fn),
            "float8_e4m3fn overflow: a cast of -1000, beyond the largest float8_e4m3fn, 448, and "
            "there is no infinity");
  EXPECT_EQ(Explain("Cast", 3, true, DType::kFloat8E4m3fn), "");
}

TEST(NonFiniteRulesTest, LimitedDomains) {
  EXPECT_EQ(Explain("Acos", 1.5, true), "acos of 1.5, outside [-1, 1]");
  EXPECT_EQ(Explain("Atanh", 1, false), "atanh of 1, a pole");
  EXPECT_EQ(Explain("Acosh", 0.5, true), "acosh of 0.5, below 1");
  EXPECT_EQ(Explain("Lgamma", -2, false), "lgamma at -2, a pole");
}

TEST(NonFiniteRulesTest, SaysNothingWhereNoRuleTells) {
  EXPECT_EQ(Explain("MyOp", 0, true), "");
  EXPECT_EQ(Explain("Log", 2, true), "");
  EXPECT_EQ(Explain("Log", kNan, true), "");
  EXPECT_EQ(Explain("Exp", kInf, false), "");
  EXPECT_EQ(Explain2("Mul", 2, kInf, false), "");
  EXPECT_EQ(ExplainElement({"Mul", DType::kFloat32, true, 0.0, std::nullopt}), "");
  EXPECT_EQ(Explain("Log", 2, false, DType::kComplex64), "");
}

TEST(LargestFiniteTest, IsTheFormatsLargestNumber) {
  EXPECT_EQ(LargestFinite(DType::kFloat16), 65504);
  EXPECT_EQ(LargestFinite(DType::kFloat32), double{std::numeric_limits<float>::max()});
  EXPECT_EQ(LargestFinite(DType::kFloat64), std::numeric_limits<double>::max());
  EXPECT_EQ(LargestFinite(DType::kFloat8E5m2), 57344);
  EXPECT_EQ(LargestFinite(DType::kFloat8E4m3fn), 448);
  EXPECT_EQ(LargestFinite(DType::kInt32), 0);
}

}  // namespace
}  // namespace flowscope
