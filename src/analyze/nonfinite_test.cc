#include "analyze/nonfinite.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/payload_testing.h"
#include "trace/testing.h"

namespace flowscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Finishes the trace and answers by label.
struct Found {
  std::shared_ptr<const Trace> trace;
  std::optional<NonFiniteReport> report;

  explicit Found(TraceMaker& m) : trace(m.Finish()), report(FindFirstNonFinite(*trace, 1)) {}

  std::string First() const { return report ? trace->OpLabelShort(report->first.op) : "none"; }
  std::string FirstNan() const {
    return report->first_nan == kNoId ? "none" : trace->OpLabelShort(report->first_nan);
  }
  std::vector<std::string> Chain() const {
    std::vector<std::string> labels;
    for (const NonFiniteStep& step : report->chain) labels.push_back(trace->OpLabelShort(step.op));
    return labels;
  }
  std::string Text() const { return FormatNonFinite(*trace, *report); }
};

// Entropy with a zero probability: log gives -inf, 0 * -inf the NaN.
struct EntropyTrace {
  TraceMaker m;
  TensorId p = m.Input("p", {2, 3}, {0.5f, 0.5f, 0.0f, 0.2f, 0.3f, 0.5f});

  EntropyTrace() {
    m.At("/home/me/project/model.py", 7, "lp = tf.math.log(p)", "entropy");
    m.Call("head", [&] {
      const TensorId lp = m.Op(
          "Log", {p}, {.dims = {2, 3}, .values = {-0.7f, -0.7f, -kFloatInf, -1.6f, -1.2f, -0.7f}});
      const TensorId product =
          m.Op("Mul", {p, lp},
               {.dims = {2, 3}, .values = {-0.3f, -0.3f, kFloatNan, -0.3f, -0.4f, -0.3f}});
      const TensorId sum = m.Op("Sum", {product}, {.dims = {2}, .values = {kFloatNan, -1.0f}});
      return m.Op("Neg", {sum}, {.dims = {2}, .values = {kFloatNan, 1.0f}});
    });
    m.Op("Relu", {p}, {.dims = {2, 3}});
  }
};

TEST(FirstNonFiniteTest, NothingWhereAllIsFinite) {
  TraceMaker m;
  m.Op("Relu", {m.Input("x", {2}, {1, 2})});
  EXPECT_EQ(Found(m).First(), "none");
}

TEST(FirstNonFiniteTest, NamesOpElementAndCause) {
  EntropyTrace t;
  const Found found(t.m);
  ASSERT_TRUE(found.report.has_value());
  EXPECT_EQ(found.First(), "log_1:1");
  EXPECT_THAT(found.report->first.element, ElementsAre(0, 2));
  EXPECT_EQ(found.report->first.value, "-inf");
  EXPECT_EQ(found.report->first.neg_inf, 1);
  EXPECT_EQ(found.report->first.nan, 0);
  EXPECT_EQ(found.report->cause, "log of 0 at (0, 2)");
}

TEST(FirstNonFiniteTest, TellsTheFirstNanFromTheFirstInfinity) {
  EntropyTrace t;
  const Found found(t.m);
  EXPECT_EQ(found.FirstNan(), "mul_1:1");
  EXPECT_EQ(found.report->nan_cause, "0 * -inf at (0, 2)");
}

TEST(FirstNonFiniteTest, FollowsTheChainAndNothingElse) {
  EntropyTrace t;
  const Found found(t.m);
  EXPECT_THAT(found.Chain(), ElementsAre("mul_1:1", "sum_1:1", "neg_1:1"));
  EXPECT_THAT(found.report->chain[1].element, ElementsAre(0));
}

TEST(FirstNonFiniteTest, GivesTheParentsValueAtTheElement) {
  EntropyTrace t;
  const Found found(t.m);
  ASSERT_EQ(found.report->parents.size(), 1u);
  EXPECT_EQ(found.report->parents[0].name, "input_1_1:1");
  EXPECT_EQ(found.report->parents[0].element, "0");
  EXPECT_THAT(found.report->parents[0].glance, HasSubstr("f32[2,3]"));
}

TEST(FirstNonFiniteTest, CountsWhatWasSeen) {
  EntropyTrace t;
  t.m.Op("Exp", {t.p}, {.dims = {2, 3}, .state = PayloadState::kNotKept});
  const Found found(t.m);
  EXPECT_EQ(found.report->scanned, 6);
  EXPECT_EQ(found.report->skipped, 1);
}

