#include "interp/function_def.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "fake_runtime/function_writer.h"

namespace flowscope::interp {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class FunctionDefTest : public ::testing::Test {
 protected:
  FunctionDef Parse(const std::string& bytes) {
    bytes_ = bytes;
    Result<FunctionDef> function = ParseFunctionDef(bytes_);
    EXPECT_TRUE(function.ok()) << function.status().ToString();
    return function.ok() ? *std::move(function) : FunctionDef();
  }

  fake::Runtime runtime_;
  std::string bytes_;
};

TEST_F(FunctionDefTest, GivesSignatureNodesAndReturns) {
  const FunctionDef function =
      Parse(fake::FunctionWriter("f")
                .Arg("x")
                .Arg("n", DType::kInt32)
                .Node("sum", "AddV2", {"x", "x", "^other"}, {}, "/device:CPU:0")
                .Node("other", "NoOp")
                .Returns("y", "sum:z:0")
                .ControlReturns("other")
                .Stateful()
                .Bytes());
  EXPECT_EQ(function.signature.name, "f");
  EXPECT_TRUE(function.signature.is_stateful);
  ASSERT_EQ(function.signature.inputs.size(), 2u);
  EXPECT_EQ(function.signature.inputs[1].type, DType::kInt32);
  ASSERT_EQ(function.nodes.size(), 2u);
  EXPECT_EQ(function.nodes[0].name, "sum");
  EXPECT_EQ(function.nodes[0].op, "AddV2");
  EXPECT_EQ(function.nodes[0].device, "/device:CPU:0");
  EXPECT_THAT(function.nodes[0].inputs, ElementsAre("x", "x", "^other"));
  EXPECT_NE(FindAttr(function.nodes[0].attrs, "T"), nullptr);
  EXPECT_EQ(FindAttr(function.nodes[0].attrs, "U"), nullptr);
  EXPECT_THAT(function.returns, ElementsAre(Pair("y", "sum:z:0")));
  EXPECT_THAT(function.control_returns, ElementsAre(Pair("other", "other")));
}

TEST_F(FunctionDefTest, OfTwoAttributesWithOneNameTheLaterCounts) {
  const FunctionDef function = Parse(
      fake::FunctionWriter("f").Attr("b", "first").Attr("a", "other").Attr("b", "second").Bytes());
  EXPECT_THAT(function.attrs, ElementsAre(Pair("a", "other"), Pair("b", "second")));
}

TEST_F(FunctionDefTest, GivesTheAttributesOfArguments) {
  std::string entry;
  {
    protozero::pbf_writer writer(entry);
    writer.add_uint32(1, 3);
    protozero::pbf_writer attrs(writer, 2);
    protozero::pbf_writer attr(attrs, 1);
    attr.add_string(1, "_user_specified_name");
    attr.add_string(2, "image");
  }
  std::string bytes;
  protozero::pbf_writer(bytes).add_message(7, entry);
  const FunctionDef function = Parse(bytes);
  ASSERT_EQ(function.arg_attrs.size(), 1u);
  EXPECT_EQ(function.arg_attrs[0].first, 3u);
  EXPECT_THAT(function.arg_attrs[0].second, ElementsAre(Pair("_user_specified_name", "image")));
}

TEST_F(FunctionDefTest, EveryCutIsReadOrReported) {
  const std::string bytes = fake::FunctionWriter("f")
                                .Arg("x")
                                .Const("c", 2)
                                .Node("sum", "AddV2", {"x", "c:output:0"})
                                .Returns("y", "sum:z:0")
                                .Bytes();
  int corrupt = 0;
  for (size_t length = 0; length <= bytes.size(); ++length) {
    const std::string cut = bytes.substr(0, length);
    const Result<FunctionDef> function = ParseFunctionDef(cut);
    if (function.ok()) continue;
    EXPECT_EQ(function.status().code(), StatusCode::kCorruption);
    ++corrupt;
  }
  EXPECT_GT(corrupt, static_cast<int>(bytes.size() / 2));
}

TEST_F(FunctionDefTest, AFieldOfAnotherWireTypeIsSkipped) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_int64(3, 7);       // node_def is a message
  writer.add_fixed32(1, 1234);  // signature is a message
  const FunctionDef function = Parse(bytes);
  EXPECT_TRUE(function.nodes.empty());
  EXPECT_EQ(function.signature.name, "");
}

TEST_F(FunctionDefTest, AFunctionRefHasNameAndAttributes) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_string(1, "g");
  const Result<FunctionRef> function = ParseFunctionRef(bytes);
  ASSERT_TRUE(function.ok());
  EXPECT_EQ(function->name, "g");
  EXPECT_EQ(ParseFunctionRef("\x0a\xff").status().code(), StatusCode::kCorruption);
}

}  // namespace
}  // namespace flowscope::interp
