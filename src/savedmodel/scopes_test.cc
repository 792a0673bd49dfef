#include "savedmodel/scopes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flowscope::savedmodel {
namespace {

using ::testing::ElementsAre;

interp::FunctionDef Body(std::initializer_list<std::string_view> names) {
  interp::FunctionDef function;
  for (const std::string_view name : names) {
    interp::NodeDef node;
    node.name = name;
    function.nodes.push_back(node);
  }
  return function;
}

std::vector<std::string> Addresses(const Scopes& scopes) {
  std::vector<std::string> addresses;
  for (const ScopeModule& module : scopes.modules()) addresses.push_back(module.address);
  return addresses;
}

std::string ModuleOf(const Scopes& scopes, const ScopeCalls& calls, const std::string& node) {
  const auto found = calls.call_of_node.find(node);
  if (found == calls.call_of_node.end()) return "";
  return scopes.modules()[calls.calls[found->second].module].address;
}

TEST(ScopesTest, VariablesTellTheLayersThatHaveThem) {
  const Scopes scopes({"net/encoder/dense/kernel", "net/head/bias", "net/head/kernel"});
  EXPECT_THAT(Addresses(scopes), ElementsAre("self", "encoder", "encoder.dense", "head"));
  EXPECT_EQ(scopes.OwnerOf("net/head/bias"), 3U);
  EXPECT_EQ(scopes.OwnerOf("seed/state"), kNoScope);
}

TEST(ScopesTest, AScopeBesideKnownLayersIsALayer) {
  Scopes scopes({"net/conv/kernel"});
  const interp::FunctionDef body =
      Body({"net_1/conv_1/convolution", "net_1/act_1/Relu", "net_1/act_2/Relu",
            "net_1/strided_slice/stack", "net_1/strided_slice", "net_1/TensorArrayUnstack/a"});
  scopes.AddBody(body);
  EXPECT_THAT(Addresses(scopes), ElementsAre("self", "conv", "act"));
  const ScopeCalls calls = scopes.CallsOf(body);
  EXPECT_EQ(ModuleOf(scopes, calls, "net_1/conv_1/convolution"), "conv");
  EXPECT_EQ(ModuleOf(scopes, calls, "net_1/strided_slice/stack"), "self");
  // Two scopes of one layer are two calls.
  EXPECT_NE(calls.call_of_node.at("net_1/act_1/Relu"), calls.call_of_node.at("net_1/act_2/Relu"));
  EXPECT_EQ(calls.calls.size(), 4U);
}

TEST(ScopesTest, ALayersOwnNumberIsKept) {
  const Scopes scopes({"net/dense/kernel", "net/dense_1/kernel"});
  const interp::FunctionDef body = Body({"net_1/dense_2/MatMul", "net_1/dense_1_1/MatMul"});
  const ScopeCalls calls = scopes.CallsOf(body);
  EXPECT_EQ(ModuleOf(scopes, calls, "net_1/dense_2/MatMul"), "dense");
  EXPECT_EQ(ModuleOf(scopes, calls, "net_1/dense_1_1/MatMul"), "dense_1");
}

TEST(ScopesTest, ALoopsScopeIsPassedThrough) {
  Scopes scopes({"net/lstm/cell/kernel"});
  const interp::FunctionDef body =
      Body({"net_1/lstm_1/while/cell_1/MatMul", "net_1/lstm_1/while/add"});
  scopes.AddBody(body);
  const ScopeCalls calls = scopes.CallsOf(body);
  EXPECT_EQ(ModuleOf(scopes, calls, "net_1/lstm_1/while/cell_1/MatMul"), "lstm.cell");
  EXPECT_EQ(ModuleOf(scopes, calls, "net_1/lstm_1/while/add"), "lstm");
}

TEST(ScopesTest, NamesWithoutScopesTellNothing) {
  Scopes scopes({"w", "b"});
  scopes.AddBody(Body({"a/b/c"}));
  EXPECT_TRUE(scopes.modules().empty());
  EXPECT_TRUE(scopes.CallsOf(Body({"a/b/c"})).calls.empty());
}

}  // namespace
}  // namespace flowscope::savedmodel
