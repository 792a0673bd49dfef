#include "savedmodel/variable_arguments.h"

#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_runtime/function_writer.h"

namespace flowscope::savedmodel {
namespace {

using fake::FunctionWriter;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class VariableArgumentsTest : public ::testing::Test {
 protected:
  void Add(const FunctionWriter& writer) { bytes_.push_back(writer.Bytes()); }

  // What node `name` of a function takes, once all is passed on.
  std::vector<std::string> Taken(VariableArguments& arguments, std::string_view function,
                                 std::string_view name) {
    std::vector<interp::FunctionDef> bodies;
    for (const std::string& bytes : bytes_) {
      bodies.push_back(std::move(interp::ParseFunctionDef(bytes)).value());
    }
    arguments.Follow(bodies);
    for (const interp::FunctionDef& body : bodies) {
      for (const interp::NodeDef& node : body.nodes) {
        if (body.signature.name == function && node.name == name) {
          return arguments.TakenBy(body, node);
        }
      }
    }
    return {"no such node"};
  }

  fake::Runtime runtime_;
  std::deque<std::string> bytes_;
};

TEST_F(VariableArgumentsTest, FollowCallsAndLoops) {
  Add(FunctionWriter("outer")
          .Arg("x")
          .Arg("w", DType::kResource)
          .Node("call", "PartitionedCall", {"x", "w"}, {{"f", fake::FuncAttr("inner")}}));
  Add(FunctionWriter("inner")
          .Arg("a")
          .Arg("b", DType::kResource)
          .Node("while", "While", {"b", "a"},
                {{"body", fake::FuncAttr("body")}, {"cond", fake::FuncAttr("cond")}}));
  Add(FunctionWriter("body")
          .Arg("p", DType::kResource)
          .Arg("q")
          .Node("read", "ReadVariableOp", {"p"})
          .Node("other", "Neg", {"q"})
          .Node("later", "Neg", {"other:y:0"}));
  VariableArguments arguments;
  arguments.Give("outer", 1, "dense/kernel");
  EXPECT_THAT(Taken(arguments, "body", "read"), ElementsAre("dense/kernel"));
  EXPECT_THAT(Taken(arguments, "body", "other"), IsEmpty());
  EXPECT_THAT(Taken(arguments, "body", "later"), IsEmpty());
  EXPECT_THAT(Taken(arguments, "inner", "while"), ElementsAre("dense/kernel"));
}

TEST_F(VariableArgumentsTest, TheChoiceOfABranchIsNoArgument) {
  Add(FunctionWriter("outer")
          .Arg("c")
          .Arg("w", DType::kResource)
          .Node(
              "if", "If", {"c", "w"},
              {{"then_branch", fake::FuncAttr("then")}, {"else_branch", fake::FuncAttr("else")}}));
  Add(FunctionWriter("then").Arg("p", DType::kResource).Node("read", "ReadVariableOp", {"p"}));
  VariableArguments arguments;
  arguments.Give("outer", 1, "w");
  EXPECT_THAT(Taken(arguments, "then", "read"), ElementsAre("w"));
}

}  // namespace
}  // namespace flowscope::savedmodel
