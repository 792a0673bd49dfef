#include <thread>

#include "interp/interpreter_test.h"

namespace flowscope::interp {
namespace {

using fake::FunctionWriter;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(InterpreterTest, CallsRunInRegionsOfTheirOwn) {
  const std::string types = Types({DType::kFloat32});
  AddBranches();
  FunctionWriter("f")
      .Arg("x")
      .Node("by_attr", "StatefulPartitionedCall", {"x"},
            {{"Tin", types},
             {"Tout", types},
             {"f", fake::FuncAttr("negate")},
             {"_XlaMustCompile", fake::BoolAttr(true)}})
      .Node("by_name", "negate", {"by_attr:output:0"})
      .Returns("r", "by_name:r:0")
      .Add();
  const fake::Handle x = fake::Scalar(2.f);
  EXPECT_THAT(fake::Floats(Run("f", {x})[0]), ElementsAre(2));
  EXPECT_THAT(host_.log, ElementsAre("> f #0", "> negate #0", "Neg neg", "<", "> negate #0",
                                     "Neg neg", "<", "<"));
}

TEST_F(InterpreterTest, OnlyTheBranchThatIsTakenRuns) {
  AddBranches();
  const fake::Handle x = fake::Scalar(2.f);
  const fake::Handle yes = fake::Scalar(true);
  EXPECT_THAT(fake::Floats(Run("choose", {yes, x})[0]), ElementsAre(-2));
  EXPECT_THAT(host_.log, ElementsAre("> choose #0", "> cond:then_branch #0 branch if true",
                                     "Neg neg", "<", "<"));
  const fake::Handle no = fake::Scalar(false);
  EXPECT_THAT(fake::Floats(Run("choose", {no, x})[0]), ElementsAre(2));
  EXPECT_THAT(host_.log,
              ElementsAre("> choose #0", "> cond:else_branch #1 branch if false", "<", "<"));
}

TEST_F(InterpreterTest, ValuesOfArgumentsBranchesAndLoopsAreTold) {
  AddBranches();
  const fake::Handle x = fake::Scalar(2.f);
  const fake::Handle yes = fake::Scalar(true);
  Run("choose", {yes, x});
  EXPECT_THAT(host_.told, ElementsAre("arguments + +", "arguments +", "cond +"));
  AddCountingLoop();
  const fake::Handle n = fake::Scalar(int32_t{1});
  Run("count", {n, x});
  // The condition needs no x; it runs before the iteration and after it.
  EXPECT_THAT(host_.told, ElementsAre("arguments + +", "arguments + + -", "arguments + + +",
                                      "arguments + + -", "loop + + +"));
}

TEST_F(InterpreterTest, ACaseOutOfRangeTakesTheLastBranch) {
  AddBranches();
  const fake::Handle x = fake::Scalar(2.f);
  const fake::Handle one = fake::Scalar(int32_t{1});
  EXPECT_THAT(fake::Floats(Run("pick", {one, x})[0]), ElementsAre(2));
  EXPECT_EQ(host_.log[1], "> case:branch_1 #1 branch if 1");
  const fake::Handle far = fake::Scalar(int32_t{-4});
  EXPECT_THAT(fake::Floats(Run("pick", {far, x})[0]), ElementsAre(-2));
  EXPECT_EQ(host_.log[1], "> case:branch_2 #2 branch if -4");
}

TEST_F(InterpreterTest, ALoopHasARegionForEveryIteration) {
  AddCountingLoop();
  const fake::Handle n = fake::Scalar(int32_t{2});
  const fake::Handle x = fake::Scalar(0.5f);
  const auto values = Run("count", {n, x});
  EXPECT_THAT(fake::Ints(values[0]), ElementsAre(2));
  EXPECT_THAT(fake::Floats(values[1]), ElementsAre(2.5));
  EXPECT_THAT(
      host_.log,
      ElementsAre("> count #0", "constant zero = 0",                                       //
                  "> loop:cond #0", "Less less", "<",                                      //
                  "> loop #0 iteration if true", "constant one = 0", "constant onef = 0",  //
                  "AddV2 next", "AddV2 more", "<",                                         //
                  "> loop:cond #1", "Less less", "<",                                      //
                  "> loop #1 iteration if true", "AddV2 next", "AddV2 more", "<",          //
                  "> loop:cond #2", "Less less", "<", "<"));
}

TEST_F(InterpreterTest, ALoopMayNotRunAtAll) {
  AddCountingLoop();
  const fake::Handle n = fake::Scalar(int32_t{0});
  const fake::Handle x = fake::Scalar(0.5f);
  const auto values = Run("count", {n, x});
  EXPECT_EQ(values[1].get(), x.get());
}

TEST_F(InterpreterTest, FunctionsCallThemselvesAsDeepAsMemoryGoes) {
  const std::string types = Types({DType::kInt32});
  const fake::Attrs integer = {{"T", fake::TypeAttr(DType::kInt32)}};
  FunctionWriter("done").Arg("n", DType::kInt32).Returns("r", "n", DType::kInt32).Add();
  FunctionWriter("deeper")
      .Arg("n", DType::kInt32)
      .IntConst("one", 1)
      .Node("less", "Sub", {"n", "one:output:0"}, integer)
      .Node("call", "PartitionedCall", {"less:z:0"},
            {{"Tin", types}, {"Tout", types}, {"f", fake::FuncAttr("down")}})
      .Node("more", "AddV2", {"call:output:0", "one:output:0"}, integer)
      .Returns("r", "more:z:0", DType::kInt32)
      .Add();
  FunctionWriter("down")
      .Arg("n", DType::kInt32)
      .IntConst("zero", 0)
      .Node("positive", "Less", {"zero:output:0", "n"}, integer)
      .Node("if", "StatelessIf", {"positive:z:0", "n"},
            {{"Tin", types},
             {"Tout", types},
             {"then_branch", fake::FuncAttr("deeper")},
             {"else_branch", fake::FuncAttr("done")}})
      .Returns("r", "if:output:0", DType::kInt32)
      .Add();
  const fake::Handle n = fake::Scalar(int32_t{5000});
  EXPECT_THAT(fake::Ints(Run("down", {n})[0]), ElementsAre(5000));
  EXPECT_EQ(host_.deepest, 2u * 5000 + 2);
}

TEST_F(InterpreterTest, AConditionWithoutTruthIsAnError) {
  AddBranches();
  const fake::Handle p = fake::RawTensor(DType::kFloat16, {}, std::string_view("\0\0", 2));
  const fake::Handle x = fake::Scalar(2.f);
  const Outcome outcome = RunToFailure("choose", {p, x});
  EXPECT_THAT(outcome.message, HasSubstr("float16 cannot be converted to a boolean"));
  EXPECT_THAT(outcome.message, HasSubstr("node 'cond' (If)"));
}

TEST_F(InterpreterTest, ALoopsConditionWithoutTruthIsAnError) {
  AddCountingLoop();
  FunctionWriter("goes_on")
      .Arg("i", DType::kInt32)
      .Arg("n", DType::kInt32)
      .Arg("x", DType::kFloat16)
      .Returns("r", "x", DType::kFloat16)
      .Add();
  const fake::Handle n = fake::Scalar(int32_t{2});
  const fake::Handle x = fake::RawTensor(DType::kFloat16, {}, std::string_view("\0\0", 2));
  EXPECT_THAT(RunToFailure("count", {n, x}).message, HasSubstr("node 'loop' (While)"));
}

TEST_F(InterpreterTest, ThreadsRunOneFunctionAtTheSameTime) {
  AddCountingLoop();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      const fake::Handle n = fake::Scalar(int32_t{5 + i});
      const fake::Handle x = fake::Scalar(0.f);
      for (int round = 0; round < 20; ++round) {
        LogHost host;
        host.quiet = true;
        EXPECT_EQ(interpreter_.WhyRefused(fake::Context(), "count"), std::nullopt);
        const Outcome outcome = RunWith(host, "count", {n, x});
        ASSERT_EQ(outcome.values.size(), 2u) << outcome.message;
        EXPECT_THAT(fake::Floats(outcome.values[1]), ElementsAre(5.f + static_cast<float>(i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace flowscope::interp
