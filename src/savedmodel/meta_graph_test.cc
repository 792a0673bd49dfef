#include "savedmodel/meta_graph.h"

#include <gtest/gtest.h>

#include "fake_runtime/function_writer.h"
#include "fake_runtime/saved_model_writer.h"
#include "savedmodel/rewrite.h"
#include "savedmodel/saved_model.h"
#include "savedmodel/variable_names.h"

namespace flowscope::savedmodel {
namespace {

using fake::FunctionWriter;
using fake::SavedModelWriter;

class MetaGraphTest : public ::testing::Test {
 protected:
  // The graph of what is written; the bytes live as long as the test.
  MetaGraph Read(const SavedModelWriter& writer) {
    bytes_ = writer.Bytes();
    Result<std::vector<MetaGraph>> graphs = ParseSavedModel(bytes_);
    EXPECT_TRUE(graphs.ok()) << graphs.status().ToString();
    return graphs.ok() ? graphs->front() : MetaGraph();
  }

  fake::Runtime runtime_;
  std::string bytes_;
};

TEST_F(MetaGraphTest, TellsWhatASignatureTakesAndGives) {
  const MetaGraph graph = Read(SavedModelWriter()
                                   .Node("x", "Placeholder")
                                   .Node("y", "Neg", {"x"})
                                   .Signature("serve", {{"in", "x:0"}}, {{"out", "y:0"}}));
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[1].inputs, (std::vector<std::string_view>{"x"}));
  EXPECT_EQ(graph.tensorflow_version, "2.99.0");
  EXPECT_EQ(graph.tags, (std::vector<std::string_view>{"serve"}));
  const Signature& signature = graph.signatures.at("serve");
  EXPECT_EQ(signature.inputs.at("in").name, "x:0");
  EXPECT_EQ(signature.inputs.at("in").dtype, DType::kFloat32);
  EXPECT_FALSE(signature.inputs.at("in").dims.has_value());
  EXPECT_EQ(DescribeTensors(signature.outputs), "out: float32 of any shape");
}

TEST_F(MetaGraphTest, RefusesBytesWithoutAGraph) {
  EXPECT_EQ(ParseSavedModel("").status().code(), StatusCode::kCorruption);
  EXPECT_EQ(ParseSavedModel("no protocol buffer").status().code(), StatusCode::kCorruption);
}

TEST_F(MetaGraphTest, RefusesBytesThatAreCutOff) {
  const std::string bytes =
      SavedModelWriter().Node("x", "Placeholder").Signature("s", {}, {{"y", "x:0"}}).Bytes();
  EXPECT_TRUE(ParseSavedModel(bytes).ok());
  for (size_t kept = 3; kept < bytes.size(); ++kept) {
    EXPECT_FALSE(ParseSavedModel(std::string_view(bytes).substr(0, kept)).ok()) << kept;
  }
}

TEST_F(MetaGraphTest, LeavesOutChildrenThatDoNotExist) {
  const MetaGraph graph = Read(SavedModelWriter().Object({{"a", 1}, {"b", 7}}).Object({}));
  ASSERT_EQ(graph.objects.size(), 2U);
  ASSERT_EQ(graph.objects[0].children.size(), 1U);
  EXPECT_EQ(graph.objects[0].children[0].first, "a");
}

TEST_F(MetaGraphTest, RenamesFunctionsWhereverTheyAreNamed) {
  const std::string definition = FunctionWriter("outer")
                                     .Arg("x")
                                     .Node("call", "PartitionedCall", {"x"},
                                           {{"f", fake::FuncAttr("inner")},
                                            {"Tin", fake::TypesAttr({DType::kFloat32})},
                                            {"Tout", fake::TypesAttr({DType::kFloat32})}})
                                     .Returns("y", "call:output:0")
                                     .Bytes();
  Rewrite rewrite;
  rewrite.functions = {{"outer", "outer_9"}, {"inner", "inner_9"}};
  const Result<std::string> rewritten = RewriteFunction(definition, rewrite);
  ASSERT_TRUE(rewritten.ok());
  const Result<interp::FunctionDef> function = interp::ParseFunctionDef(*rewritten);
  ASSERT_TRUE(function.ok());
  EXPECT_EQ(function->signature.name, "outer_9");
  EXPECT_EQ(function->returns.size(), 1U);
  const std::string_view* f = interp::FindAttr(function->nodes.front().attrs, "f");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(interp::ParseAttrValue(*f)->functions.front().name, "inner_9");
}

TEST_F(MetaGraphTest, AVariableWithoutARecordHasTheNodesName) {
  const MetaGraph graph = Read(SavedModelWriter().Node("dense/kernel", "VarHandleOp"));
  const ModelVariable variable = ModelNames(graph).VariableOf("dense/kernel");
  EXPECT_EQ(variable.addresses, (std::vector<std::string>{"dense.kernel"}));
  EXPECT_EQ(variable.name, "dense/kernel");
}

}  // namespace
}  // namespace flowscope::savedmodel
