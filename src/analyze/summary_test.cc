#include "analyze/summary.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/summary_footer.h"
#include "analyze/testing_models.h"
#include "analyze/text_table.h"

namespace flowscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Summary(const Trace& trace, const SummaryOptions& options = {}) {
  const Result<std::string> summary = Summarize(trace, options);
  EXPECT_TRUE(summary.ok()) << summary.status().ToString();
  return summary.ok() ? *summary : "";
}

std::string Summary(TraceMaker& m, const SummaryOptions& options = {}) {
  return Summary(*m.Finish(), options);
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The table's rows, without title, rule and what is said below them.
std::vector<std::string> Rows(const std::string& summary) {
  const std::vector<std::string> lines = Lines(summary);
  const auto is_rule = [](const std::string& line) { return line.starts_with("───"); };
  const auto rule = std::find_if(lines.begin(), lines.end(), is_rule);
  EXPECT_NE(rule, lines.end());
  if (rule == lines.end()) return {};
  const auto is_below = [](const std::string& line) {
    return line.empty() || line.starts_with('+') || line.ends_with("(depth, max_rows)");
  };
  return {rule + 1, std::find_if(rule, lines.end(), is_below)};
}

TEST(SummaryTest, TheWholeOfASmallModel) {
  SmallModel model;
  EXPECT_EQ(Summary(model.m),
            R"(tiny (Tiny), keras · ids: float32 (2, 4) · training=False

name (type)                    output         params  % params   FLOPs  passes
──────────────────────────────────────────────────────────────────────────────
self (Tiny)                    f32 (2, 3)      1,000  100.0 ███   176+       1
├ embed (Embedding)            f32 (2, 4)         40    4.0 ▏        0       1
├ mul_1_4 (Mul)                f32 (2, 4)                            8       1
├ blocks.0..2 (Block) x3 each  f32 (2, 4)        300   30.0 ▉       56       1
│ ├ attn (Attention)           f32 (2, 4)        100   10.0 ▎       40       1
│ └ ffn (Dense)                f32 (2, 4)        200   20.0 ▋        8       1
├ mytopk_1_14 (MyTopK)         f32 (2, 3) +1                         ?       1
└ spare (Dense)                                   60    6.0 ▏                0
+ and ?: ops without a formula, see Compute

Params   1,000 total · 900 trainable · 100 frozen
Compute  176 FLOPs by formula (a multiply-add is 2) · 1 of 13 ops without a formula: MyTopK
Memory   400 B in 13 activations · 400 B kept · largest 32 B gatherv2_1_3:1
Graph    14 ops: 12 compute, 1 input, 1 variable_read
         19 edges from 15 op, 2 literal, 1 input, 1 variable · 13 modules, 2 not called
Capture  hook · TensorFlow 2.21.0 · Keras 3.15.1 · 1.5 ms · nothing missing
)");
}

TEST(SummaryTest, NoLineIsWiderThanTheTerminal) {
  SmallModel model;
  model.m.info().notes = {std::string(40, 'a') + " " + std::string(60, 'b') + " " +
                          std::string(50, 'c')};
  const auto trace = model.m.Finish();
  for (const char* level : {"module", "op"}) {
    for (const char* view : {"overview", "compute"}) {
      for (const std::string& line : Lines(Summary(*trace, {.level = level, .view = view}))) {
        EXPECT_LE(DisplayWidth(line), kSummaryWidth) << line;
      }
    }
  }
}

TEST(SummaryTest, ComputeViewShowsBytesAndTime) {
  SmallModel model;
  const std::string text = Summary(model.m, {.view = "compute"});
  EXPECT_THAT(text, HasSubstr("FLOPs   read  written    time  passes"));
  EXPECT_THAT(text, Not(HasSubstr("% params")));
  EXPECT_THAT(text,
              HasSubstr("├ mul_1_4 (Mul)                f32 (2, 4)                 8   36 B"));
}

TEST(SummaryTest, OpLevelListsTheOpsOfModules) {
  SmallModel model;
  const auto trace = model.m.Finish();
  EXPECT_THAT(Summary(*trace, {.level = "op"}), HasSubstr("│ │ └ softmax_1_5 (Softmax)"));
  EXPECT_THAT(Summary(*trace, {.level = "module"}), Not(HasSubstr("softmax")));
}

TEST(SummaryTest, WithoutModulesOpsAreListed) {
  TraceMaker m;
  m.info().root_kind = "function";
  m.info().root_class = "function";
  m.info().name = "f";
  const TensorId y = m.Op("Relu", {m.Input("x", {3})});
  m.Output("y", y);
  const std::vector<std::string> rows = Rows(Summary(m));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[0], HasSubstr("f (function)"));
  EXPECT_THAT(rows[1], HasSubstr("├ input_1_1 (input)"));
  EXPECT_THAT(rows[2], HasSubstr("└ relu_1_2 (Relu)"));
}

