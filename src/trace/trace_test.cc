#include "trace/trace.h"

#include <algorithm>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/lint.h"
#include "trace/region_path.h"
#include "trace/testing.h"

namespace flowscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Trace, AnEmptyRecordingIsSound) {
  TraceMaker m;
  const auto trace = m.Finish();
  EXPECT_EQ(trace->num_ops(), 0u);
  EXPECT_THAT(Lint(*trace), IsEmpty());
}

TEST(Trace, ParentsAndChildrenComeOnceAndInOrder) {
  TraceMaker m;
  const TensorId x = m.Input("x", {2});
  const TensorId a = m.Op("Abs", {x});
  const TensorId b = m.Op("Neg", {x});
  m.Op("AddN", {b, a, b, m.Literal(1)});
  const OpId sum = m.last_op();
  m.Op("Mul", {a, a});
  const OpId square = m.last_op();
  const auto trace = m.Finish();
  EXPECT_THAT(trace->Parents(sum), ElementsAre(2, 1));
  EXPECT_THAT(trace->Parents(square), ElementsAre(1));
  EXPECT_THAT(trace->Parents(0), IsEmpty());
  EXPECT_THAT(trace->Children(0), ElementsAre(1, 2));
  EXPECT_THAT(trace->Children(1), ElementsAre(sum, square));
  EXPECT_THAT(trace->Children(sum), IsEmpty());
  EXPECT_EQ(trace->inputs(sum).size(), 4u);
}

TEST(Trace, LiteralsAndResourcesHaveNoProducer) {
  TraceMaker m;
  const VariableId v = m.Variable("v", {2});
  m.Op("Mul", {m.Read(v), m.Literal(3)});
  const OpId product = m.last_op();
  const auto trace = m.Finish();
  EXPECT_THAT(trace->Parents(product), ElementsAre(product - 1));
  EXPECT_THAT(trace->Parents(product - 1), IsEmpty());
  EXPECT_EQ(trace->inputs(product)[1].edge_class, EdgeClass::kLiteral);
  EXPECT_EQ(trace->inputs(product - 1)[0].edge_class, EdgeClass::kVariable);
}

TEST(Trace, SeveralOutputsAreConsecutiveTensors) {
  TraceMaker m;
  const TensorId x = m.Input("x", {4});
  const TensorId first = m.Op("Split", {x}, {.dims = {2}, .num_outputs = 2});
  const OpId split = m.last_op();
  m.Op("Abs", {first + 1});
  const auto trace = m.Finish();
  EXPECT_EQ(trace->output(split, 1), first + 1);
  EXPECT_EQ(trace->tensor(first + 1).output_index, 1);
  EXPECT_EQ(trace->tensor(first + 1).producer, split);
  EXPECT_THAT(trace->Children(split), ElementsAre(split + 1));
}

TEST(Trace, GroupsOpsBySiteAndCallsByModule) {
  TraceMaker m;
  for (int i = 0; i < 3; ++i) {
    m.Call("a", [&] { m.Op("Abs"); });
    m.Call("b", [&] {});
  }
  const auto trace = m.Finish();
  EXPECT_THAT(trace->OpsOfSite(0), ElementsAre(0, 1, 2));
  EXPECT_THAT(trace->CallsOfModule(0), ElementsAre(0, 2, 4));
  EXPECT_THAT(trace->CallsOfModule(1), ElementsAre(1, 3, 5));
  EXPECT_EQ(trace->CallLabel(4), "a:3");
}

TEST(Trace, Labels) {
  TraceMaker m;
  m.Input("x", {1});
  for (int i = 0; i < 2; ++i) m.Call("dense", [&] { m.Op("MatMul"); });
  const auto trace = m.Finish();
  EXPECT_EQ(trace->LayerLabel(1), "matmul_1_2");
  EXPECT_EQ(trace->LayerLabelShort(1), "matmul_1");
  EXPECT_EQ(trace->OpLabel(2), "matmul_1_2:2");
  EXPECT_EQ(trace->OpLabelShort(2), "matmul_1:2");
}

