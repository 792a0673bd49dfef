#include "interp/plan_cache.h"

#include <thread>

#include <gtest/gtest.h>

#include "fake_runtime/function_writer.h"

namespace flowscope::interp {
namespace {

using fake::FunctionWriter;

class PlanCacheTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Plan> Get(const std::string& name, const Bindings& bindings = {}) {
    Result<std::shared_ptr<const Plan>> plan = cache_.Get(fake::Context(), name, bindings);
    EXPECT_TRUE(plan.ok()) << plan.status().ToString();
    return plan.ok() ? *plan : nullptr;
  }

  fake::Runtime runtime_;
  PlanCache cache_;
};

TEST_F(PlanCacheTest, AFunctionIsPlannedOnce) {
  FunctionWriter("f").Arg("x").Node("n", "Neg", {"x"}).Returns("r", "n:y:0").Add();
  const auto plan = Get("f");
  EXPECT_EQ(plan->nodes.size(), 1u);
  EXPECT_EQ(Get("f"), plan);
  EXPECT_EQ(fake::LeakReport(), "");
}

TEST_F(PlanCacheTest, ANameThatIsUsedAgainIsPlannedAgain) {
  FunctionWriter("f").Arg("x").Node("n", "Neg", {"x"}).Returns("r", "n:y:0").Add();
  const auto before = Get("f");
  FunctionWriter("f").Arg("x").Node("n", "Relu", {"x"}).Returns("r", "n:activations:0").Add();
  const auto after = Get("f");
  EXPECT_NE(after, before);
  EXPECT_EQ(after->nodes[0].attrs->op, "Relu");
  EXPECT_EQ(before->nodes[0].attrs->op, "Neg");  // whoever runs it still has it
}

TEST_F(PlanCacheTest, InstancesWithOtherBindingsAreOtherPlans) {
  FunctionWriter("f")
      .ListArg("xs", "N")
      .Node("p", "Pack", {"xs"}, {{"N", fake::PlaceholderAttr("N")}})
      .Returns("r", "p:output:0")
      .Add();
  EXPECT_EQ(Get("f", {{"N", fake::IntAttr(2)}})->num_args, 2u);
  EXPECT_EQ(Get("f", {{"N", fake::IntAttr(3)}})->num_args, 3u);
}

TEST_F(PlanCacheTest, AFunctionThatIsNotThereIsNotFound) {
  EXPECT_EQ(cache_.Get(fake::Context(), "f", {}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(fake::LeakReport(), "");
}

TEST_F(PlanCacheTest, ContextsHaveFunctionsOfTheirOwn) {
  FunctionWriter("f").Arg("x").Returns("r", "x").Add();
  TFE_Context* other = fake::NewContext();
  EXPECT_FALSE(cache_.Get(other, "f", {}).ok());
}

TEST_F(PlanCacheTest, ManyThreadsMayAsk) {
  FunctionWriter("f").Arg("x").Node("n", "Neg", {"x"}).Returns("r", "n:y:0").Add();
  FunctionWriter("g").Arg("x").Node("n", "f", {"x"}).Returns("r", "n:r:0").Add();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      for (int round = 0; round < 50; ++round) {
        const auto plan = cache_.Get(fake::Context(), (i + round) % 2 ? "f" : "g", {});
        ASSERT_TRUE(plan.ok());
        EXPECT_EQ((*plan)->nodes.size(), 1u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace flowscope::interp
