#include "analyze/trace_facts.h"

#include <gtest/gtest.h>

#include "trace/testing.h"

namespace flowscope {
namespace {

TEST(TraceFactsTest, TheRootIsTheModuleCalledSelf) {
  TraceMaker m;
  m.Module("self");
  m.Module("dense");
  EXPECT_EQ(RootModule(*m.Finish()), 0u);
  TraceMaker function;
  function.Module("dense");
  EXPECT_EQ(RootModule(*function.Finish()), kNoId);
  TraceMaker none;
  EXPECT_EQ(RootModule(*none.Finish()), kNoId);
}

TEST(TraceFactsTest, ParametersAreTheRootModules) {
  TraceMaker m;
  const VariableId kernel = m.Variable("dense.kernel", {3, 4});
  const VariableId moving = m.Variable("norm.mean", {4}, {.trainable = false});
  m.Variable("seed", {2}, {.trainable = false});
  m.Module("self", {.num_params = 16, .num_trainable_params = 12});
  m.Module("dense", {.variables = {kernel}, .num_params = 12, .num_trainable_params = 12});
  m.Module("norm", {.variables = {moving}, .num_params = 4});
  const ParamCounts counts = CountParams(*m.Finish());
  EXPECT_EQ(counts.total, 16);
  EXPECT_EQ(counts.trainable, 12);
  EXPECT_EQ(counts.nbytes, 64);
}

TEST(TraceFactsTest, BytesAreUnknownWhereVariablesDoNotAccountForAllParameters) {
  TraceMaker m;
  m.Module("self", {.num_params = 16});
  EXPECT_EQ(CountParams(*m.Finish()).nbytes, std::nullopt);
}

TEST(TraceFactsTest, SeedsAndMetricsAreNoParameters) {
  TraceMaker m;
  const VariableId kernel = m.Variable("drop.kernel", {3, 4});
  const VariableId state = m.Variable("drop.states.0", {2}, {.trainable = false});
  const VariableId seed = m.Variable("drop.seed_generator.state", {2}, {.trainable = false});
  m.Module("self", {.num_params = 14, .num_trainable_params = 12});
  m.Module("drop", {.variables = {kernel, state, seed}, .num_params = 14});
  const ParamCounts counts = CountParams(*m.Finish());
  EXPECT_EQ(counts.total, 14);
  EXPECT_EQ(counts.nbytes, 56);
}

TEST(TraceFactsTest, TheRootOfARawCallableIsCalledByTheRecording) {
  const auto is_called = [](const char* kind) {
    TraceMaker m;
    m.Module("self");
    m.tables().info.root_kind = kind;
    return RootIsCalled(*m.Finish());
  };
  EXPECT_TRUE(is_called("function"));
  EXPECT_TRUE(is_called("concrete_function"));
  EXPECT_FALSE(is_called("keras"));
  EXPECT_FALSE(is_called("block"));
}

TEST(TraceFactsTest, WithoutModulesVariablesAreTheParameters) {
  TraceMaker m;
  m.Variable("w", {3, 4});
  m.Variable("step", {}, {.dtype = DType::kInt64, .trainable = false});
  const ParamCounts counts = CountParams(*m.Finish());
  EXPECT_EQ(counts.total, 13);
  EXPECT_EQ(counts.trainable, 12);
  EXPECT_EQ(counts.nbytes, 56);
}

TEST(TraceFactsTest, AnUnknownShapeMakesCountsUnknown) {
  TraceMaker m;
  const VariableId w = m.Variable("w", {3, 4});
  m.tables().variables[w].shape_known = false;
  const ParamCounts counts = CountParams(*m.Finish());
  EXPECT_EQ(counts.total, std::nullopt);
  EXPECT_EQ(counts.trainable, std::nullopt);
}

TEST(TraceFactsTest, ActivationsAreWhatOpsComputed) {
  TraceMaker m;
  const VariableId w = m.Variable("w", {3});
  const TensorId x = m.Input("x", {100});
  m.Read(w);
  m.Op("Relu", {x}, {.dims = {10}});
  const TensorId largest = m.Op("Tile", {x}, {.dims = {20}, .state = PayloadState::kNotKept});
  const auto trace = m.Finish();
  const MemoryFacts facts = CountMemory(*trace, CostIndex(*trace));
  EXPECT_EQ(facts.activations, 2);
  EXPECT_EQ(facts.nbytes, 120);
  EXPECT_EQ(facts.kept_nbytes, 40);
  EXPECT_EQ(facts.not_kept, 1);
  EXPECT_EQ(facts.stats_only, 0);
  EXPECT_EQ(facts.largest, largest);
}

TEST(TraceFactsTest, AModulesTimeHoldsACallInsideItselfOnce) {
  TraceMaker m;
  m.Call("block", [&] {
    m.Op("A", {}, {.duration_ns = 10});
    m.Call("block", [&] { m.Op("B", {}, {.duration_ns = 5}); });
  });
  m.Call("block", [&] { m.Op("C", {}, {.duration_ns = 100}); });
  EXPECT_EQ(ModuleDuration(*m.Finish(), 0), 115);
}

TEST(MergedShapeTest, ShowsWhatTensorsHaveInCommon) {
  TraceMaker m;
  const TensorId a = m.Input("a", {1, 4});
  const TensorId b = m.Input("b", {2, 4});
  const TensorId scalar = m.Input("c", {});
  const TensorId vector = m.Input("d", {7});
  const TensorId unknown = m.Input("e", {});
  const TensorId part = m.Input("f", {1, 4});
  m.tables().tensors[part].dims = m.builder().InternDims(Dims{-1, 4});
  for (const TensorId tensor : {unknown, part}) m.tables().tensors[tensor].shape_known = false;
  const auto trace = m.Finish();
  const auto merged = [&](const std::vector<TensorId>& tensors, size_t outputs = 1) {
    MergedShape shape;
    for (const TensorId tensor : tensors) shape.Add(*trace, tensor);
    return shape.ToString(outputs);
  };
  EXPECT_EQ(merged({a}), "f32 (1, 4)");
  EXPECT_EQ(merged({a, a}), "f32 (1, 4)");
  EXPECT_EQ(merged({a, b}), "f32 (*, 4)");
  EXPECT_EQ(merged({a, vector}), "varies");
  EXPECT_EQ(merged({a, unknown}), "varies");
  EXPECT_EQ(merged({unknown}), "f32 ?");
  EXPECT_EQ(merged({part}), "f32 (?, 4)");
  EXPECT_EQ(merged({a, part}), "f32 (*, 4)");
  EXPECT_EQ(merged({scalar}), "f32 ()");
  EXPECT_EQ(merged({vector}), "f32 (7,)");
  EXPECT_EQ(merged({a}, 3), "f32 (1, 4) +2");
  EXPECT_EQ(merged({}), "?");
}

TEST(CountsTest, TheLargestComesFirst) {
  EXPECT_EQ(TopCounts({{"Relu", 1}, {"MatMul", 3}, {"Add", 1}}, 2), "MatMul x3, Add, ...");
  EXPECT_EQ(TopCounts({}, 2), "");
  EXPECT_EQ(CountsText({{"op", 3}, {"variable", 1200}}), "1,200 variable, 3 op");
}

}  // namespace
}  // namespace flowscope