TEST(Trace, ModuleStackGoesFromTheInside) {
  TraceMaker m;
  m.Module("self");
  m.Call("self", [&] { m.Call("block", [&] { m.Call("block.dense", [&] { m.Op("MatMul"); }); }); });
  const auto trace = m.Finish();
  EXPECT_THAT(trace->ModuleStack(2), ElementsAre(2, 1, 0));
  EXPECT_TRUE(trace->InModuleCall(0, 0));
  EXPECT_TRUE(trace->InModuleCall(0, 2));
  EXPECT_EQ(trace->ModuleAddress(0), "block.dense");
  EXPECT_EQ(trace->str(trace->module(trace->module(2).parent).address), "block");
}

TEST(Trace, OpsOfSiblingsAreNotInTheModuleCall) {
  TraceMaker m;
  m.Call("a", [&] { m.Op("Abs"); });
  m.Call("b", [&] { m.Op("Abs"); });
  const auto trace = m.Finish();
  EXPECT_TRUE(trace->InModuleCall(1, 1));
  EXPECT_FALSE(trace->InModuleCall(1, 0));
}

TEST(Trace, ALongRegionPathIsShownByItsEnds) {
  TraceMaker m;
  const std::function<void(size_t)> nest = [&](size_t left) {
    if (left == 0) return void(m.Op("Abs"));
    m.Function("f" + std::to_string(left), [&] { nest(left - 1); });
  };
  nest(kMostRegionNames);
  nest(kMostRegionNames + 3);
  const auto trace = m.Finish();
  const std::string whole = trace->RegionPath(trace->op(0).region);
  EXPECT_EQ(std::ranges::count(whole, '/'), kMostRegionNames - 1);
  const std::string cut = trace->RegionPath(trace->op(1).region);
  EXPECT_EQ(std::ranges::count(cut, '/'), kMostRegionNames);
  EXPECT_NE(cut.find("f36/(3 more)/f32"), std::string::npos);
  EXPECT_EQ(cut.substr(cut.size() - 3), "/f1");
  EXPECT_EQ(Lint(*trace), std::vector<std::string>());
}

TEST(Trace, RegionPathWithAndWithoutIterations) {
  TraceMaker m;
  m.Function("f", [&] {
    m.Iteration("while", 3, [&] { m.Branch("cond:true", 1, [&] { m.Op("Abs"); }); });
  });
  const auto trace = m.Finish();
  const RegionId region = trace->op(0).region;
  EXPECT_EQ(trace->RegionPath(region), "f/while[3]/cond:true");
  EXPECT_EQ(trace->RegionPath(region, false), "f/while/cond:true");
  EXPECT_EQ(trace->RegionPath(0), "");
}