TEST(SummaryTest, ALayerInsideAFunctionIsNotTheModel) {
  TraceMaker m;
  m.info().root_kind = "function";
  m.info().name = "f";
  const TensorId x = m.Input("x", {3});
  const TensorId y = m.Call("dense", [&] { return m.Op("Relu", {x}); });
  m.Op("Exp", {y});
  const std::vector<std::string> rows = Rows(Summary(m));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[0], testing::StartsWith("f ("));
  EXPECT_THAT(rows[1], HasSubstr("├ dense (Dense)"));
  EXPECT_THAT(rows[2], HasSubstr("└ exp_1_3 (Exp)"));
}

TEST(SummaryTest, RepeatsAreFoldedOnRequest) {
  SmallModel model;
  const auto trace = model.m.Finish();
  const std::string unfolded = Summary(*trace, {.fold_repeats = false});
  EXPECT_THAT(unfolded, HasSubstr("├ blocks.0 (Block)"));
  EXPECT_THAT(unfolded, HasSubstr("├ blocks.2 (Block)"));
  EXPECT_THAT(unfolded, Not(HasSubstr("x3")));
}

TEST(SummaryTest, SiblingsThatDifferAreNotFolded) {
  TraceMaker m;
  m.Module("self");
  m.Module("a.0", {.num_params = 5});
  m.Module("a.1", {.num_params = 6});
  const TensorId x = m.Input("x", {3});
  m.Call("self", [&] {
    m.Call("a.0", [&] { m.Op("Relu", {x}); });
    m.Call("a.1", [&] { m.Op("Relu", {x}); });
  });
  const std::string text = Summary(m);
  EXPECT_THAT(text, HasSubstr("├ a.0 (Dense)"));
  EXPECT_THAT(text, HasSubstr("└ a.1 (Dense)"));
}

TEST(SummaryTest, PassesAreCounted) {
  TraceMaker m;
  m.Module("self");
  TensorId x = m.Input("x", {3});
  m.Call("self", [&] {
    for (int i = 0; i < 4; ++i) x = m.Call("cell", [&] { return m.Op("Tanh", {x}); });
  });
  const std::vector<std::string> rows = Rows(Summary(m));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(rows[1], testing::EndsWith("12       4"));
}

TEST(SummaryTest, DepthCutsAndSaysSo) {
  SmallModel model;
  const std::string text = Summary(model.m, {.depth = 1});
  EXPECT_THAT(text, Not(HasSubstr("attn")));
  EXPECT_THAT(text, HasSubstr("2 rows inside those shown left out (depth, max_rows)"));
}

TEST(SummaryTest, LayersStayLongestWhereRowsAreFew) {
  SmallModel model;
  const auto trace = model.m.Finish();
  const std::string text = Summary(*trace, {.max_rows = 7, .fold_repeats = false});
  EXPECT_EQ(Rows(text).size(), 8u);
  EXPECT_EQ(Rows(text).back(), "... 1 more row");
  EXPECT_THAT(text, HasSubstr("6 rows inside those shown left out"));
  EXPECT_THAT(text, HasSubstr("├ blocks.2 (Block)"));
}

TEST(SummaryTest, AllRowsOnRequest) {
  TraceMaker m;
  TensorId x = m.Input("x", {3});
  for (int i = 0; i < 50; ++i) x = m.Op(i % 2 == 0 ? "Relu" : "Tanh", {x});
  const auto trace = m.Finish();
  EXPECT_EQ(Rows(Summary(*trace, {.max_rows = 0})).size(), 52u);
  const std::string cut = Summary(*trace, {.max_rows = 10});
  EXPECT_EQ(Rows(cut).size(), 11u);
  EXPECT_THAT(cut, HasSubstr("... 42 more rows"));
}

TEST(SummaryTest, OpsOutsideLayersGiveWayFirst) {
  TraceMaker m;
  m.Module("self");
  TensorId x = m.Input("x", {3});
  m.Call("self", [&] {
    for (int i = 0; i < 20; ++i) x = m.Op(i % 2 == 0 ? "Relu" : "Tanh", {x});
    for (const char* layer : {"a", "b", "c"}) m.Call(layer, [&] { m.Op("Exp", {x}); });
  });
  const std::vector<std::string> rows = Rows(Summary(m, {.max_rows = 6, .fold_repeats = false}));
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[1], "├ ... 20 ops: Relu x10, Tanh x10");
  EXPECT_THAT(rows[4], HasSubstr("└ c (Dense)"));
}

TEST(SummaryTest, BackwardOpsAreOneRow) {
  TraceMaker m;
  m.Module("self");
  const TensorId x = m.Input("x", {3});
  m.Call("self", [&] { m.Call("a", [&] { m.Op("Relu", {x}); }); });
  m.Op("ReluGrad", {x, x}, {.dims = {3}, .kind = OpKind::kBackward});
  m.Op("Mul", {x, x}, {.dims = {3}, .kind = OpKind::kBackward});
  const std::vector<std::string> rows = Rows(Summary(m));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[2], HasSubstr("└ backward (backward ops)"));
  EXPECT_THAT(rows[2], testing::EndsWith("6       2"));
}

