#include "tf/c_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_runtime/fake_runtime.h"
#include "fake_tensorflow/fake_tensorflow.h"

namespace flowscope::tf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(LoadCApi, SaysWhatToDoWhereTensorFlowIsNotLoaded) {
  const Status status = LoadCApi("/no/such/folder");
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("/no/such/folder/libtensorflow_cc.so.2"),
                                      HasSubstr("import tensorflow first")));
}

TEST(LoadCApi, NamesWhatAnOldTensorFlowLacks) {
  const fake::LoadedTensorFlow old(fake::kOldTensorFlow);
  const Status status = LoadCApi(fake::kOldTensorFlow);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("TensorFlow 2.3.0 lacks"), HasSubstr("TFE_Execute"),
                                      HasSubstr("2.16 or newer")));
}

TEST(LoadCApi, FindsNamesInEitherLibrary) {
  const fake::LoadedTensorFlow tensorflow(fake::kTensorFlow);
  ASSERT_TRUE(LoadCApi(fake::kTensorFlow).ok());
  EXPECT_TRUE(ApiLoaded());
  EXPECT_EQ(reinterpret_cast<void*>(Api().TFE_Execute), tensorflow.Address("TFE_Execute"));
  ASSERT_NE(Api().TF_TensorDefaultAlignment, nullptr);
  EXPECT_EQ(Api().TF_TensorDefaultAlignment(), 64u);
  EXPECT_EQ(Api().TFE_NewContext, nullptr) << "an optional entry that the library lacks";
}

TEST(LoadCApi, ResolvesTheFolderAndKeepsTheTableOnFailure) {
  const fake::LoadedTensorFlow tensorflow(fake::kTensorFlow);
  ASSERT_TRUE(LoadCApi(std::string(fake::kTensorFlow) + "/python/..").ok());
  EXPECT_EQ(TensorFlowDir(), fake::kTensorFlow);
  auto* const execute = Api().TFE_Execute;
  EXPECT_FALSE(LoadCApi("/no/such/folder").ok());
  EXPECT_EQ(Api().TFE_Execute, execute);
  EXPECT_EQ(TensorFlowDir(), fake::kTensorFlow);
}

TEST(LoadCApi, ReplacesATableOfTests) {
  const fake::LoadedTensorFlow tensorflow(fake::kTensorFlow);
  SetCApiForTesting(fake::FakeApi());
  EXPECT_EQ(TensorFlowDir(), "");
  ASSERT_TRUE(LoadCApi(fake::kTensorFlow).ok());
  EXPECT_EQ(reinterpret_cast<void*>(Api().TFE_Execute), tensorflow.Address("TFE_Execute"));
}

}  // namespace
}  // namespace flowscope::tf