TEST(FirstNonFiniteTest, PrintsAReport) {
  EntropyTrace t;
  const std::string text = Found(t.m).Text();
  EXPECT_THAT(text, HasSubstr("first non-finite value: -inf at (0, 2) in log_1_2:1 (Log)"));
  EXPECT_THAT(text, HasSubstr("cause    log of 0 at (0, 2)"));
  EXPECT_THAT(text, HasSubstr("layer    head:1"));
  EXPECT_THAT(text, HasSubstr("project/model.py:7 in entropy: lp = tf.math.log(p)"));
  EXPECT_THAT(text, HasSubstr("NaN 0, +Inf 0, -Inf 1 of 6 elements"));
  EXPECT_THAT(text, HasSubstr("mul_1_3:1 (Mul)  nan at (0, 2)  <- first NaN"));
  EXPECT_THAT(text, HasSubstr("begins in mul_1_3:1 (Mul): 0 * -inf at (0, 2)"));
}

TEST(FirstNonFiniteTest, ALongChainIsCutButNotItsFirstNanNorItsEnd) {
  TraceMaker m;
  TensorId x = m.Op("Exp", {m.Input("x", {1}, {100})}, {.dims = {1}, .values = {kFloatInf}});
  for (int i = 0; i < 40; ++i) {
    x = m.Op("Neg", {x}, {.dims = {1}, .values = {i < 30 ? kFloatInf : kFloatNan}});
  }
  const std::string text = Found(m).Text();
  EXPECT_THAT(text, HasSubstr("reaches  40 later ops"));
  EXPECT_THAT(text, HasSubstr("neg_31_33:1 (Neg)  nan at (0,)  <- first NaN"));
  EXPECT_THAT(text, HasSubstr("neg_40_42:1"));
  EXPECT_THAT(text, Not(HasSubstr("neg_20_22:1")));
  EXPECT_THAT(text, HasSubstr("... 18 more"));
}

TEST(FirstNonFiniteTest, ABadInputIsItsOwnCause) {
  TraceMaker m;
  const TensorId x = m.Input("x", {2}, {1, kFloatNan});
  m.Op("Relu", {x}, {.dims = {2}, .values = {1, kFloatNan}});
  const Found found(m);
  EXPECT_EQ(found.First(), "input_1:1");
  EXPECT_EQ(found.report->cause, "nan came in with the input x");
  EXPECT_THAT(found.Chain(), ElementsAre("relu_1:1"));
  EXPECT_THAT(found.Text(), HasSubstr("begins at the same op"));
}

TEST(FirstNonFiniteTest, ABadConstantAndABadValueFromPythonAreNamed) {
  TraceMaker constant;
  constant.Constant("mask", {1}, {-kFloatInf});
  EXPECT_EQ(Found(constant).report->cause, "the constant mask already held -inf");
  TraceMaker python;
  python.FromPython({1}, {kFloatNan});
  EXPECT_EQ(Found(python).report->cause, "nan came in from Python code");
}

TEST(FirstNonFiniteTest, AVariableThatWasBadBeforeTheRun) {
  TraceMaker m;
  const VariableId kernel = m.Variable("dense.kernel", {2}, {.values = {1, kFloatNan}});
  m.Read(kernel);
  const TensorId again = m.Read(kernel);
  m.Op("Neg", {again}, {.dims = {2}, .values = {-1, kFloatNan}});
  const Found found(m);
  EXPECT_EQ(found.First(), "readvariableop_1:1");
  EXPECT_EQ(found.report->cause, "variable dense.kernel already held nan before the run");
  EXPECT_THAT(found.Chain(), ElementsAre("readvariableop_2:1", "neg_1:1"));
  EXPECT_EQ(found.report->parents[0].name, "variable dense.kernel");
}

TEST(FirstNonFiniteTest, AVariableThatChangedOutsideTheRun) {
  TraceMaker m;
  const VariableId kernel = m.Variable("w", {1});
  m.ChangeOutside(kernel, {kFloatNan});
  m.Read(kernel);
  EXPECT_EQ(Found(m).report->cause,
            "variable w already held nan when it had been changed outside this run");
}

TEST(FirstNonFiniteTest, TravelsThroughVariables) {
  TraceMaker m;
  const VariableId w = m.Variable("w", {1});
  const TensorId zero = m.Input("x", {1}, {0});
  const TensorId inf = m.Op("Log", {zero}, {.dims = {1}, .values = {-kFloatInf}});
  m.Assign(w, inf);
  const TensorId read = m.Read(w);
  m.Op("Neg", {read}, {.dims = {1}, .values = {kFloatInf}});
  const Found found(m);
  EXPECT_EQ(found.First(), "log_1:1");
  EXPECT_THAT(found.Chain(), ElementsAre("assignvariableop_1:1", "readvariableop_1:1", "neg_1:1"));
  EXPECT_EQ(found.FirstNan(), "none");
  EXPECT_THAT(found.Text(), HasSubstr("none: only infinities"));
}

