#include "tf/op_registry.h"

#include <thread>

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "fake_runtime/fake_runtime.h"
#include "trace/attrs.h"

namespace flowscope::tf {
namespace {

std::string FakeOpList() {
  TF_Buffer* buffer = fake::FakeApi().TF_GetAllOpList();
  std::string bytes(static_cast<const char*>(buffer->data), buffer->length);
  fake::FakeApi().TF_DeleteBuffer(buffer);
  return bytes;
}

TEST(FindOpDef, TellsSignatureAttributesAndState) {
  const fake::Runtime runtime;
  const OpDef* matmul = FindOpDef("MatMul");
  ASSERT_NE(matmul, nullptr);
  EXPECT_EQ(matmul->name, "MatMul");
  EXPECT_FALSE(matmul->is_stateful);
  ASSERT_EQ(matmul->inputs.size(), 2u);
  EXPECT_EQ(matmul->inputs[0].name, "a");
  EXPECT_EQ(matmul->inputs[0].type, DType::kInvalid);
  EXPECT_EQ(matmul->inputs[0].type_attr, "T");
  ASSERT_EQ(matmul->attrs.size(), 3u);
  EXPECT_EQ(matmul->attrs[0].name, "transpose_a");
  EXPECT_EQ(matmul->attrs[0].type, "bool");
  EXPECT_EQ(FormatAttr(matmul->attrs[0].default_value), "false");
  EXPECT_EQ(matmul->attrs[2].default_value, "");

  EXPECT_EQ(FindOpDef("Less")->outputs[0].type, DType::kBool);
  EXPECT_EQ(FindOpDef("Unpack")->outputs[0].number_attr, "num");
  EXPECT_TRUE(FindOpDef("RandomUniform")->is_stateful);
  EXPECT_EQ(FindOpDef("NoSuchOp"), nullptr);
  EXPECT_EQ(FindOpDef(""), nullptr);
}

TEST(FindOpDef, GivesOnePointerToAllThreads) {
  const fake::Runtime runtime;
  std::vector<const OpDef*> found(8);
  std::vector<std::thread> threads;
  for (const OpDef*& slot : found) threads.emplace_back([&slot] { slot = FindOpDef("Add"); });
  for (std::thread& thread : threads) thread.join();
  for (const OpDef* op : found) EXPECT_EQ(op, found[0]);
  EXPECT_NE(found[0], nullptr);
}

// A graph knows an op that a library registered after the list was read.
TEST(FindOpDef, FindsOpsRegisteredLater) {
  const fake::Runtime runtime;
  ASSERT_NE(FindOpDef("Add"), nullptr);
  static int asked = 0;
  CApi api = fake::FakeApi();
  api.TF_NewGraph = [] { return reinterpret_cast<TF_Graph*>(new int(0)); };
  api.TF_DeleteGraph = [](TF_Graph* graph) { delete reinterpret_cast<int*>(graph); };
  api.TF_GraphGetOpDef = [](TF_Graph*, const char* type, TF_Buffer* buffer, TF_Status* status) {
    ++asked;
    if (std::string(type) != "LateOp") return Api().TF_SetStatus(status, 5, "not registered");
    std::string bytes;
    protozero::pbf_writer op(bytes);
    op.add_string(1, "LateOp");
    op.add_bool(17, true);
    TF_Buffer* filled = Api().TF_NewBufferFromString(bytes.data(), bytes.size());
    std::swap(*buffer, *filled);
    Api().TF_DeleteBuffer(filled);
  };
  SetCApiForTesting(api);
  const OpDef* late = FindOpDef("LateOp");
  ASSERT_NE(late, nullptr);
  EXPECT_TRUE(late->is_stateful);
  EXPECT_EQ(FindOpDef("LateOp"), late);
  EXPECT_EQ(asked, 1) << "asked once per op that exists";
  EXPECT_EQ(FindOpDef("StillNone"), nullptr);
  EXPECT_EQ(fake::LeakReport(), "");
}

TEST(ParseOpList, ReadsReferencesAndFlags) {
  std::string bytes;
  {
    protozero::pbf_writer list(bytes);
    protozero::pbf_writer op(list, 1);
    op.add_string(1, "Assign");
    protozero::pbf_writer arg(op, 2);
    arg.add_string(1, "ref");
    arg.add_enum(3, 101);
    arg.add_string(6, "Tlist");
    arg.commit();
    op.add_bool(21, true);
  }
  const Result<std::vector<OpDef>> ops = ParseOpList(bytes);
  ASSERT_TRUE(ops.ok());
  ASSERT_EQ(ops->size(), 1u);
  const OpDef& op = (*ops)[0];
  EXPECT_TRUE(op.is_distributed_communication);
  ASSERT_EQ(op.inputs.size(), 1u);
  EXPECT_TRUE(op.inputs[0].is_ref);
  EXPECT_EQ(op.inputs[0].type, DType::kFloat32);
  EXPECT_EQ(op.inputs[0].type_list_attr, "Tlist");
}

// Whatever the bytes, the answer is a list or Corruption: sanitizers watch over the rest.
TEST(ParseOpList, SurvivesBytesThatAreCutOffOrChanged) {
  const std::string list = FakeOpList();
  ASSERT_TRUE(ParseOpList(list).ok());
  const std::string bytes = list.substr(0, 1000);
  int refused = 0;
  for (size_t length = 0; length < bytes.size(); ++length) {
    // A copy of its own size, so that reading beyond it is seen.
    const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length));
    const auto ops = ParseOpList({cut.data(), cut.size()});
    EXPECT_TRUE(ops.ok() || ops.status().code() == StatusCode::kCorruption);
    refused += ops.ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 0);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
    const auto ops = ParseOpList(changed);
    EXPECT_TRUE(ops.ok() || ops.status().code() == StatusCode::kCorruption);
  }
}

}  // namespace
}  // namespace flowscope::tf
