// Differences that the order of additions explains, and those that it does not.
#include "replay/order.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "replay/replay_test.h"

namespace flowscope::replay {
namespace {

class OrderTest : public testing::Test {
 protected:
  // The report of the model after `change`.
  Report ValidateAfter(const std::function<void(RecordedModel&)>& change,
                       const ValidateOptions& options = {}) {
    RecordedModel model;
    change(model);
    Result<Report> report = Validate(*model.m.Finish(), options);
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return report.ok() ? *std::move(report) : Report();
  }

  static void Change(RecordedModel& model, TensorId tensor, size_t byte, unsigned char bits) {
    const Result<Payload> value = model.m.payloads().Read(tensor);
    std::string bytes(static_cast<const char*>(value->data), value->nbytes);
    bytes[byte] = static_cast<char>(static_cast<unsigned char>(bytes[byte]) ^ bits);
    model.m.payloads().Keep(tensor, value->dtype, value->dims, std::move(bytes));
  }

  static bool IsUnverified(const Report& report, const std::string& label) {
    return std::ranges::any_of(report.unverified, [&](const Finding& finding) {
      return finding.check == "deterministic" && finding.label.starts_with(label);
    });
  }
  static bool IsFailed(const Report& report, const std::string& label) {
    return std::ranges::any_of(report.failures, [&](const Finding& finding) {
      return finding.check == "replay" && finding.label.starts_with(label);
    });
  }

  fake::Runtime runtime_;
};

TEST_F(OrderTest, TheLastBitOfASumIsNoFault) {
  const Report report = ValidateAfter([](RecordedModel& m) { Change(m, m.product, 0, 1); });
  EXPECT_TRUE(IsUnverified(report, "matmul_1"));
  EXPECT_FALSE(IsFailed(report, "matmul_1"));
  EXPECT_TRUE(IsFailed(report, "addv2_1")) << "its consumer adds nothing";
  EXPECT_NE(report.state, State::kPassed);
}

TEST_F(OrderTest, MoreThanRoundingIsAFault) {
  const Report report = ValidateAfter([](RecordedModel& m) { Change(m, m.product, 1, 0x40); });
  EXPECT_TRUE(IsFailed(report, "matmul_1"));
}

TEST_F(OrderTest, ElementByElementNothingIsAdded) {
  const Report report = ValidateAfter([](RecordedModel& m) { Change(m, m.y, 0, 1); });
  EXPECT_TRUE(IsFailed(report, "relu_1"));
  EXPECT_FALSE(IsUnverified(report, "relu_1"));
}

// A trace of another version: within the tolerance the first op that differs is named.
TEST_F(OrderTest, AnotherVersionIsComparedWithinTheTolerance) {
  const Report near = ValidateAfter([](RecordedModel& m) {
    m.m.info().tensorflow_version = "another";
    Change(m, m.product, 0, 1);
  });
  EXPECT_EQ(near.state, State::kPassed) << near.reason;
  EXPECT_EQ(near.first_difference.rfind("output 0 of matmul_1", 0), 0U) << near.first_difference;
  EXPECT_NE(near.reason.find(near.first_difference), std::string::npos) << near.reason;
  EXPECT_GE(near.coverage.at("within_tolerance"), 1);
  const Report far = ValidateAfter([](RecordedModel& m) {
    m.m.info().tensorflow_version = "another";
    Change(m, m.product, 2, 0x20);
  });
  EXPECT_EQ(far.state, State::kFailed);
  EXPECT_NE(far.reason.find("matmul_1"), std::string::npos) << far.reason;
}

// Bounds for one dtype say nothing of another, on the TensorFlow that recorded.
TEST_F(OrderTest, ADtypeWithoutBoundsIsComparedToTheBit) {
  const auto change = [](RecordedModel& m) { Change(m, m.product, 2, 0x20); };
  ValidateOptions options;
  options.tolerance = [](DType dtype) -> std::optional<Tolerance> {
    if (dtype == DType::kFloat16) return Tolerance{1e6, 1e6};
    return std::nullopt;
  };
  EXPECT_EQ(ValidateAfter(change, options).state, State::kFailed);
  options.tolerance = [](DType) { return Tolerance{1e6, 1e6}; };
  EXPECT_EQ(ValidateAfter(change, options).state, State::kPassed);
}

TEST(RoundingBoundTest, GrowsWithTheRootOfTheCount) {
  const double unit = std::ldexp(1.0, -23);
  EXPECT_DOUBLE_EQ(RoundingBound(DType::kFloat32, 1, 1.0), 8 * unit);
  EXPECT_DOUBLE_EQ(RoundingBound(DType::kFloat32, 100, 2.0), 160 * unit);
  EXPECT_DOUBLE_EQ(RoundingBound(DType::kComplex64, 1, 1.0), 8 * unit);
  EXPECT_DOUBLE_EQ(RoundingBound(DType::kFloat64, 1, 1.0), std::ldexp(8.0, -52));
}

}  // namespace
}  // namespace flowscope::replay
