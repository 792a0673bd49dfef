#include "interp/op_function.h"

#include <algorithm>

#include "interp/attr_value.h"
#include "interp/interpreter_test.h"

namespace flowscope::interp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OpFunctionTest : public InterpreterTest {
 protected:
  static std::string Attrs(const std::string& op, const fake::Attrs& attrs) {
    return WriteNameAttrList(op, {attrs.begin(), attrs.end()});
  }

  // Runs the op as an interpreter runs a function.
  std::vector<tf::HandlePtr> RunOp(const std::string& op, const std::string& attrs,
                                   const std::vector<TFE_TensorHandle*>& args) {
    host_ = LogHost();
    const Result<std::string> definition = FunctionOfOp(op, attrs, args.size());
    EXPECT_TRUE(definition.ok());
    const auto findings = interpreter_.Examine(fake::Context(), op, *definition);
    EXPECT_EQ(findings.refused, std::nullopt);
    const tf::StatusPtr status = tf::NewStatus();
    return interpreter_.Run(fake::Context(), op, args, host_, status.get(), *definition);
  }
};

TEST_F(OpFunctionTest, ALoopIsRunByItsIterations) {
  AddCountingLoop();
  const std::string attrs =
      Attrs("While", {{"T", Types({DType::kInt32, DType::kInt32, DType::kFloat32})},
                      {"body", fake::FuncAttr("step")},
                      {"cond", fake::FuncAttr("goes_on")}});
  const fake::Handle zero = fake::Scalar(int32_t{0});
  const fake::Handle two = fake::Scalar(int32_t{2});
  const fake::Handle x = fake::Scalar(5.F);
  const std::vector<tf::HandlePtr> results = RunOp("While", attrs, {zero, two, x});
  ASSERT_EQ(results.size(), 3U);
  EXPECT_THAT(fake::Floats(results[2].get()), ElementsAre(7));
  EXPECT_EQ(std::ranges::count(host_.log, "> while #1 iteration if true"), 1);
}

TEST_F(OpFunctionTest, ABranchIsRunAsTheOneThatIsTaken) {
  AddBranches();
  const std::string attrs = Attrs("If", {{"Tcond", fake::TypeAttr(DType::kBool)},
                                         {"Tin", Types({DType::kFloat32})},
                                         {"Tout", Types({DType::kFloat32})},
                                         {"else_branch", fake::FuncAttr("keep")},
                                         {"then_branch", fake::FuncAttr("negate")}});
  const fake::Handle yes = fake::Scalar(true);
  const fake::Handle x = fake::Scalar(2.F);
  const std::vector<tf::HandlePtr> results = RunOp("If", attrs, {yes, x});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_THAT(fake::Floats(results[0].get()), ElementsAre(-2));
  EXPECT_THAT(host_.log,
              ElementsAre("> If #0", "> cond:then_branch #0 branch if true", "Neg neg", "<", "<"));
}

TEST_F(OpFunctionTest, AFunctionThatIsNotThereIsTold) {
  const std::string attrs = Attrs("StatelessCase", {{"Tin", Types({DType::kFloat32})},
                                                    {"Tout", Types({DType::kFloat32})},
                                                    {"branches", fake::FunctionsAttr({"gone"})}});
  const Result<std::string> definition = FunctionOfOp("StatelessCase", attrs, 2);
  ASSERT_TRUE(definition.ok());
  const auto findings = interpreter_.Examine(fake::Context(), "StatelessCase", *definition);
  EXPECT_THAT(findings.refused.value_or(""), HasSubstr("gone"));
}

TEST(ControlFlowOps, AreTheFamiliesOfThree) {
  for (const char* op : {"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"}) {
    EXPECT_TRUE(IsControlFlowOp(op)) << op;
  }
  EXPECT_FALSE(IsControlFlowOp("PartitionedCall"));
  EXPECT_FALSE(IsControlFlowOp("MatMul"));
  EXPECT_FALSE(FunctionOfOp("If", "\xff", 2).ok());
}

}  // namespace
}  // namespace flowscope::interp
