#include "replay/checks.h"

#include <gtest/gtest.h>

#include "trace/testing.h"

namespace flowscope::replay {
namespace {

// A model whose call gives the second of two values that it makes.
struct Model {
  TraceMaker m;
  TensorId first = kNoId, second = kNoId;

  Model() {
    const TensorId x = m.Input("x", {2}, {1, 2});
    m.Call("self", [&] {
      first = m.Op("Relu", {x});
      return second = m.Op("Neg", {first});
    });
    m.Output("x", second);
  }
};

TEST(ChecksTest, WhatTheCallReturnedIsWhatItsModuleGave) {
  Model sound;
  EXPECT_TRUE(CheckTables(*sound.m.Finish()).failures.empty());
  Model wrong;
  wrong.m.tables().outputs.front().tensor = wrong.first;
  const CheckResult result = CheckTables(*wrong.m.Finish());
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures.front().check, "module boundaries");
}

TEST(ChecksTest, RegionsNest) {
  const auto record = [](bool comes_back) {
    TraceMaker m;
    TensorId x = m.Input("x", {2}, {1, 2});
    RegionId region = 0;
    m.Function("f", [&] {
      x = m.Op("Relu", {x});
      region = m.builder().current_region();
    });
    x = m.Op("Neg", {x});
    x = m.Op("Neg", {x});
    if (comes_back) m.tables().ops.back().region = region;
    return m.Finish();
  };
  EXPECT_TRUE(CheckRegions(*record(false)).failures.empty());
  const CheckResult result = CheckRegions(*record(true));
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_NE(result.failures.front().message.find("had left it"), std::string::npos);
}

}  // namespace
}  // namespace flowscope::replay
