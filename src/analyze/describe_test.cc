#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/summary.h"
#include "analyze/testing_attrs.h"
#include "analyze/testing_models.h"
#include "trace/testing.h"

namespace flowscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(DescribeOpTest, TellsValuePlaceGraphCostAndAttributes) {
  TraceMaker m;
  const TensorId x = m.Input("x", {1, 2}, {1, 2});
  const VariableId kernel = m.Variable("dense.kernel", {2, 1});
  m.At("/project/model.py", 12, "y = self.dense(x)");
  OpId matmul = kNoId;
  m.Call("dense", [&] {
    const TensorId value = m.Read(kernel);
    const TensorId y = m.Op("MatMul", {x, value},
                            {.dims = {1, 1},
                             .values = {3},
                             .attrs = AttrList().Type("T", 1).Bool("transpose_a", false)});
    matmul = m.last_op();
    m.Op("Mul", {y, m.Literal(0.5)}, {.dims = {1, 1}});
  });
  const auto trace = m.Finish();
  EXPECT_EQ(DescribeOp(*trace, matmul),
            "matmul_1_3:1 [MatMul] -> f32[1,1] [[3]]\n"
            "  where    dense:1 · project/model.py:12 in call: y = self.dense(x)\n"
            "  graph    input_1_1:1, readvariableop_1_2:1 -> this -> mul_1_4:1\n"
            "  cost     4 FLOPs · reads 16 B · writes 4 B · 1 us · CPU:0\n"
            "  attrs    T=float32 · transpose_a=false\n");
  EXPECT_THAT(DescribeOp(*trace, matmul + 1),
              HasSubstr("graph    matmul_1_3:1, literal 0.5 -> this -> nothing"));
}

TEST(DescribeOpTest, VariableAccessesCarryVersions) {
  TraceMaker m;
  const VariableId w = m.Variable("w", {1});
  m.Assign(w, m.Read(w));
  const OpId write = m.last_op();
  const auto trace = m.Finish();
  EXPECT_THAT(DescribeOp(*trace, write),
              HasSubstr("[AssignVariableOp, variable_write] -> no output"));
  EXPECT_THAT(DescribeOp(*trace, write), HasSubstr("readvariableop_1_1:1, writes w v1 -> this"));
  EXPECT_THAT(DescribeOp(*trace, 0), HasSubstr("graph    reads w v0 -> this -> assignvariableop"));
}

TEST(DescribeOpTest, SourcesFailuresAndOpaqueCalls) {
  TraceMaker m;
  m.Input("args[0]['mask']", {2});
  m.Op("MyOp", {}, {.error = "no kernel"});
  m.Op("PartitionedCall", {}, {.dims = {1}, .num_outputs = 3, .opaque_reason = "XLA"});
  const auto trace = m.Finish();
  EXPECT_THAT(DescribeOp(*trace, 0), HasSubstr("where    name args[0]['mask']"));
  EXPECT_THAT(DescribeOp(*trace, 0), Not(HasSubstr("cost")));
  EXPECT_THAT(DescribeOp(*trace, 1), HasSubstr("[MyOp] -> failed\n"));
  EXPECT_THAT(DescribeOp(*trace, 1), HasSubstr("error    no kernel\n"));
  EXPECT_THAT(DescribeOp(*trace, 2), HasSubstr("+2 outputs\n"));
  EXPECT_THAT(DescribeOp(*trace, 2), HasSubstr("cost     FLOPs ?"));
  EXPECT_THAT(DescribeOp(*trace, 2), HasSubstr("opaque   XLA\n"));
}

TEST(DescribeOpTest, RegionsAndPasses) {
  TraceMaker m;
  const TensorId x = m.Input("x", {1});
  for (uint32_t i = 0; i < 3; ++i) m.Iteration("while", i, [&] { m.Op("Tanh", {x}); });
  const auto trace = m.Finish();
  EXPECT_THAT(DescribeOp(*trace, 2), HasSubstr("where    in while[1] · pass 2 of 3"));
}

TEST(DescribeOpTest, LongListsAreCut) {
  TraceMaker m;
  const TensorId x = m.Input("x", {1});
  for (int i = 0; i < 12; ++i) m.Op("Tanh", {x});
  EXPECT_THAT(DescribeOp(*m.Finish(), 0), HasSubstr("... 4 more"));
}

TEST(DescribeLayerTest, OnePassIsItsOp) {
  TraceMaker m;
  m.Op("Relu", {m.Input("x", {1})});
  const auto trace = m.Finish();
  EXPECT_EQ(DescribeLayer(*trace, trace->op(1).site), DescribeOp(*trace, 1));
}

TEST(DescribeLayerTest, SeveralPassesAreListedAndSummed) {
  TraceMaker m;
  TensorId x = m.Input("x", {2}, {1, 2});
  for (int i = 0; i < 10; ++i) x = m.Call("cell", [&] { return m.Op("Tanh", {x}); });
  const auto trace = m.Finish();
  const std::string text = DescribeLayer(*trace, trace->op(1).site);
  EXPECT_THAT(text, HasSubstr("tanh_1_2 [Tanh] 10 passes\n"));
  EXPECT_THAT(text, HasSubstr("  :1        f32[2] [0, 0]\n"));
  EXPECT_THAT(text, HasSubstr("  ... 2 more\n"));
  EXPECT_THAT(text, HasSubstr("  where    cell\n"));
  EXPECT_THAT(text, HasSubstr("cost     20 FLOPs · reads 80 B · writes 80 B · 10 us"));
}