// The op row of a call comes before the rows of what ran inside; the cause is inside.
TEST(FirstNonFiniteTest, TheCauseIsInsideTheCall) {
  TraceMaker m;
  const TensorId x = m.Input("x", {1}, {0});
  m.Op("PartitionedCall", {x},
       {.dims = {1}, .values = {-kFloatInf}, .kind = OpKind::kCall, .duration_ns = 0});
  const OpId call = m.last_op();
  m.Function(
      "f",
      [&] {
        m.Op("Identity", {x}, {.dims = {1}, .values = {0}, .duration_ns = 0});
        m.Op("Log", {x}, {.dims = {1}, .values = {-kFloatInf}, .duration_ns = 0});
      },
      call);
  const Found found(m);
  EXPECT_EQ(found.First(), "log_1:1");
  EXPECT_THAT(found.Chain(), ElementsAre("partitionedcall_1:1"));
}

TEST(FirstNonFiniteTest, OrderIsByEndWhereTimesTell) {
  TraceMaker m;
  const TensorId x = m.Input("x", {1}, {0});
  m.Op("EagerPyFunc", {x}, {.dims = {1}, .values = {-kFloatInf}, .duration_ns = 0});
  const OpId outer = m.last_op();
  m.Op("Log", {x}, {.dims = {1}, .values = {-kFloatInf}});
  m.tables().ops[outer].duration_ns = 5000;
  EXPECT_EQ(Found(m).First(), "log_1:1");
}

TEST(FirstNonFiniteTest, NamesHalfPrecisionOverflow) {
  TraceMaker m;
  const TensorId x = m.Input("x", {2});
  m.SetValue<uint16_t>(x, DType::kFloat16, {0x3c00, 0x7bff});  // 1, 65504
  const TensorId y = m.Op("Sum", {x}, {.dims = {}});
  m.SetValue<uint16_t>(y, DType::kFloat16, {0x7c00});
  EXPECT_EQ(Found(m).report->cause,
            "float16 overflow: a result of finite inputs is beyond the largest float16, 65504");
}

TEST(FirstNonFiniteTest, NamesACastToANarrowerType) {
  TraceMaker m;
  const TensorId x = m.Input("x", {2}, {1, 70000});
  const TensorId y = m.Op("Cast", {x}, {.dims = {2}});
  m.SetValue<uint16_t>(y, DType::kFloat16, {0x3c00, 0x7c00});
  EXPECT_EQ(Found(m).report->cause,
            "float16 overflow: a cast of 70000, beyond the largest float16, 65504 at (1,)");
}

TEST(FirstNonFiniteTest, ReadsBroadcastOperands) {
  TraceMaker m;
  const TensorId x = m.Input("x", {2, 2}, {1, 2, 3, 4});
  const TensorId d = m.Input("d", {2}, {1, 0});
  m.Op("RealDiv", {x, d}, {.dims = {2, 2}, .values = {1, kFloatInf, 3, kFloatInf}});
  const Found found(m);
  EXPECT_EQ(found.report->cause, "2 / 0: division by zero at (0, 1)");
  EXPECT_EQ(found.report->parents[1].element, "0");
}

TEST(FirstNonFiniteTest, ALiteralThatWasBad) {
  TraceMaker m;
  const TensorId x = m.Input("x", {1}, {2});
  const TensorId literal = m.Literal(kFloatNan);
  m.Op("Mul", {x, literal}, {.dims = {1}, .values = {kFloatNan}});
  EXPECT_EQ(Found(m).report->cause, "nan was passed as a literal");
}

TEST(FirstNonFiniteTest, ALiteralThatWentNowhere) {
  TraceMaker m;
  const TensorId x = m.Input("x", {1}, {2});
  const TensorId literal = m.Literal(-kFloatInf);
  m.Op("Maximum", {x, literal}, {.dims = {1}, .values = {2}});
  const Found found(m);
  EXPECT_EQ(found.First(), "maximum_1:1");
  EXPECT_EQ(found.report->cause, "-inf was passed as a literal");
  EXPECT_THAT(found.Chain(), IsEmpty());
}

