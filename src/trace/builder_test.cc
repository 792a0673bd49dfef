#include "trace/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/lint.h"
#include "trace/testing.h"

namespace flowscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> OpLabels(const Trace& trace) {
  std::vector<std::string> labels;
  for (OpId id = 0; id < trace.num_ops(); ++id) labels.push_back(trace.OpLabel(id));
  return labels;
}

TEST(Builder, LabelsCountTypesAndSites) {
  TraceMaker m;
  const TensorId x = m.Input("x", {2});
  const TensorId y = m.Op("Relu", {x});
  m.Op("AddV2", {y, m.Op("Relu", {y})});
  EXPECT_THAT(OpLabels(*m.Finish()),
              ElementsAre("input_1_1:1", "relu_1_2:1", "relu_2_3:1", "addv2_1_4:1"));
}

TEST(Builder, LabelsAreTheSameWhileRecordingAndAfter) {
  TraceMaker m;
  std::vector<std::string> seen;
  const TensorId x = m.Input("x", {2});
  seen.push_back(m.builder().OpLabel(m.OpOf(x)));
  for (int i = 0; i < 3; ++i) {
    m.Call("dense", [&] {
      m.Op("MatMul", {x});
      seen.push_back(m.builder().OpLabel(m.last_op()));
      m.Op("Relu", {x});
      seen.push_back(m.builder().OpLabel(m.last_op()));
    });
  }
  EXPECT_EQ(OpLabels(*m.Finish()), seen);
}

TEST(Builder, ACallThatGoesOnLaterIsOneCall) {
  TraceMaker m;
  const TensorId x = m.Input("x", {2});
  std::shared_ptr<TraceBuilder::SuspendedCall> suspended;
  ModuleCallId call = kNoId;
  m.Call("dense", [&] {
    call = m.builder().current_module_call();
    m.Op("MatMul", {x});
    suspended = m.builder().SuspendModuleCall(call, 0);
  });
  m.Op("Relu", {x});
  m.builder().ResumeModuleCall(*suspended);
  const TensorId last = m.Op("MatMul", {x});
  m.builder().CloseModuleCall(call, 0, false);
  const auto trace = m.Finish();
  EXPECT_THAT(Lint(*trace), IsEmpty());
  EXPECT_EQ(trace->tables().module_calls.size(), 1u);
  EXPECT_TRUE(trace->InModuleCall(trace->tensor(last).producer, call));
  EXPECT_FALSE(trace->InModuleCall(trace->tensor(last).producer - 1, call));
  // The second MatMul of the call, not a second pass of the first.
  EXPECT_THAT(OpLabels(*trace),
              ElementsAre("input_1_1:1", "matmul_1_2:1", "relu_1_3:1", "matmul_2_4:1"));
}

TEST(Builder, SuspendingACallThatIsNotOpenGivesNothing) {
  TraceMaker m;
  EXPECT_EQ(m.builder().SuspendModuleCall(3, 0), nullptr);
}

TEST(Builder, TypesThatDifferInCaseDoNotShareShortLabels) {
  TraceMaker m;
  m.Op("Elu");
  m.Op("ELU");
  const auto trace = m.Finish();
  EXPECT_EQ(trace->LayerLabelShort(0), "elu_1");
  EXPECT_EQ(trace->LayerLabelShort(1), "elu_2");
}

TEST(Builder, CallsOfOneModuleArePassesOfItsSites) {
  TraceMaker m;
  const TensorId x = m.Input("x", {2});
  for (int i = 0; i < 2; ++i) {
    m.Call("shared", [&] { m.Op("MatMul", {m.Op("MatMul", {x})}); });
  }
  EXPECT_THAT(OpLabels(*m.Finish()), ElementsAre("input_1_1:1", "matmul_1_2:1", "matmul_2_3:1",
                                                 "matmul_1_2:2", "matmul_2_3:2"));
}

TEST(Builder, CodeOutsideModulesAndFunctionsIsNeverGrouped) {
  TraceMaker m;
  for (int i = 0; i < 3; ++i) m.Op("Abs");
  EXPECT_THAT(OpLabels(*m.Finish()), ElementsAre("abs_1_1:1", "abs_2_2:1", "abs_3_3:1"));
}

TEST(Builder, IterationsAndFunctionCallsArePasses) {
  TraceMaker m;
  for (int call = 0; call < 2; ++call) {
    m.Function("step", [&] {
      m.Op("Abs");
      for (uint32_t i = 0; i < 2; ++i) m.Iteration("while", i, [&] { m.Op("Abs"); });
    });
  }
  const auto trace = m.Finish();
  EXPECT_THAT(OpLabels(*trace), ElementsAre("abs_1_1:1", "abs_2_2:1", "abs_2_2:2", "abs_1_1:2",
                                            "abs_2_2:3", "abs_2_2:4"));
  EXPECT_EQ(trace->str(trace->site(1).region_path), "step/while");
  EXPECT_EQ(trace->RegionPath(trace->op(2).region), "step/while[1]");
  EXPECT_THAT(Lint(*trace), IsEmpty());
}

TEST(Builder, TwoModulesDoNotShareSites) {
  TraceMaker m;
  m.Call("a", [&] { m.Op("Abs"); });
  m.Call("b", [&] { m.Op("Abs"); });
  m.Call("a", [&] { m.Op("Abs"); });
  const auto trace = m.Finish();
  EXPECT_THAT(OpLabels(*trace), ElementsAre("abs_1_1:1", "abs_2_2:1", "abs_1_1:2"));
  EXPECT_EQ(trace->str(trace->site(1).module_address), "b");
}

