#include "analyze/nonfinite_scan.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/payload_testing.h"
#include "trace/testing.h"

namespace flowscope {
namespace {

// Tensors that all show the same memory, as outputs of a reshape do.
class SharedMemory : public PayloadSource {
 public:
  explicit SharedMemory(std::vector<float> values)
      : values_(std::make_shared<const std::vector<float>>(std::move(values))) {}
  Result<Payload> Read(TensorId) const override {
    Payload payload;
    payload.dtype = DType::kFloat32;
    payload.dims = {static_cast<int64_t>(values_->size())};
    payload.data = values_->data();
    payload.nbytes = values_->size() * sizeof(float);
    payload.owner = values_;
    return payload;
  }
  std::optional<Stats> StoredStats(TensorId) const override { return std::nullopt; }

 private:
  std::shared_ptr<const std::vector<float>> values_;
};

TEST(NonFiniteScanTest, CountsByKind) {
  TraceMaker m;
  const TensorId good = m.Input("good", {3}, {1, 2, 3});
  const TensorId bad = m.Input("bad", {4}, {kFloatNan, kFloatInf, -kFloatInf, kFloatInf});
  const NonFiniteScan scan = ScanForNonFinite(*m.Finish(), 1);
  EXPECT_FALSE(scan.bad.contains(good));
  ASSERT_TRUE(scan.bad.contains(bad));
  EXPECT_EQ(scan.bad.at(bad).nan, 1);
  EXPECT_EQ(scan.bad.at(bad).pos_inf, 2);
  EXPECT_EQ(scan.bad.at(bad).neg_inf, 1);
}

TEST(NonFiniteScanTest, LooksOnlyAtWhatCanBeNonFinite) {
  TraceMaker m;
  m.Input("x", {3}, {1, 2, 3});
  m.Op("Shape", {}, {.dims = {1}, .dtype = DType::kInt32});
  m.Op("Relu", {}, {.dims = {3}, .state = PayloadState::kNotKept});
  const NonFiniteScan scan = ScanForNonFinite(*m.Finish(), 1);
  EXPECT_EQ(scan.scanned, 1);
  EXPECT_EQ(scan.skipped, 1);
}

TEST(NonFiniteScanTest, UsesStoredStatistics) {
  TraceMaker m;
  const TensorId y = m.Op("Relu", {}, {.dims = {9}, .state = PayloadState::kStats});
  Stats stats;
  stats.numeric = true;
  stats.count = 9;
  stats.neg_inf = 2;
  m.payloads().KeepStats(y, stats);
  const NonFiniteScan scan = ScanForNonFinite(*m.Finish(), 1);
  EXPECT_EQ(scan.scanned, 1);
  ASSERT_TRUE(scan.bad.contains(y));
  EXPECT_EQ(scan.bad.at(y).neg_inf, 2);
  EXPECT_FALSE(scan.bad.at(y).search_from.has_value());
}

// Far larger than one block of work, bad at its very end, for any number of threads.
TEST(NonFiniteScanTest, FindsTheOnlyBadElementOfALargeTensor) {
  constexpr int64_t kCount = 3'000'001;
  for (const int threads : {1, 2, 3}) {
    TraceMaker m;
    std::vector<float> values(kCount, 0.5f);
    values.back() = kFloatNan;
    values[2'000'000] = kFloatInf;
    const TensorId x = m.Input("x", {kCount}, values);
    const auto trace = m.Finish();
    const NonFiniteScan scan = ScanForNonFinite(*trace, threads);
    ASSERT_TRUE(scan.bad.contains(x));
    const BadTensor& bad = scan.bad.at(x);
    EXPECT_EQ(bad.nan, 1);
    EXPECT_EQ(bad.pos_inf, 1);
    const Result<Payload> payload = trace->ReadTensor(x);
    ASSERT_TRUE(payload.ok());
    EXPECT_EQ(LocateNonFinite(*payload, bad, false)->index, 2'000'000);
    EXPECT_EQ(LocateNonFinite(*payload, bad, true)->index, kCount - 1);
  }
}

TEST(NonFiniteScanTest, TensorsThatShareMemoryAllGetTheAnswer) {
  TraceMaker m;
  const TensorId x = m.Input("x", {2});
  const TensorId y = m.Op("Reshape", {x});
  TraceTables tables = std::move(m.tables());
  const Trace trace(std::move(tables),
                    std::make_shared<SharedMemory>(std::vector<float>{1.0f, kFloatNan}));
  const NonFiniteScan scan = ScanForNonFinite(trace, 1);
  EXPECT_EQ(scan.scanned, 2);
  EXPECT_EQ(scan.bad.at(x).nan, 1);
  EXPECT_EQ(scan.bad.at(y).nan, 1);
}

TEST(NonFiniteScanTest, HalfAndComplexValues) {
  TraceMaker m;
  const TensorId half = m.Input("half", {2});
  m.SetValue<uint16_t>(half, DType::kFloat16, {0x3c00, 0x7c00});
  const TensorId complex = m.Input("complex", {1});
  m.SetValue<float>(complex, DType::kComplex64, {1.0f, kFloatNan});
  const NonFiniteScan scan = ScanForNonFinite(*m.Finish(), 1);
  EXPECT_EQ(scan.bad.at(half).pos_inf, 1);
  EXPECT_EQ(scan.bad.at(complex).nan, 1);
}

TEST(NonFiniteScanTest, AnEmptyTensorAndAnEmptyTraceAreFinite) {
  TraceMaker m;
  m.Input("x", {0});
  EXPECT_TRUE(ScanForNonFinite(*m.Finish(), 1).bad.empty());
  TraceMaker none;
  EXPECT_TRUE(ScanForNonFinite(*none.Finish(), 1).bad.empty());
}

}  // namespace
}  // namespace flowscope
