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

// Nodes of a function and the variables that they take.
struct Reads {
  std::string_view node;
  std::vector<std::string_view> variables;
};

interp::FunctionDef Function(const std::string& name, const std::vector<Reads>& nodes,
                             VariableArguments& arguments) {
  interp::FunctionDef function;
  function.signature.name = name;
  for (const auto& [node_name, variables] : nodes) {
    interp::NodeDef node;
    node.name = node_name;
    node.op = "ReadVariableOp";
    for (const std::string_view variable : variables) {
      arguments.Give(name, function.signature.inputs.size(), variable);
      function.signature.inputs.push_back({});
      function.signature.inputs.back().name = variable;
      node.inputs.push_back(variable);
    }
    function.nodes.push_back(node);
  }
  return function;
}

TEST(ScopesTest, VariablesTellTheLayersThatHaveThem) {
  const interp::FunctionDef body = Body({"net/encoder/dense/MatMul", "net/head/MatMul"});
  const Scopes scopes(
      {"net/encoder/dense/kernel", "net/head/bias", "net/head/kernel", "seed_generator/state"},
      {body});
  EXPECT_THAT(Addresses(scopes), ElementsAre("self", "encoder", "encoder.dense", "head"));
  EXPECT_EQ(scopes.OwnerOf("net/head/bias"), 3U);
  EXPECT_EQ(scopes.AddressOf("net/head/bias"), "head.bias");
  EXPECT_EQ(scopes.OwnerOf("seed_generator/state"), kNoScope);
}

TEST(ScopesTest, LayersThatAreOlderThanTheModelHaveNamesWithoutIt) {
  const interp::FunctionDef body =
      Body({"net_0.35_1/conv_1/convolution", "net_0.35_1/conv_relu_1/Relu", "seed/a/b"});
  const Scopes scopes({"conv/kernel", "seed/state"}, {body});
  EXPECT_THAT(Addresses(scopes), ElementsAre("self", "conv", "conv_relu"));
  EXPECT_EQ(scopes.modules().front().name, "net_0.35");
  EXPECT_EQ(scopes.AddressOf("conv/kernel"), "conv.kernel");
}

TEST(ScopesTest, AScopeBesideKnownLayersIsALayer) {
  const interp::FunctionDef body =
      Body({"net_1/conv_1/convolution", "net_1/act_1/Relu", "net_1/act_2/Relu",
            "net_1/strided_slice/stack", "net_1/strided_slice", "net_1/TensorArrayUnstack/a"});
  const Scopes scopes({"net/conv/kernel"}, {body});
  EXPECT_THAT(Addresses(scopes), ElementsAre("self", "conv", "act"));
  const ScopeCalls calls = scopes.CallsOf(body);
  EXPECT_EQ(ModuleOf(scopes, calls, "net_1/conv_1/convolution"), "conv");
  EXPECT_EQ(ModuleOf(scopes, calls, "net_1/strided_slice/stack"), "self");
  // Two scopes of one layer are two calls.
  EXPECT_NE(calls.call_of_node.at("net_1/act_1/Relu"), calls.call_of_node.at("net_1/act_2/Relu"));
  EXPECT_EQ(calls.calls.size(), 4U);
}

TEST(ScopesTest, AnOpsScopeIsNoLayer) {
  const interp::FunctionDef body =
      Body({"net_1/att_1/query_1/MatMul", "net_1/att_1/einsum/Einsum",
            "net_1/att_1/einsum_1/Einsum", "net_1/att_1/Cast/x", "net_1/att_1/drop_1/Mul"});
  const Scopes scopes({"net/att/query/kernel"}, {body});
  EXPECT_THAT(Addresses(scopes), ElementsAre("self", "att", "att.query", "att.drop"));
}

TEST(ScopesTest, ALayerCanBeCalledLikeTheModel) {
  const interp::FunctionDef body = Body({"net_1/net_1/Mat/Mul", "net_1/out_1/MatMul"});
  const Scopes scopes({"net/kernel", "out/kernel"}, {body});
  EXPECT_THAT(Addresses(scopes), ElementsAre("self", "net", "out"));
  EXPECT_EQ(scopes.AddressOf("net/kernel"), "net.kernel");
}

TEST(ScopesTest, AModelWhoseVariablesTellNoLayerIsNone) {
  VariableArguments arguments;
  const interp::FunctionDef body =
      Function("call", {{"sub_1/a_1/Read/x", {"sub/kernel"}}, {"sub_1/b_1/Read/x", {"sub/bias"}}},
               arguments);
  EXPECT_TRUE(Scopes({"sub/kernel", "sub/bias"}, {body}, arguments).modules().empty());
}