TEST(Trace, ReadsValuesFromTheirSource) {
  TraceMaker m;
  const TensorId x = m.Input("x", {2, 1}, {1.5f, -2});
  const TensorId lost = m.Op("Abs", {x}, {.dims = {2, 1}, .state = PayloadState::kNotKept});
  const auto trace = m.Finish();
  const Result<Payload> value = trace->ReadTensor(x);
  ASSERT_TRUE(value.ok());
  EXPECT_THAT(value->dims, ElementsAre(2, 1));
  ASSERT_EQ(value->nbytes, 8u);
  EXPECT_EQ(static_cast<const float*>(value->data)[1], -2);
  EXPECT_EQ(trace->ReadTensor(lost).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(trace->ReadTensor(1000).status().code(), StatusCode::kNotFound);
}

TEST(Trace, ValuesOutliveTheTrace) {
  TraceMaker m;
  const TensorId x = m.Input("x", {1}, {7});
  auto trace = m.Finish();
  const Payload value = *trace->ReadTensor(x);
  m.payloads() = MemoryPayloads();
  trace.reset();
  EXPECT_EQ(*static_cast<const float*>(value.data), 7);
}

TEST(Trace, WithoutASourceOfValuesItSaysSo) {
  TraceBuilder builder;
  builder.AddTensor({});
  const auto trace = std::move(builder).Finish(nullptr);
  EXPECT_EQ(trace->ReadTensor(0).status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(trace->StoredStats(0).has_value());
}

TEST(Trace, StoredStatistics) {
  TraceMaker m;
  const TensorId x = m.Op("Abs", {}, {.dims = {2}, .state = PayloadState::kStats});
  m.payloads().KeepStats(x, {.numeric = true, .count = 2, .max = 5});
  const auto trace = m.Finish();
  ASSERT_TRUE(trace->StoredStats(x).has_value());
  EXPECT_EQ(trace->StoredStats(x)->max, 5);
}

TEST(Trace, CountsEdgesByClass) {
  TraceMaker m;
  const TensorId x = m.Input("x", {1});
  const VariableId v = m.Variable("v", {1});
  const TensorId sum = m.Op("AddN", {x, m.Constant("c", {1}), m.Literal(1), m.FromPython({1})});
  m.Op("Mul", {sum, m.Read(v)});
  m.Op("LookupTableFindV2", {m.Resource(), sum});
  m.OpOnUnexplained("Abs");
  const auto counts = m.Finish()->CountEdges();
  const auto count = [&](EdgeClass c) { return counts[static_cast<size_t>(c)]; };
  EXPECT_EQ(count(EdgeClass::kOp), 3);
  EXPECT_EQ(count(EdgeClass::kInput), 1);
  EXPECT_EQ(count(EdgeClass::kConstant), 1);
  EXPECT_EQ(count(EdgeClass::kLiteral), 1);
  EXPECT_EQ(count(EdgeClass::kFromPython), 1);
  EXPECT_EQ(count(EdgeClass::kVariable), 1);
  EXPECT_EQ(count(EdgeClass::kResource), 1);
  EXPECT_EQ(count(EdgeClass::kUnexplained), 1);
}

TEST(Trace, VersionsAndAccessesOfVariables) {
  TraceMaker m;
  const VariableId v = m.Variable("bn.mean", {1}, {.values = {4}});
  const VariableId other = m.Variable("bn.var", {1});
  const TensorId old_value = m.Read(v);
  const OpId read = m.last_op();
  m.Assign(v, m.Op("Neg", {old_value}, {.dims = {1}, .values = {-4}}));
  const OpId write = m.last_op();
  m.ChangeOutside(v, {9});
  const TensorId new_value = m.Read(v);
  m.Read(other);
  const auto trace = m.Finish();
  const auto versions = trace->VersionsOfVariable(v);
  ASSERT_EQ(versions.size(), 3u);
  EXPECT_EQ(versions[0].writer, kNoId);
  EXPECT_EQ(versions[1].writer, write);
  EXPECT_EQ(versions[2].writer, kNoId);
  ASSERT_EQ(trace->AccessesOfOp(read).size(), 1u);
  EXPECT_EQ(trace->AccessesOfOp(read)[0].version, 0u);
  EXPECT_FALSE(trace->AccessesOfOp(read)[0].write);
  ASSERT_EQ(trace->AccessesOfOp(write).size(), 1u);
  EXPECT_TRUE(trace->AccessesOfOp(write)[0].write);
  EXPECT_THAT(trace->AccessesOfOp(read + 1), IsEmpty());
  EXPECT_EQ(*static_cast<const float*>(trace->ReadTensor(old_value)->data), 4);
  EXPECT_EQ(*static_cast<const float*>(trace->ReadTensor(new_value)->data), 9);
  EXPECT_THAT(Lint(*trace), IsEmpty());
}

TEST(Trace, KindNamesGoBothWays) {
  EXPECT_EQ(OpKindFromName("variable_read"), OpKind::kVariableRead);
  EXPECT_EQ(OpKindName(OpKind::kEffect), "effect");
  EXPECT_EQ(OpKindFromName("no such kind"), std::nullopt);
  EXPECT_EQ(OpKindName(static_cast<OpKind>(200)), "unknown");
}

}  // namespace
}  // namespace flowscope