TEST(SummaryTest, WhatRanWhileTracingHasNoRow) {
  TraceMaker m;
  const TensorId x = m.Input("x", {3});
  m.Op("Relu", {x});
  RegionRecord region;
  region.kind = RegionKind::kTracing;
  const RegionId id = m.builder().OpenRegion(region);
  m.Op("Exp", {x});
  m.builder().CloseRegion(id);
  const std::string text = Summary(m);
  EXPECT_THAT(text, HasSubstr("relu_1"));
  EXPECT_THAT(Rows(text), testing::Not(testing::Contains(HasSubstr("exp_1"))));
  EXPECT_THAT(text, HasSubstr("regions: 1 tracing"));
}

TEST(SummaryTest, SaysWhatMakesTheTraceLessThanWhole) {
  TraceMaker m;
  m.OpOnUnexplained("Relu");
  m.Op("PartitionedCall", {},
       {.dims = {3}, .kind = OpKind::kCall, .opaque_reason = "compiled with XLA"});
  m.Op("Exp", {}, {.error = "no kernel"});
  m.info().error = "ValueError: shapes\nmore text";
  m.info().halted = true;
  m.info().interrupted = true;
  m.info().degraded = "over the budget after 3 ops";
  m.info().notes = {"op callbacks do not see the fast path"};
  const std::string text = Summary(m);
  for (const char* part :
       {"!! the model raised: ValueError: shapes\n", "!! halted on request", "!! interrupted",
        "!! degraded: over the budget after 3 ops", "!! 1 input unexplained",
        "1 opaque op (partitionedcall_1_2:1: compiled with XLA)",
        "op callbacks do not see the fast path", "failed"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("nothing missing")));
}

TEST(SummaryTest, UnknownIsAQuestionMark) {
  TraceMaker m;
  const VariableId w = m.Variable("w", {3});
  m.tables().variables[w].shape_known = false;
  const TensorId y = m.Op("Relu", {m.Input("x", {3})});
  m.tables().tensors[y].shape_known = false;
  m.tables().tensors[y].dims = {};
  const std::string text = Summary(m);
  EXPECT_THAT(text, HasSubstr("relu_1_2 (Relu)    f32 ?"));
  EXPECT_THAT(text, HasSubstr("Params   ? total · ? trainable · ? frozen"));
  EXPECT_THAT(text, HasSubstr("TensorFlow ?"));
}

TEST(SummaryTest, SaysHowManyValuesAreNotThere) {
  TraceMaker m;
  m.Op("Relu", {}, {.dims = {2}, .state = PayloadState::kStats});
  m.Op("Relu", {}, {.dims = {2}, .state = PayloadState::kNotKept});
  m.Op("Relu", {}, {.dims = {2}, .state = PayloadState::kNotKept});
  EXPECT_THAT(Summary(m), HasSubstr("24 B in 3 activations · 0 B kept · 1 as statistics only · 2 "
                                    "not kept\n         largest 8 B relu_1_1:1\n"));
}

TEST(SummaryTest, AnEmptyTraceHasASummary) {
  TraceMaker m;
  const std::string text = Summary(m);
  EXPECT_THAT(text, HasSubstr("model (Functional), keras"));
  EXPECT_EQ(Rows(text).size(), 1u);
}

TEST(SummaryTest, ColorAddsOnlyEscapes) {
  SmallModel model;
  const auto trace = model.m.Finish();
  std::string colored = Summary(*trace, {.color = true});
  EXPECT_THAT(colored, HasSubstr("\033[1m"));
  for (const std::string escape : {"\033[0m", "\033[1m", "\033[2m"}) {
    for (size_t at = colored.find(escape); at != colored.npos; at = colored.find(escape)) {
      colored.erase(at, escape.size());
    }
  }
  EXPECT_EQ(colored, Summary(*trace));
}

TEST(SummaryTest, WrongChoicesNameTheRightOnes) {
  TraceMaker m;
  const auto trace = m.Finish();
  const Status level = Summarize(*trace, {.level = "layer"}).status();
  EXPECT_EQ(level.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(level.message(),
            "unknown summary level \"layer\": choose one of \"auto\", \"module\", \"op\"");
  EXPECT_EQ(Summarize(*trace, {.view = "x"}).status().message(),
            "unknown summary view \"x\": choose one of \"overview\", \"compute\"");
  EXPECT_FALSE(Summarize(*trace, {.max_rows = -1}).ok());
  EXPECT_FALSE(Summarize(*trace, {.depth = -1}).ok());
}

TEST(OneLineTest, CountsAndHealth) {
  SmallModel model;
  EXPECT_EQ(OneLine(*model.m.Finish()),
            "keras trace 'tiny': 14 ops, 13 modules, 1,000 parameters, 1.5 ms, nothing missing");
  TraceMaker bad;
  bad.info().error = "ValueError: no";
  bad.info().notes = {"a note"};
  EXPECT_THAT(OneLine(*bad.Finish()), HasSubstr("the model raised: ValueError: no, 1 note"));
}

}  // namespace
}  // namespace flowscope
