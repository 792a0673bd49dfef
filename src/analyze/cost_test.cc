#include "analyze/cost.h"

#include <gtest/gtest.h>

#include "trace/testing.h"

namespace flowscope {
namespace {

// self: dense (1x3 by 3x4 matmul, bias) and a relu of its own.
struct DenseTrace {
  TraceMaker m;
  VariableId kernel = m.Variable("dense.kernel", {3, 4});
  OpId read = kNoId, matmul = kNoId, relu = kNoId;
  std::shared_ptr<const Trace> trace;

  DenseTrace() {
    m.Module("self");
    const TensorId x = m.Input("x", {1, 3});
    m.Call("self", [&] {
      const TensorId y = m.Call("dense", [&] {
        const TensorId value = m.Read(kernel);
        read = m.last_op();
        const TensorId product = m.Op("MatMul", {x, value}, {.dims = {1, 4}});
        matmul = m.last_op();
        return product;
      });
      const TensorId z = m.Op("Relu", {y});
      relu = m.last_op();
      return z;
    });
    trace = m.Finish();
  }
  ModuleId Module(std::string_view address) const {
    for (ModuleId id = 0; id < trace->tables().modules.size(); ++id) {
      if (trace->str(trace->module(id).address) == address) return id;
    }
    return kNoId;
  }
};

TEST(CostTest, AnOpReadsItsInputsAndWritesItsOutputs) {
  const DenseTrace t;
  const Cost cost = OpCost(*t.trace, t.matmul);
  EXPECT_EQ(cost.flops, 24);
  EXPECT_EQ(cost.bytes_read, (3 + 12) * 4);
  EXPECT_EQ(cost.bytes_written, 4 * 4);
  EXPECT_EQ(cost.ops, 1);
  EXPECT_EQ(cost.ops_without_formula, 0);
}

TEST(CostTest, AVariableReadCountsTheVariable) {
  const DenseTrace t;
  EXPECT_EQ(OpCost(*t.trace, t.read).bytes_read, 12 * 4);
  EXPECT_EQ(OpCost(*t.trace, t.read).flops, 0);
}

TEST(CostTest, ModulesHoldTheirDescendants) {
  const DenseTrace t;
  EXPECT_EQ(ModuleCost(*t.trace, t.Module("dense")).flops, 24);
  EXPECT_EQ(ModuleCost(*t.trace, t.Module("dense")).ops, 2);
  EXPECT_EQ(ModuleCost(*t.trace, t.Module("self")).flops, 28);
  EXPECT_EQ(ModuleCost(*t.trace, t.Module("self")).ops, 3);
}

TEST(CostTest, SourcesAddNothing) {
  const DenseTrace t;
  EXPECT_EQ(TotalCost(*t.trace).ops, 3);
  EXPECT_EQ(TotalCost(*t.trace).flops, 28);
}

TEST(CostTest, OnePassGivesTheSameAsModuleByModule) {
  const DenseTrace t;
  const CostIndex index(*t.trace);
  const std::vector<Cost> costs = index.OfModules();
  for (ModuleId id = 0; id < costs.size(); ++id) {
    EXPECT_EQ(costs[id].flops, index.OfModule(id).flops);
    EXPECT_EQ(costs[id].bytes_read, index.OfModule(id).bytes_read);
    EXPECT_EQ(costs[id].bytes_written, index.OfModule(id).bytes_written);
    EXPECT_EQ(costs[id].ops, index.OfModule(id).ops);
  }
}

TEST(CostTest, AModuleThatCallsItselfIsCountedOnce) {
  TraceMaker m;
  const TensorId x = m.Input("x", {5});
  m.Call("block", [&] { m.Call("block", [&] { m.Op("Relu", {x}); }); });
  const auto trace = m.Finish();
  EXPECT_EQ(ModuleCost(*trace, 0).flops, 5);
  EXPECT_EQ(CostIndex(*trace).OfModules()[0].flops, 5);
}

TEST(CostTest, EveryCallOfAModuleCounts) {
  TraceMaker m;
  const TensorId x = m.Input("x", {5});
  for (int i = 0; i < 3; ++i) m.Call("block", [&] { m.Op("Relu", {x}); });
  EXPECT_EQ(ModuleCost(*m.Finish(), 0).flops, 15);
}

TEST(CostTest, TheInsideOfAnOpIsCountedOnce) {
  TraceMaker m;
  const TensorId x = m.Input("x", {5});
  m.Op("PartitionedCall", {x}, {.dims = {5}, .kind = OpKind::kCall});
  const OpId call = m.last_op();
  m.Function("f", [&] { m.Op("Relu", {x}); }, call);
  const auto trace = m.Finish();
  EXPECT_TRUE(CostIndex(*trace).is_container(call));
  EXPECT_EQ(OpFlops(*trace, call), 0);
  EXPECT_EQ(TotalCost(*trace).flops, 5);
  EXPECT_EQ(TotalCost(*trace).ops, 1);
  EXPECT_EQ(TotalCost(*trace).ops_without_formula, 0);
}

TEST(CostTest, AnOpaqueCallHasNoFormula) {
  TraceMaker m;
  const TensorId x = m.Input("x", {5});
  m.Op("PartitionedCall", {x},
       {.dims = {5}, .kind = OpKind::kCall, .opaque_reason = "compiled with XLA"});
  const auto trace = m.Finish();
  EXPECT_EQ(TotalCost(*trace).ops_without_formula, 1);
}

TEST(CostTest, AFailedOpIsNotOneWithoutFormula) {
  TraceMaker m;
  m.Op("Relu", {m.Input("x", {2})}, {.error = "out of memory"});
  const Cost cost = TotalCost(*m.Finish());
  EXPECT_EQ(cost.ops, 1);
  EXPECT_EQ(cost.ops_without_formula, 0);
}

}  // namespace
}  // namespace flowscope
