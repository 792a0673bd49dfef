#include "savedmodel/legacy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_runtime/function_writer.h"
#include "fake_runtime/saved_model_writer.h"
#include "savedmodel/variable_copies.h"

namespace flowscope::savedmodel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OldGraphTest : public ::testing::Test {
 protected:
  const MetaGraph& Parse(const fake::SavedModelWriter& writer) {
    bytes_ = writer.Bytes();
    Result<std::vector<MetaGraph>> graphs = ParseSavedModel(bytes_);
    EXPECT_TRUE(graphs.ok()) << graphs.status().ToString();
    graphs_ = std::move(graphs).value();
    return graphs_.front();
  }
  std::string WhyNot(const fake::SavedModelWriter& writer) {
    const MetaGraph& graph = Parse(writer);
    return WhyNotNodeByNode(graph, graph.signatures.at("serve"));
  }

  fake::Runtime runtime_;
  std::string bytes_;
  std::vector<MetaGraph> graphs_;
};

TEST_F(OldGraphTest, ALoopOfTensorFlow1IsNamed) {
  const std::string why = WhyNot(fake::SavedModelWriter()
                                     .Node("x", "Placeholder")
                                     .Node("enter", "Enter", {"x"})
                                     .Node("merge", "Merge", {"enter", "next"})
                                     .Node("next", "NextIteration", {"merge"})
                                     .Node("y", "Neg", {"merge"})
                                     .Signature("serve", {{"x", "x:0"}}, {{"y", "y:0"}}));
  EXPECT_THAT(why, HasSubstr("'merge' (Merge) is a part of a loop or branch of TensorFlow 1"));
}

TEST_F(OldGraphTest, WhatTheSignatureDoesNotNeedDoesNotMatter) {
  EXPECT_THAT(WhyNot(fake::SavedModelWriter()
                         .Node("x", "Placeholder")
                         .Node("enter", "Enter", {"x"})
                         .Node("y", "Neg", {"x"})
                         .Signature("serve", {{"x", "x:0"}}, {{"y", "y:0"}})),
              IsEmpty());
}

TEST_F(OldGraphTest, AVariableThatIsReadOfAnotherIsItsCopy) {
  const MetaGraph& graph = Parse(fake::SavedModelWriter()
                                     .Node("w", "VarHandleOp")
                                     .Node("read", "ReadVariableOp", {"w"})
                                     .Node("copy", "VarHandleOp")
                                     .Node("assign", "AssignVariableOp", {"copy", "read:0"})
                                     .Node("other", "VarHandleOp")
                                     .Node("zero", "Const")
                                     .Node("init", "AssignVariableOp", {"other", "zero"}));
  EXPECT_THAT(VariableCopies(graph), ElementsAre(VariableCopy("copy", "w")));
}

}  // namespace
}  // namespace flowscope::savedmodel
