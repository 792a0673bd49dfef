#include "interp/predicate.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fake_runtime/fake_runtime.h"

namespace flowscope::interp {
namespace {

class PredicateTest : public ::testing::Test {
 protected:
  static bool IsTrue(const fake::Handle& handle) {
    const Result<bool> condition = ReadCondition(handle);
    EXPECT_TRUE(condition.ok()) << condition.status().ToString();
    return condition.ok() && *condition;
  }

  template <typename T>
  static fake::Handle Number(DType dtype, T value) {
    return fake::RawTensor(dtype, {}, {reinterpret_cast<const char*>(&value), sizeof(value)});
  }

  fake::Runtime runtime_;
};

TEST_F(PredicateTest, AScalarIsTrueWhereItIsNotZero) {
  EXPECT_TRUE(IsTrue(fake::Scalar(true)));
  EXPECT_FALSE(IsTrue(fake::Scalar(false)));
  EXPECT_TRUE(IsTrue(fake::Scalar(-0.5f)));
  EXPECT_FALSE(IsTrue(fake::Scalar(-0.f)));
  EXPECT_TRUE(IsTrue(fake::Scalar(NAN)));
  EXPECT_TRUE(IsTrue(fake::Scalar(int32_t{256})));
  EXPECT_FALSE(IsTrue(fake::Scalar(int32_t{0})));
  EXPECT_TRUE(IsTrue(Number(DType::kInt64, int64_t{1} << 40)));
  EXPECT_FALSE(IsTrue(Number(DType::kInt64, int64_t{0})));
  EXPECT_TRUE(IsTrue(Number(DType::kFloat64, 1e-300)));
  EXPECT_TRUE(IsTrue(Number(DType::kUint8, uint8_t{128})));
  EXPECT_TRUE(IsTrue(Number(DType::kInt8, int8_t{-1})));
  EXPECT_FALSE(IsTrue(Number(DType::kInt16, int16_t{0})));
}

TEST_F(PredicateTest, AStringIsTrueWhereItIsNotEmpty) {
  EXPECT_TRUE(IsTrue(fake::StringTensor({}, {"0"})));
  EXPECT_FALSE(IsTrue(fake::StringTensor({}, {""})));
}

TEST_F(PredicateTest, AnyOtherTensorIsTrueWhereItHasElements) {
  EXPECT_TRUE(IsTrue(fake::Tensor({2}, {0, 0})));
  EXPECT_TRUE(IsTrue(fake::BoolTensor({1}, {false})));
  EXPECT_FALSE(IsTrue(fake::Tensor({0, 3}, {})));
  EXPECT_TRUE(IsTrue(fake::RawTensor(DType::kVariant, {2}, {})));
}

TEST_F(PredicateTest, SomeScalarsHaveNoTruth) {
  for (const auto& [dtype, name] :
       {std::pair(DType::kFloat16, "float16"), std::pair(DType::kUint32, "uint32"),
        std::pair(DType::kVariant, "variant")}) {
    const Result<bool> condition = ReadCondition(fake::RawTensor(dtype, {}, "\0\0\0\0"));
    ASSERT_FALSE(condition.ok());
    EXPECT_EQ(condition.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(condition.status().message().find(name), std::string::npos);
  }
}

TEST_F(PredicateTest, AFailedTensorGivesItsError) {
  const Result<bool> condition = ReadCondition(fake::Poisoned("out of memory"));
  ASSERT_FALSE(condition.ok());
  EXPECT_NE(condition.status().message().find("out of memory"), std::string::npos);
}

TEST_F(PredicateTest, ABranchOutOfRangeIsTheLastOne) {
  EXPECT_EQ(*ReadBranch(fake::Scalar(int32_t{0}), 3), 0u);
  EXPECT_EQ(*ReadBranch(fake::Scalar(int32_t{2}), 3), 2u);
  EXPECT_EQ(*ReadBranch(fake::Scalar(int32_t{3}), 3), 2u);
  EXPECT_EQ(*ReadBranch(fake::Scalar(int32_t{-1}), 3), 2u);
}

TEST_F(PredicateTest, ABranchIsOneInt32) {
  EXPECT_FALSE(ReadBranch(fake::Scalar(1.f), 3).ok());
  EXPECT_FALSE(ReadBranch(fake::IntTensor({2}, {0, 1}), 3).ok());
  EXPECT_FALSE(ReadBranch(fake::Poisoned("gone"), 3).ok());
}

}  // namespace
}  // namespace flowscope::interp
