#include "tf/handles.h"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fake_runtime/fake_runtime.h"

namespace flowscope::tf {
namespace {

class HandlesTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(fake::LeakReport(), ""); }

  static Payload Read(TFE_TensorHandle* handle) {
    Result<Payload> payload = ReadHandle(handle);
    EXPECT_TRUE(payload.ok()) << payload.status().ToString();
    return payload.ok() ? *payload : Payload();
  }

  fake::Runtime runtime_;
};

TEST_F(HandlesTest, ReadsHostTensorsWithoutACopy) {
  const fake::Handle handle = fake::Tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const Payload first = Read(handle);
  EXPECT_EQ(first.dtype, DType::kFloat32);
  EXPECT_EQ(first.dims, (Dims{2, 3}));
  EXPECT_EQ(first.nbytes, 24u);
  EXPECT_EQ(static_cast<const float*>(first.data)[5], 6.f);
  EXPECT_EQ(Read(handle).data, first.data);
}

TEST_F(HandlesTest, APayloadOutlivesItsHandle) {
  Payload payload;
  {
    const fake::Handle handle = fake::Tensor({2}, {7, 8});
    payload = Read(handle);
  }
  EXPECT_EQ(fake::LiveHandles(), 0);
  EXPECT_EQ(fake::LiveTensors(), 1);
  EXPECT_EQ(static_cast<const float*>(payload.data)[1], 8.f);
  Payload copy = payload;
  payload = Payload();
  EXPECT_EQ(static_cast<const float*>(copy.data)[0], 7.f);
}

TEST_F(HandlesTest, ReadsScalarsAndEmptyTensors) {
  const Payload scalar = Read(fake::Scalar(true));
  EXPECT_EQ(scalar.dtype, DType::kBool);
  EXPECT_EQ(scalar.dims, Dims());
  EXPECT_EQ(scalar.num_elements(), 1);
  EXPECT_TRUE(*static_cast<const bool*>(scalar.data));
  const Payload empty = Read(fake::Tensor({0, 3}, {}));
  EXPECT_EQ(empty.dims, (Dims{0, 3}));
  EXPECT_EQ(empty.nbytes, 0u);
}

TEST_F(HandlesTest, ReadsStringsOfAnyLength) {
  const std::string binary("a\0b", 3);
  const std::string large(1000, 'x');
  const Payload payload = Read(fake::StringTensor({2, 2}, {"cat", "", binary, large}));
  EXPECT_EQ(payload.dtype, DType::kString);
  EXPECT_EQ(payload.data, nullptr);
  ASSERT_EQ(payload.strings.size(), 4u);
  EXPECT_EQ(payload.strings[0], "cat");
  EXPECT_EQ(payload.strings[1], "");
  EXPECT_EQ(payload.strings[2], binary);
  EXPECT_EQ(payload.strings[3], large);
  EXPECT_EQ(payload.nbytes, 1006u);
}

TEST_F(HandlesTest, GivesAResourceAsItsProto) {
  const fake::Handle variable =
      fake::Run("VarHandleOp", {}, {{"shared_name", fake::StringAttr("w")}});
  const Payload payload = Read(variable);
  EXPECT_EQ(payload.dtype, DType::kResource);
  const std::string bytes(static_cast<const char*>(payload.data), payload.nbytes);
  EXPECT_NE(bytes.find("\x1a\x01w"), std::string::npos) << "field 3, the name";

  CApi without = fake::FakeApi();
  without.ResourceHandleSerialize = nullptr;
  SetCApiForTesting(without);
  EXPECT_EQ(ReadHandle(variable).status().code(), StatusCode::kUnsupported);
  SetCApiForTesting(fake::FakeApi());
}

TEST_F(HandlesTest, RefusesWhatHasNoBytes) {
  const fake::Handle variant = fake::RawTensor(DType::kVariant, {}, "");
  EXPECT_EQ(ReadHandle(variant).status().code(), StatusCode::kUnsupported);
  const fake::Handle newer = fake::RawTensor(static_cast<DType>(99), {}, "");
  const Status status = ReadHandle(newer).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.message().find("99"), std::string::npos);
}

TEST_F(HandlesTest, AnAsyncErrorHasNeitherShapeNorValue) {
  const fake::Handle poisoned = fake::Poisoned("op was cancelled");
  for (const Status& status : {HandleDims(poisoned).status(), ReadHandle(poisoned).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_NE(status.message().find("op was cancelled"), std::string::npos);
  }
}

TEST_F(HandlesTest, DimsComeWithoutTheValue) {
  const fake::Handle handle = fake::IntTensor({1, 0, 2}, {});
  EXPECT_EQ(*HandleDims(handle), (Dims{1, 0, 2}));
  EXPECT_EQ(fake::LiveTensors(), 0);
}

TEST_F(HandlesTest, SharingKeepsTheAddress) {
  fake::Handle handle = fake::Scalar(1.f);
  TFE_TensorHandle* const address = handle.get();
  const HandlePtr shared = ShareHandle(handle);
  EXPECT_EQ(shared.get(), address);
  handle.reset();
  EXPECT_EQ(fake::LiveHandles(), 1);
  EXPECT_EQ(fake::Floats(shared.get()), std::vector<float>{1});
}

TEST_F(HandlesTest, StatusesTellWhatWentWrong) {
  const StatusPtr status = NewStatus();
  EXPECT_TRUE(FromTf(status.get(), "x").ok());
  Api().TF_SetStatus(status.get(), 3, "bad shape");
  EXPECT_EQ(FromTf(status.get(), "op Add").message(), "op Add: bad shape");
}

TEST_F(HandlesTest, AsksWhetherAThreadRunsAsynchronously) {
  EXPECT_FALSE(ContextIsAsync(fake::Context()));
  fake::SetAsync(true);
  EXPECT_TRUE(ContextIsAsync(fake::Context()));
  EXPECT_FALSE(ContextIsAsync(fake::NewContext()));
}

}  // namespace
}  // namespace flowscope::tf
