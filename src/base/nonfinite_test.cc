#include <complex>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/payload_testing.h"
#include "base/stats.h"

namespace flowscope {
namespace {

using Counts = std::array<int64_t, 3>;

void ExpectFirst(const Payload& payload, int64_t index, NonFiniteKind kind) {
  const std::optional<NonFinite> first = FirstNonFinite(payload);
  ASSERT_TRUE(first.has_value()) << DTypeName(payload.dtype);
  EXPECT_EQ(first->index, index) << DTypeName(payload.dtype);
  EXPECT_EQ(first->kind, kind) << DTypeName(payload.dtype);
}

struct FloatCase {
  Payload payload;  // finite, -inf, NaN, +inf, or without infinities: finite, NaN, finite, NaN
  bool has_inf;
};

std::vector<FloatCase> FloatCases() {
  return {
      {MakePayload<float>(DType::kFloat32, {1, -std::numeric_limits<float>::infinity(),
                                            std::numeric_limits<float>::quiet_NaN(),
                                            std::numeric_limits<float>::infinity()}),
       true},
      {MakePayload<double>(DType::kFloat64, {1, -kInf, kNan, kInf}), true},
      {MakePayload<uint16_t>(DType::kFloat16, {0x7bff, 0xfc00, 0xfe00, 0x7c00}), true},
      {MakePayload<uint16_t>(DType::kBfloat16, {0x7f7f, 0xff80, 0x7fc0, 0x7f80}), true},
      {MakePayload<uint8_t>(DType::kFloat8E5m2, {0x7b, 0xfc, 0x7f, 0x7c}), true},
      {MakePayload<uint8_t>(DType::kFloat8E4m3fn, {0x7e, 0xff, 0x80, 0x7f}), false},
      {MakePayload<uint8_t>(DType::kFloat8E4m3fnuz, {0x7f, 0x80, 0xff, 0x80}), false},
      {MakePayload<uint8_t>(DType::kFloat8E4m3b11fnuz, {0x7f, 0x80, 0xff, 0x80}), false},
      {MakePayload<uint8_t>(DType::kFloat8E5m2fnuz, {0x7f, 0x80, 0xff, 0x80}), false},
  };
}

TEST(NonFiniteTest, EveryFloatingDType) {
  for (const FloatCase& test : FloatCases()) {
    SCOPED_TRACE(DTypeName(test.payload.dtype));
    EXPECT_EQ(CountNonFinite(test.payload), test.has_inf ? (Counts{1, 1, 1}) : (Counts{2, 0, 0}));
    ExpectFirst(test.payload, 1, test.has_inf ? NonFiniteKind::kNegInf : NonFiniteKind::kNan);
  }
}

TEST(NonFiniteTest, AllFiniteGivesNothing) {
  for (const FloatCase& test : FloatCases()) {
    Payload payload = test.payload;
    payload.dims = {1};
    EXPECT_EQ(CountNonFinite(payload), Counts{});
    EXPECT_EQ(FirstNonFinite(payload), std::nullopt);
  }
}

TEST(NonFiniteTest, OtherDTypesGiveNothing) {
  // All ones would be NaN in every floating dtype.
  for (DType dtype : {DType::kInt64, DType::kUint8, DType::kBool, DType::kQint32, DType::kInt4}) {
    const Payload payload = MakePayload<uint64_t>(dtype, {1}, {UINT64_MAX});
    EXPECT_EQ(CountNonFinite(payload), Counts{});
    EXPECT_EQ(FirstNonFinite(payload), std::nullopt);
  }
  EXPECT_EQ(FirstNonFinite(MakeStrings({1}, {"nan"})), std::nullopt);
  Payload resource;
  resource.dtype = DType::kResource;
  EXPECT_EQ(CountNonFinite(resource), Counts{});
}

TEST(NonFiniteTest, EmptyAndScalar) {
  const Payload empty = MakePayload<float>(DType::kFloat32, {2, 0}, {});
  EXPECT_EQ(CountNonFinite(empty), Counts{});
  EXPECT_EQ(FirstNonFinite(empty), std::nullopt);
  ExpectFirst(MakePayload<double>(DType::kFloat64, {}, {kInf}), 0, NonFiniteKind::kPosInf);
}

TEST(NonFiniteTest, ComplexIsJudgedByEitherPartAndNanWins) {
  const std::vector<std::complex<double>> values = {
      {1, 2}, {0, -kInf}, {kInf, kNan}, {kNan, 0}, {kInf, -kInf}};
  const Payload wide = MakePayload(DType::kComplex128, values);
  const Payload narrow = MakePayload(
      DType::kComplex64, std::vector<std::complex<float>>(values.begin(), values.end()));
  for (const Payload& payload : {wide, narrow}) {
    EXPECT_EQ(CountNonFinite(payload), (Counts{2, 1, 1}));
    ExpectFirst(payload, 1, NonFiniteKind::kNegInf);
  }
  const std::vector<std::complex<double>> nan_wins = {{1, 0}, {kInf, kNan}};
  ExpectFirst(MakePayload(DType::kComplex128, nan_wins), 1, NonFiniteKind::kNan);
}

TEST(NonFiniteTest, MisalignedMemoryGivesTheSame) {
  for (const FloatCase& test : FloatCases()) {
    const Payload moved = Misaligned(test.payload, 1);
    EXPECT_EQ(CountNonFinite(moved), CountNonFinite(test.payload));
    ExpectFirst(moved, 1, test.has_inf ? NonFiniteKind::kNegInf : NonFiniteKind::kNan);
  }
}

// Several blocks and threads; the lowest index wins, wherever a thread finds another first.
TEST(NonFiniteTest, FirstOfManyInALargePayload) {
  std::vector<float> values(3000000, 1.0f);
  EXPECT_EQ(FirstNonFinite(MakePayload(DType::kFloat32, values)), std::nullopt);
  const size_t places[] = {2999999, 2500001, 1234567, 131072, 131071, 2048, 2047, 0};
  int64_t marked = 0;
  for (size_t place : places) {
    values[place] = static_cast<float>(place % 2 == 0 ? kInf : kNan);
    ++marked;
    const Payload payload = MakePayload(DType::kFloat32, values);
    ExpectFirst(payload, static_cast<int64_t>(place),
                place % 2 == 0 ? NonFiniteKind::kPosInf : NonFiniteKind::kNan);
    const Counts counts = CountNonFinite(payload);
    EXPECT_EQ(counts[0] + counts[1], marked);
  }
}

}  // namespace
}  // namespace flowscope
