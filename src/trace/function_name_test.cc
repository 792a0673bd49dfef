#include "trace/function_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/lint.h"
#include "trace/selector.h"
#include "trace/testing.h"

namespace flowscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FunctionName, IsWhatThePersonWrote) {
  EXPECT_EQ(ReadableFunctionName("newton"), "newton");
  EXPECT_EQ(ReadableFunctionName("while_body_389"), "while_body");
  EXPECT_EQ(ReadableFunctionName("__inference_newton_27"), "newton");
  EXPECT_EQ(ReadableFunctionName("__forward_newton_36"), "newton");
  EXPECT_EQ(ReadableFunctionName("__inference_layer_2_27"), "layer_2");
  EXPECT_EQ(ReadableFunctionName("PartitionedCall"), "PartitionedCall");
}

// The number of the forward function stands before that of the backward one.
TEST(FunctionName, OfABackwardFunctionHasNoNumberLeft) {
  EXPECT_EQ(ReadableFunctionName("__backward_newton_23"), "backward_newton");
  EXPECT_EQ(ReadableFunctionName("__inference___backward_newton_23_37"), "backward_newton");
  EXPECT_EQ(ReadableFunctionName("__inference___backward_layer_2_23_37"), "backward_layer_2");
  EXPECT_EQ(ReadableFunctionName("__forward___backward_newton_23_90"), "backward_newton");
}

TEST(FunctionName, OfNothingElseStays) {
  EXPECT_EQ(ReadableFunctionName(""), "");
  EXPECT_EQ(ReadableFunctionName("27"), "27");
  EXPECT_EQ(ReadableFunctionName("_27"), "_27");
  EXPECT_EQ(ReadableFunctionName("f27"), "f27");
  EXPECT_EQ(ReadableFunctionName("__inference_"), "__inference_");
}

TEST(FunctionName, OfAGraphThatIsTraced) {
  EXPECT_EQ(ReadableGraphName("while_body_389"), "while_body");
  EXPECT_EQ(ReadableGraphName("outer_while_cond_24_rewritten_grad_97"),
            "outer_while_cond_rewritten_grad");
  EXPECT_EQ(ReadableGraphName("switch_case_indexed_case_branch2_61"),
            "switch_case_indexed_case_branch2");
  EXPECT_EQ(ReadableGraphName("cond_true_9_grad_62"), "cond_true_grad");
  EXPECT_EQ(ReadableGraphName("stage_2"), "stage_2");
  EXPECT_EQ(ReadableGraphName("stage_2_grad"), "stage_2_grad");
  EXPECT_EQ(ReadableGraphName("branch_2"), "branch_2");
  EXPECT_EQ(ReadableGraphName("my_grad"), "my_grad");
}

class CallSites : public ::testing::Test {
 protected:
  TensorId Call(std::string_view function, TensorId x) {
    OpSpec spec;
    spec.kind = OpKind::kCall;
    return m_.Op(function, {x}, spec);
  }
  TraceMaker m_;
};

// Another build of the model calls the function by another number.
TEST_F(CallSites, AreNamedWithoutTheNumberOfTheProcess) {
  const TensorId x = m_.Input("x", {2});
  Call("__inference_f_72", Call("__inference_f_72", x));
  Call("__inference_f_172", x);
  m_.Op("Layer_2", {x});
  const auto trace = m_.Finish();
  std::vector<std::string> labels;
  for (OpId id = 0; id < trace->num_ops(); ++id) labels.push_back(trace->OpLabel(id));
  EXPECT_THAT(labels, ElementsAre("input_1_1:1", "f_1_2:1", "f_2_3:1", "f_3_4:1", "layer_2_1_5:1"));
  EXPECT_EQ(trace->str(trace->op(3).type), "__inference_f_172");
  EXPECT_EQ(trace->site(trace->op(3).site).nth, 3U);
  EXPECT_THAT(Lint(*trace), IsEmpty());
}

TEST_F(CallSites, AreSelectedByBothNames) {
  const TensorId x = m_.Input("x", {2});
  Call("__inference_f_72", x);
  Call("__inference_g_73", x);
  const auto trace = m_.Finish();
  const auto found = [&](const char* type) {
    const auto selector = SelectFunc(type);
    EXPECT_TRUE(selector->NamesSomething(trace->tables())) << type;
    return Select(*trace, selector).value();
  };
  EXPECT_THAT(found("f"), ElementsAre(1));
  EXPECT_THAT(found("__inference_f_72"), ElementsAre(1));
  EXPECT_THAT(found("__inference_*"), ElementsAre(1, 2));
}

}  // namespace
}  // namespace flowscope
