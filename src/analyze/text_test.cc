#include "analyze/text.h"

#include <gtest/gtest.h>

#include "trace/testing.h"

namespace flowscope {
namespace {

TEST(TextTest, ShapesAreWrittenAsTuples) {
  EXPECT_EQ(TupleText(Dims{}), "()");
  EXPECT_EQ(TupleText(Dims{4}), "(4,)");
  EXPECT_EQ(TupleText(Dims{2, 3}), "(2, 3)");
}

TEST(TextTest, ALocationIsTheEndOfItsPath) {
  TraceMaker m;
  m.Op("NoOp");
  m.At("/home/me/project/net/model.py", 12, "y = f(x)", "call");
  m.Op("Relu", {m.Input("x", {1})});
  const OpId op = m.last_op();
  m.At("model.py", 3, "", "");
  m.Op("NoOp");
  const OpId bare = m.last_op();
  const auto trace = m.Finish();
  EXPECT_EQ(LocationText(*trace, op, false), "net/model.py:12 in call");
  EXPECT_EQ(LocationText(*trace, op, true), "net/model.py:12 in call: y = f(x)");
  EXPECT_EQ(LocationText(*trace, bare, true), "model.py:3");
  EXPECT_EQ(LocationText(*trace, 0, true), "");
}

TEST(TextTest, GlancesSayWhatTheTraceHolds) {
  TraceMaker m;
  const TensorId kept = m.Input("x", {2}, {1, 2});
  const TensorId left_out = m.Op("A", {}, {.dims = {2}, .state = PayloadState::kNotKept});
  const TensorId stats_only = m.Op("B", {}, {.dims = {2, 4}, .state = PayloadState::kStats});
  const TensorId resource = m.Resource();
  Stats stats;
  stats.numeric = true;
  stats.count = 8;
  stats.nan = 1;
  stats.max = 3;
  m.payloads().KeepStats(stats_only, stats);
  const auto trace = m.Finish();
  EXPECT_EQ(GlanceText(*trace, kept), "f32[2] [1, 2]");
  EXPECT_EQ(GlanceText(*trace, left_out), "float32 (2,) (value not kept)");
  EXPECT_EQ(GlanceText(*trace, stats_only),
            "f32[2,4] min=0 max=3 mean=0 std=0 zeros=0/8 NaN=1 +Inf=0 -Inf=0 (statistics only)");
  EXPECT_EQ(GlanceText(*trace, resource), "resource () (no value)");
}

TEST(TextTest, ProducersAreLabelsOrWhatTheyAre) {
  TraceMaker m;
  const TensorId x = m.Input("x", {2});
  const TensorId two = m.Literal(2);
  const TensorId table = m.Resource();
  const auto trace = m.Finish();
  EXPECT_EQ(ProducerText(*trace, x), "input_1_1:1");
  EXPECT_EQ(ProducerText(*trace, two), "literal");
  EXPECT_EQ(ProducerText(*trace, table), "resource");
}

TEST(TextTest, CountedKnowsThePlural) {
  EXPECT_EQ(Counted(0, "op"), "0 ops");
  EXPECT_EQ(Counted(1, "op"), "1 op");
  EXPECT_EQ(Counted(1234, "op"), "1,234 ops");
}

TEST(TextTest, JoinSkipsEmptyParts) {
  EXPECT_EQ(JoinParts(std::vector<std::string>{"a", "", "b"}, ", "), "a, b");
  EXPECT_EQ(JoinParts({}, ", "), "");
}

}  // namespace
}  // namespace flowscope