TEST(Builder, ModuleCallsNestAndCountTheirOps) {
  TraceMaker m;
  ModuleCallId inner = kNoId;
  m.Call("outer", [&] {
    m.Op("Abs");
    m.Call("outer.inner", [&] { m.Op("Neg"); });
    inner = m.last_call();
    m.Op("Abs");
  });
  const ModuleCallId outer = m.last_call();
  m.Op("Sign");
  const auto trace = m.Finish();
  EXPECT_EQ(trace->module_call(inner).parent, outer);
  EXPECT_EQ(trace->module_call(outer).parent, kNoId);
  EXPECT_EQ(trace->module_call(outer).first_op, 0u);
  EXPECT_EQ(trace->module_call(outer).end_op, 3u);
  EXPECT_EQ(trace->module_call(inner).first_op, 1u);
  EXPECT_EQ(trace->module_call(inner).end_op, 2u);
  EXPECT_EQ(trace->op(3).module_call, kNoId);
}

TEST(Builder, SourcesStandOutsideTheModuleThatUsesThem) {
  TraceMaker m;
  OpId constant = kNoId;
  m.Call("dense", [&] {
    constant = m.OpOf(m.Constant("bias", {2}));
    m.Op("Abs");
  });
  const auto trace = m.Finish();
  EXPECT_EQ(trace->op(constant).module_call, kNoId);
  EXPECT_EQ(trace->ModuleAddress(constant), "self");
  EXPECT_THAT(Lint(*trace), IsEmpty());
}

TEST(Builder, ClosingACallClosesWhatAnExceptionLeftOpenInside) {
  TraceMaker m;
  TraceBuilder& builder = m.builder();
  const ModuleId outer = m.Module("outer");
  const ModuleId inner = m.Module("outer.inner");
  const ModuleCallId outer_call = builder.OpenModuleCall(outer, 0);
  const ModuleCallId inner_call = builder.OpenModuleCall(inner, 10);
  m.Op("Abs");
  builder.CloseModuleCall(outer_call, 5000, true);
  EXPECT_EQ(builder.current_module_call(), kNoId);
  builder.CloseModuleCall(inner_call, 6000, true);  // comes too late: nothing to do
  m.Op("Neg");
  const auto trace = m.Finish();
  EXPECT_TRUE(trace->module_call(inner_call).failed);
  EXPECT_EQ(trace->module_call(inner_call).duration_ns, 4990);
  EXPECT_EQ(trace->module_call(inner_call).end_op, 1u);
  EXPECT_EQ(trace->op(1).module_call, kNoId);
  EXPECT_THAT(Lint(*trace), IsEmpty());
}

TEST(Builder, FinishClosesWhatIsStillOpen) {
  TraceMaker m;
  const ModuleId module = m.Module("dense");
  m.Op("Abs");
  const ModuleCallId call = m.builder().OpenModuleCall(module, 1000);
  m.Op("Neg", {}, {.duration_ns = 500});
  const auto trace = m.Finish();
  EXPECT_TRUE(trace->module_call(call).failed);
  EXPECT_EQ(trace->module_call(call).duration_ns, 500);  // until its last op ended
  EXPECT_THAT(Lint(*trace), IsEmpty());
}

TEST(Builder, ClosingARegionClosesTheCallsInside) {
  TraceMaker m;
  const ModuleId module = m.Module("dense");
  ModuleCallId call = kNoId;
  m.Function("f", [&] {
    m.Op("Abs");
    call = m.builder().OpenModuleCall(module, 1000);
    m.Op("Neg", {}, {.duration_ns = 700});
  });
  EXPECT_EQ(m.builder().current_region(), 0u);
  EXPECT_EQ(m.builder().current_module_call(), kNoId);
  const auto trace = m.Finish();
  EXPECT_TRUE(trace->module_call(call).failed);
  EXPECT_EQ(trace->module_call(call).duration_ns, 700);
}

TEST(Builder, ScopesOfModulesAndRegionsMix) {
  TraceMaker m;
  m.Call("cell", [&] {
    m.Function("f", [&] {
      m.Op("Abs");
      m.Call("cell.gate", [&] { m.Op("Abs"); });
    });
    m.Op("Abs");
  });
  const auto trace = m.Finish();
  EXPECT_EQ(trace->ModuleAddress(0), "cell");
  EXPECT_EQ(trace->RegionPath(trace->op(0).region), "f");
  EXPECT_EQ(trace->ModuleAddress(1), "cell.gate");
  EXPECT_EQ(trace->RegionPath(trace->op(1).region), "f");
  EXPECT_EQ(trace->RegionPath(trace->op(2).region), "");
  EXPECT_THAT(OpLabels(*trace), ElementsAre("abs_1_1:1", "abs_2_2:1", "abs_3_3:1"));
}

TEST(Builder, AccessesAreSortedByOp) {
  TraceMaker m;
  const VariableId v = m.Variable("v", {2});
  m.Read(v);
  m.Read(v);
  std::swap(m.tables().accesses[0], m.tables().accesses[1]);
  const auto trace = m.Finish();
  EXPECT_LT(trace->tables().accesses[0].op, trace->tables().accesses[1].op);
}

TEST(Builder, ShapesAreInternedOnce) {
  TraceBuilder builder;
  const std::vector<int64_t> dims{2, 3};
  const std::vector<int64_t> none;
  EXPECT_EQ(builder.InternDims(dims), builder.InternDims(dims));
  EXPECT_EQ(builder.InternDims(none), 0u);
}

}  // namespace
}  // namespace flowscope
