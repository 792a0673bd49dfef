#include "replay/purity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flowscope::replay {
namespace {

using testing::HasSubstr;

tf::OpDef Op(std::string name, bool is_stateful) {
  tf::OpDef def;
  def.name = std::move(name);
  def.is_stateful = is_stateful;
  return def;
}

tf::OpArg Handle() {
  tf::OpArg arg;
  arg.name = "resource";
  arg.type = DType::kResource;
  return arg;
}

TEST(PurityTest, WhatDependsOnItsInputsAloneMayRunAgain) {
  EXPECT_EQ(WhyNotAgain(Op("MatMul", false), {}), "");
  EXPECT_EQ(WhyNotAgain(Op("CheckNumerics", true), {}), "");
  EXPECT_EQ(WhyNotAgain(Op("StatefulPartitionedCall", true), {}), "") << "judged by its body";
}

TEST(PurityTest, OpsOnVariablesMayRunOnPrivateOnes) {
  tf::OpDef def = Op("AssignAddVariableOp", true);
  def.inputs.push_back(Handle());
  EXPECT_EQ(WhyNotAgain(def, {}), "");
  def.attrs.push_back({"f", "func", ""});
  EXPECT_THAT(WhyNotAgain(def, {}), HasSubstr("stateful"));
}

TEST(PurityTest, OtherStateMayNot) {
  EXPECT_THAT(WhyNotAgain(Op("Timestamp", true), {}), HasSubstr("stateful"));
  tf::OpDef random = Op("RandomUniform", true);
  random.attrs = {{"seed", "int", ""}, {"seed2", "int", ""}};
  EXPECT_THAT(WhyNotAgain(random, {}), HasSubstr("draws"));
  tf::OpDef collective = Op("CollectiveReduceV2", true);
  collective.is_distributed_communication = true;
  EXPECT_THAT(WhyNotAgain(collective, {}), HasSubstr("exchanges"));
}

TEST(PurityTest, UnmarkedOpsThatActMayNot) {
  tf::OpDef python = Op("PyFuncStateless", false);
  python.attrs.push_back({"token", "string", ""});
  EXPECT_THAT(WhyNotAgain(python, {}), HasSubstr("Python"));
  EXPECT_THAT(WhyNotAgain(Op("Abort", false), {}), HasSubstr("ends the process"));
}

}  // namespace
}  // namespace flowscope::replay
