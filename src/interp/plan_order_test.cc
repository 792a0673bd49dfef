#include "interp/plan_order.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flowscope::interp {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

OrderInput Graph(std::vector<std::vector<uint32_t>> needs, std::vector<uint32_t> stateful,
                 std::vector<uint32_t> roots) {
  OrderInput input;
  input.stateful.resize(needs.size());
  for (const uint32_t node : stateful) input.stateful[node] = true;
  input.needs = std::move(needs);
  input.roots = std::move(roots);
  return input;
}

std::vector<uint32_t> Order(const OrderInput& input) {
  const auto order = OrderNodes(input);
  EXPECT_TRUE(order.has_value());
  return order.value_or(std::vector<uint32_t>{});
}

TEST(PlanOrderTest, KeepsTheDefinitionsOrderWhereItCan) {
  EXPECT_THAT(Order(Graph({{}, {0}, {}, {1, 2}}, {}, {3})), ElementsAre(0, 1, 2, 3));
}

TEST(PlanOrderTest, WhatANodeNeedsComesFirst) {
  EXPECT_THAT(Order(Graph({{2}, {}, {1}}, {}, {0})), ElementsAre(1, 2, 0));
}

TEST(PlanOrderTest, LeavesOutWhatNothingNeeds) {
  EXPECT_THAT(Order(Graph({{}, {}, {1}}, {}, {0})), ElementsAre(0));
  EXPECT_THAT(Order(Graph({{}, {}}, {}, {})), IsEmpty());
}

TEST(PlanOrderTest, StatefulNodesRunThoughNothingNeedsThem) {
  EXPECT_THAT(Order(Graph({{}, {}, {1}}, {2}, {0})), ElementsAre(0, 1, 2));
}

TEST(PlanOrderTest, AStatefulNodeIsNotPulledBeforeAnEarlierOne) {
  // Node 0 needs the stateful node 2; the stateful node 1 is defined before that.
  EXPECT_THAT(Order(Graph({{2}, {}, {}}, {1, 2}, {0})), ElementsAre(1, 2, 0));
  // Node 0, stateful, needs node 2: the definition's order holds all the same.
  EXPECT_THAT(Order(Graph({{2}, {}, {}}, {0, 1}, {})), ElementsAre(2, 0, 1));
}

TEST(PlanOrderTest, StatefulNodesChangePlacesWhereOneNeedsTheOther) {
  EXPECT_THAT(Order(Graph({{1}, {}}, {0, 1}, {})), ElementsAre(1, 0));
}

TEST(PlanOrderTest, ACircleHasNoOrder) {
  EXPECT_EQ(OrderNodes(Graph({{1}, {0}}, {}, {0})), std::nullopt);
  EXPECT_EQ(OrderNodes(Graph({{0}}, {0}, {})), std::nullopt);
}

TEST(PlanOrderTest, ACircleThatNothingNeedsDoesNotMatter) {
  EXPECT_THAT(Order(Graph({{}, {2}, {1}}, {}, {0})), ElementsAre(0));
}

TEST(PlanOrderTest, ALongChainNeedsNoStack) {
  constexpr uint32_t kLength = 200000;
  std::vector<std::vector<uint32_t>> needs(kLength);
  for (uint32_t i = 0; i + 1 < kLength; ++i) needs[i] = {i + 1};
  const std::vector<uint32_t> order = Order(Graph(std::move(needs), {}, {0}));
  ASSERT_EQ(order.size(), kLength);
  EXPECT_EQ(order.front(), kLength - 1);
}

TEST(PlanOrderTest, RandomGraphsKeepEveryPromise) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const auto count = static_cast<uint32_t>(2 + random() % 30);
    std::vector<uint32_t> names(count);  // a hidden order, so that there is no circle
    for (uint32_t i = 0; i < count; ++i) names[i] = i;
    std::ranges::shuffle(names, random);
    std::vector<std::vector<uint32_t>> needs(count);
    std::vector<uint32_t> stateful;
    for (uint32_t i = 1; i < count; ++i) {
      for (uint32_t edge = random() % 3; edge > 0; --edge) {
        needs[names[i]].push_back(names[random() % i]);
      }
      if (random() % 3 == 0) stateful.push_back(names[i]);
    }
    const OrderInput input = Graph(needs, stateful, {names[0]});
    const std::vector<uint32_t> order = Order(input);
    std::vector<size_t> place(count, SIZE_MAX);
    for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    EXPECT_NE(place[names[0]], SIZE_MAX);
    for (const uint32_t node : stateful) EXPECT_NE(place[node], SIZE_MAX);
    for (const uint32_t node : order) {
      for (const uint32_t need : needs[node]) EXPECT_LT(place[need], place[node]);
    }
  }
}

}  // namespace
}  // namespace flowscope::interp