TEST(ScopesTest, ALayersOwnNumberIsKept) {
  const interp::FunctionDef body =
      Body({"net_1/dense_2/MatMul", "net_1/dense_1_1/MatMul", "net_1/out_1/MatMul"});
  const Scopes scopes({"net/dense/kernel", "net/dense_1/kernel", "net/out/kernel"}, {body});
  const ScopeCalls calls = scopes.CallsOf(body);
  EXPECT_EQ(ModuleOf(scopes, calls, "net_1/dense_2/MatMul"), "dense");
  EXPECT_EQ(ModuleOf(scopes, calls, "net_1/dense_1_1/MatMul"), "dense_1");
}

TEST(ScopesTest, ALoopsScopeIsPassedThrough) {
  const interp::FunctionDef body =
      Body({"net_1/lstm_1/while/cell_1/MatMul", "net_1/lstm_1/while/add", "net_1/lstm_1/while"});
  const Scopes scopes({"net/lstm/cell/kernel"}, {body});
  const ScopeCalls calls = scopes.CallsOf(body);
  EXPECT_EQ(ModuleOf(scopes, calls, "net_1/lstm_1/while/cell_1/MatMul"), "lstm.cell");
  EXPECT_EQ(ModuleOf(scopes, calls, "net_1/lstm_1/while/add"), "lstm");
}

TEST(ScopesTest, AFunctionWithoutTheModelsScopeTellsLayersByWhatItReads) {
  VariableArguments arguments;
  const interp::FunctionDef body = Function("call",
                                            {{"dense_1/Cast/Read", {"net/dense/kernel"}},
                                             {"dense_1/BiasAdd/Read", {"net/dense/bias"}},
                                             {"dense_2/Cast/Read", {"net/dense_1/kernel"}},
                                             {"relu_1/Relu", {}},
                                             {"block_1/dense_1/Read", {"net/block/dense/kernel"}},
                                             {"block_1/act_1/Relu", {}},
                                             {"mul", {"net/dense/kernel"}}},
                                            arguments);
  const Scopes scopes(
      {"net/dense/kernel", "net/dense/bias", "net/dense_1/kernel", "net/block/dense/kernel"},
      {body}, arguments);
  const ScopeCalls calls = scopes.CallsOf(body);
  EXPECT_EQ(ModuleOf(scopes, calls, "dense_1/BiasAdd/Read"), "dense");
  EXPECT_EQ(ModuleOf(scopes, calls, "block_1/dense_1/Read"), "block.dense");
  EXPECT_EQ(ModuleOf(scopes, calls, "block_1/act_1/Relu"), "block.act");
  // Nothing is said of what may be no layer, or another one.
  EXPECT_EQ(ModuleOf(scopes, calls, "relu_1/Relu"), "");
  EXPECT_EQ(ModuleOf(scopes, calls, "dense_2/Cast/Read"), "");
  EXPECT_EQ(ModuleOf(scopes, calls, "mul"), "");
}

TEST(ScopesTest, ALayerOfTwoFunctionsIsNoModel) {
  VariableArguments arguments;
  const interp::FunctionDef whole = Function(
      "whole", {{"net_1/a_1/x/Read", {"a/kernel"}}, {"net_1/b_1/x/Read", {"b/kernel"}}}, arguments);
  const interp::FunctionDef parts = Function(
      "parts", {{"b_1/x/Read", {"b/kernel"}}, {"b_1/y/Read", {"b/kernel"}}, {"b_1/z/w", {}}},
      arguments);
  const Scopes scopes({"a/kernel", "b/kernel"}, {whole, parts}, arguments);
  EXPECT_THAT(Addresses(scopes), ElementsAre("self", "a", "b"));
  EXPECT_EQ(ModuleOf(scopes, scopes.CallsOf(whole), "net_1/b_1/x/Read"), "b");
  EXPECT_EQ(ModuleOf(scopes, scopes.CallsOf(parts), "b_1/z/w"), "b");
}

TEST(ScopesTest, NamesWithoutScopesTellNothing) {
  const interp::FunctionDef body = Body({"a/b/c"});
  const Scopes scopes({"w", "b"}, {body});
  EXPECT_TRUE(scopes.modules().empty());
  EXPECT_TRUE(scopes.CallsOf(body).calls.empty());
  EXPECT_EQ(scopes.OwnerOf("w"), kNoScope);
}

}  // namespace
}  // namespace flowscope::savedmodel