TEST(DescribeModuleTest, TellsCallsParametersAndChildren) {
  SmallModel model;
  const auto trace = model.m.Finish();
  EXPECT_EQ(DescribeModule(*trace, 1),
            "embed [module] -> Embedding, 1 call, 2 ops, 40 parameters (0 trainable)\n"
            "  calls    embed:1 2 us\n"
            "  output   f32 (2, 4)\n"
            "  holds    embed.table float32 (10, 4)\n"
            "  cost     0 FLOPs · reads 352 B · writes 192 B · 2 us\n");
  EXPECT_THAT(DescribeModule(*trace, 2),
              HasSubstr("children blocks.0.attn (Attention) · blocks.0.ffn (Dense)"));
  EXPECT_THAT(DescribeModule(*trace, 0), HasSubstr("calls    self:1 training=False"));
}

TEST(DescribeModuleTest, AModuleThatWasNotCalled) {
  TraceMaker m;
  m.Module("spare", {.aliases = {"dense_7"}, .num_params = 60, .num_trainable_params = 60});
  EXPECT_EQ(DescribeModule(*m.Finish(), 0),
            "spare [module] -> Dense, 0 calls, 0 ops, 60 parameters (60 trainable)\n"
            "  also     dense_7\n");
}

TEST(DescribeModuleTest, WhatDidTheWorkOfAModuleThatWasNotCalled) {
  TraceMaker m;
  m.Module("self");
  m.Module("attend", {.class_name = "Attention"});
  const ModuleId idle = m.Module("attend.norm", {.class_name = "Softmax"});
  m.Call("attend", [&] { return m.Op("Softmax", {m.Input("x", {1})}); });
  EXPECT_THAT(DescribeModule(*m.Finish(), idle),
              HasSubstr("  not run  attend ran Softmax itself: softmax_1_2:1\n"));
}

TEST(DescribeModuleCallTest, AFlagAmongTheArgumentsIsToldOnce) {
  for (const char* kwargs : {"training=True, axis=1", "axis=1, training=True", "axis=1"}) {
    TraceMaker m;
    m.Call("net", {.training = "True", .kwargs = kwargs}, [&] { return m.Op("Relu"); });
    EXPECT_THAT(DescribeModuleCall(*m.Finish(), 0), HasSubstr("args     training=True · axis=1\n"));
  }
}

TEST(DescribeModuleCallTest, TellsArgumentsAndResult) {
  TraceMaker m;
  const TensorId x = m.Input("x", {2});
  m.Call("outer", [&] {
    m.Call("inner", {.inputs = {x}, .training = "True", .kwargs = "axis=1"},
           [&] { return m.Op("Relu", {x}, {.dims = {2}, .values = {1, 2}}); });
  });
  EXPECT_EQ(DescribeModuleCall(*m.Finish(), 1),
            "inner:1 [call of Dense] -> f32[2] [1, 2]\n"
            "  where    in outer:1 · __call__\n"
            "  inputs   x: float32 (2,)\n"
            "  args     training=True · axis=1\n"
            "  outputs  x: float32 (2,)\n"
            "  ops      1 op\n"
            "  cost     2 FLOPs · reads 8 B · writes 8 B · 1 us\n");
}

TEST(DescribeModuleCallTest, AFailedCallSaysSo) {
  TraceMaker m;
  m.Call("inner", {.failed = true}, [&] { m.Op("Relu", {}, {.error = "no"}); });
  EXPECT_THAT(DescribeModuleCall(*m.Finish(), 0), HasSubstr("[call of Dense] -> failed\n"));
}

TEST(DescribeVariableTest, TellsVersionsAndUse) {
  TraceMaker m;
  const VariableId w =
      m.Variable("dense.kernel", {2}, {.aliases = {"layers.0.kernel"}, .values = {1, 2}});
  m.Module("dense", {.variables = {w}});
  const TensorId doubled = m.Op("Mul", {m.Read(w)}, {.dims = {2}, .values = {2, 4}});
  m.Assign(w, doubled);
  m.ChangeOutside(w, {7, 8});
  EXPECT_EQ(DescribeVariable(*m.Finish(), w),
            "dense.kernel [variable] -> f32[2] [7, 8], trainable\n"
            "  also     layers.0.kernel\n"
            "  name     kernel\n"
            "  owner    dense\n"
            "  versions v0 from before the run f32[2] [1, 2] · v1 by assignvariableop_1_3:1 f32[2] "
            "[2, 4]\n"
            "           v2 from outside this run f32[2] [7, 8]\n"
            "  reads    readvariableop_1_1:1\n"
            "  writes   assignvariableop_1_3:1\n");
}

}  // namespace
}  // namespace flowscope