TEST(FirstNonFiniteTest, SaysWhereTheTraceDoesNotTell) {
  TraceMaker m;
  const TensorId x = m.Op("Relu", {}, {.dims = {1}, .state = PayloadState::kNotKept});
  m.Op("MyOp", {x}, {.dims = {1}, .values = {kFloatNan}});
  EXPECT_EQ(Found(m).report->cause,
            "it gave nan, but the value of its input relu_1_1:1 was not kept: the cause may lie "
            "earlier");
  TraceMaker opaque;
  opaque.Op("PartitionedCall", {},
            {.dims = {1}, .values = {kFloatNan}, .kind = OpKind::kCall, .opaque_reason = "XLA"});
  EXPECT_EQ(Found(opaque).report->cause, "nan came out of an op whose inside is not recorded: XLA");
  TraceMaker unknown;
  unknown.Op("MyOp", {unknown.Input("x", {1}, {1})}, {.dims = {1}, .values = {kFloatNan}});
  EXPECT_EQ(Found(unknown).report->cause, "finite inputs gave nan");
}

TEST(FirstNonFiniteTest, NothingCanBeSaidWhereOnlySourcesWereKept) {
  TraceMaker m;
  const TensorId x = m.Input("x", {1}, {1});
  m.Op("Relu", {x}, {.dims = {1}, .state = PayloadState::kNotKept});
  EXPECT_EQ(SearchNonFinite(*m.Finish()).status().code(), StatusCode::kUnavailable);
  TraceMaker bad;
  const TensorId y = bad.Input("y", {1}, {kFloatNan});
  bad.Op("Relu", {y}, {.dims = {1}, .state = PayloadState::kNotKept});
  const auto trace = bad.Finish();
  const Result<NonFiniteSearch> search = SearchNonFinite(*trace);
  ASSERT_TRUE(search.ok());
  EXPECT_EQ(search->report->first.op, 0u);
  EXPECT_EQ(search->skipped, 1);
  TraceMaker part;
  const TensorId z = part.Op("Relu", {part.Input("x", {1}, {1})}, {.dims = {1}, .values = {1}});
  part.Op("Relu", {z}, {.dims = {1}, .state = PayloadState::kNotKept});
  const auto half = part.Finish();
  ASSERT_TRUE(SearchNonFinite(*half).ok());
  EXPECT_EQ(SearchNonFinite(*half)->skipped, 1);
}

TEST(FirstNonFiniteTest, AMeanOfNothing) {
  TraceMaker m;
  const TensorId x = m.Input("x", {0});
  m.Op("Mean", {x}, {.dims = {}, .values = {kFloatNan}});
  EXPECT_EQ(Found(m).report->cause, "Mean of no elements");
}

TEST(FirstNonFiniteTest, StatisticsTellOpAndKindWithoutAnElement) {
  TraceMaker m;
  const TensorId x = m.Input("x", {9});
  const TensorId y = m.Op("MyOp", {x}, {.dims = {9}, .state = PayloadState::kStats});
  Stats stats;
  stats.numeric = true;
  stats.count = 9;
  stats.nan = 3;
  m.payloads().KeepStats(y, stats);
  const Found found(m);
  EXPECT_EQ(found.First(), "myop_1:1");
  EXPECT_EQ(found.report->first.value, "nan");
  EXPECT_THAT(found.report->first.element, IsEmpty());
  EXPECT_EQ(found.report->first.nan, 3);
}

// An infinity that was meant (a mask) must not hide a NaN that has nothing to do with it.
TEST(FirstNonFiniteTest, AnUnrelatedNanIsStillFound) {
  TraceMaker m;
  m.Constant("mask", {1}, {-kFloatInf});
  const TensorId x = m.Input("x", {1}, {-4});
  m.Op("Sqrt", {x}, {.dims = {1}, .values = {kFloatNan}});
  const Found found(m);
  EXPECT_EQ(found.First(), "constant_1:1");
  EXPECT_EQ(found.FirstNan(), "sqrt_1:1");
  EXPECT_EQ(found.report->nan_cause, "sqrt of -4, a negative number at (0,)");
  EXPECT_THAT(found.Chain(), ElementsAre("sqrt_1:1"));
}

TEST(FirstNonFiniteTest, AnyNumberOfThreadsGivesTheSameReport) {
  EntropyTrace t;
  const auto trace = t.m.Finish();
  const std::string one = FormatNonFinite(*trace, *FindFirstNonFinite(*trace, 1));
  EXPECT_EQ(FormatNonFinite(*trace, *FindFirstNonFinite(*trace, 4)), one);
  EXPECT_EQ(FormatNonFinite(*trace, *FindFirstNonFinite(*trace, 0)), one);
}

}  // namespace
}  // namespace flowscope
