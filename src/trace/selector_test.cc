#include "trace/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "trace/testing.h"

namespace flowscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A NameAttrList with padding="SAME", T=float32 and strides=[2, 2].
std::string ConvAttrs() {
  const auto entry = [](const std::string& name, const std::string& value) {
    std::string pair;
    protozero::pbf_writer writer(pair);
    writer.add_string(1, name);
    writer.add_message(2, value);
    return pair;
  };
  std::string padding, type, list, strides, attrs;
  protozero::pbf_writer(padding).add_string(2, "SAME");
  protozero::pbf_writer(type).add_enum(6, 1);
  const std::vector<int64_t> numbers{2, 2};
  protozero::pbf_writer(list).add_packed_int64(3, numbers.begin(), numbers.end());
  protozero::pbf_writer(strides).add_message(1, list);
  protozero::pbf_writer writer(attrs);
  writer.add_string(1, "Conv2D");
  writer.add_message(2, entry("padding", padding));
  writer.add_message(2, entry("T", type));
  writer.add_message(2, entry("strides", strides));
  return attrs;
}

// An encoder with two blocks (the second shared and called twice), a passing dropout, a loop:
//   0 input_1_1   1 matmul_1_2   2 relu_1_3   3 matmul_2_4:1   4 relu_2_5:1   5 matmul_2_4:2
//   6 relu_2_5:2  7 conv2d_1_6   8 while_1_7  9 addv2_1_8:1   10 addv2_1_8:2
class SelectorTest : public ::testing::Test {
 protected:
  SelectorTest() {
    const TensorId x = m_.Input("x", {2});
    m_.Module("self");
    m_.Module("encoder");
    m_.Module("encoder.0", {.aliases = {"block_3"}});
    m_.Module("encoder.1", {.aliases = {"block_4", "decoder.0"}});
    TensorId h = kNoId;
    const TensorId y = m_.Call("self", [&] {
      m_.Call("encoder", [&] {
        h = Block("encoder.0", x, 10);
        h = Block("encoder.1", h, 20);
        return h = Block("encoder.1", h, 20);
      });
      m_.Call("dropout", [&] { return h; });
      return m_.Op("Conv2D", {h}, {.dims = {2}, .attrs = ConvAttrs()});
    });
    m_.At("/home/me/my_train.py", 10);
    m_.Op("While", {y});
    const OpId loop = m_.last_op();
    for (uint32_t i = 0; i < 2; ++i) {
      m_.Iteration("while", i, [&] { m_.Op("AddV2", {y}); }, loop);
    }
    m_.Output("y", y);
    trace_ = m_.Finish();
  }

  TensorId Block(std::string_view address, TensorId x, uint32_t line) {
    return m_.Call(address, [&] {
      m_.At("/home/me/train.py", line);
      const TensorId y = m_.Op("MatMul", {x});
      m_.At("/home/me/train.py", line + 1);
      return m_.Op("Relu", {y});
    });
  }

  std::vector<OpId> Ops(const SelectorPtr& selector) const {
    const auto found = Select(*trace_, selector);
    return found.ok() ? *found : std::vector<OpId>();
  }
  std::string Miss(const SelectorPtr& selector) const {
    return Select(*trace_, selector).status().ToString();
  }

  TraceMaker m_;
  std::shared_ptr<const Trace> trace_;
};

TEST_F(SelectorTest, AllAndNone) {
  EXPECT_EQ(Ops(SelectAll()).size(), trace_->num_ops());
  EXPECT_EQ(Select(*trace_, SelectNone()).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Select(*trace_, nullptr).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(SelectorTest, LabelInEverySpelling) {
  EXPECT_THAT(Ops(SelectLabel("matmul_2_4:2")), ElementsAre(5));
  EXPECT_THAT(Ops(SelectLabel("matmul_2_4")), ElementsAre(3, 5));
  EXPECT_THAT(Ops(SelectLabel("matmul_2")), ElementsAre(3, 5));
  EXPECT_THAT(Ops(SelectLabel("matmul_2:1")), ElementsAre(3));
  EXPECT_THAT(Ops(SelectLabel("matmul_*")), IsEmpty());
  EXPECT_THAT(Ops(SelectLabel("matmul")), IsEmpty());
}

TEST_F(SelectorTest, FuncIgnoresCase) {
  EXPECT_THAT(Ops(SelectFunc("relu")), ElementsAre(2, 4, 6));
  EXPECT_THAT(Ops(SelectFunc("MATMUL")), ElementsAre(1, 3, 5));
  EXPECT_THAT(Ops(SelectFunc("conv?d")), ElementsAre(7));
  EXPECT_THAT(Ops(SelectFunc("*U")), ElementsAre(2, 4, 6));
  EXPECT_THAT(Ops(SelectFunc("rel")), IsEmpty());
}

TEST_F(SelectorTest, ModuleIsTheInnermostOne) {
  EXPECT_THAT(Ops(SelectModule("encoder.0")), ElementsAre(1, 2));
  EXPECT_THAT(Ops(SelectModule("encoder")), IsEmpty());
  EXPECT_THAT(Ops(SelectModule("encoder.*")), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(SelectorTest, ModuleByCall) {
  EXPECT_THAT(Ops(SelectModule("encoder.1:2")), ElementsAre(5, 6));
  EXPECT_THAT(Ops(SelectInModule("encoder.1:1")), ElementsAre(3, 4));
  EXPECT_THAT(Ops(SelectModule("encoder.*:1")), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Ops(SelectModule("encoder.1:3")), IsEmpty());
}

TEST_F(SelectorTest, ModuleByAlias) {
  EXPECT_THAT(Ops(SelectModule("block_4")), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(Ops(SelectModule("decoder.0")), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(Ops(SelectModule("block_4:2")), ElementsAre(5, 6));
  EXPECT_THAT(Ops(SelectInModule("block_3")), ElementsAre(1, 2));
}

TEST_F(SelectorTest, InModuleIncludesDescendants) {
  EXPECT_THAT(Ops(SelectInModule("encoder")), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(SelectorTest, EverythingIsInSelf) {
  EXPECT_EQ(Ops(SelectInModule("self")).size(), trace_->num_ops());
  EXPECT_THAT(Ops(SelectModule("self")), ElementsAre(0, 7, 8, 9, 10));
}

TEST_F(SelectorTest, ContainsLooksAtLabelAndInnermostAddress) {
  EXPECT_THAT(Ops(SelectContains("mul_2")), ElementsAre(3, 5));
  EXPECT_THAT(Ops(SelectContains("coder.0")), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Ops(SelectContains("block_3")), ElementsAre(1, 2));
}

TEST_F(SelectorTest, RegexIsSearched) {
  EXPECT_THAT(Ops(*SelectRegex("^relu_[0-9]+_5")), ElementsAre(4, 6));
  EXPECT_THAT(Ops(*SelectRegex("der\\.1$")), ElementsAre(3, 4, 5, 6));
  const Status wrong = SelectRegex("(").status();
  EXPECT_EQ(wrong.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(wrong.message(), HasSubstr("\"(\""));
}

TEST_F(SelectorTest, WhereSeesTheFacts) {
  const auto second_pass = SelectWhere([](const OpFacts& f) { return f.pass == 2; }, "second");
  EXPECT_THAT(Ops(second_pass), ElementsAre(5, 6, 10));
  EXPECT_EQ(second_pass->ToString(), "where(second)");
}

TEST_F(SelectorTest, OutputsOfTheCallAndOfModules) {
  EXPECT_THAT(Ops(SelectOutput()), ElementsAre(7));
  EXPECT_THAT(Ops(SelectModuleOutput("encoder.0")), ElementsAre(2));
  EXPECT_THAT(Ops(SelectModuleOutput("encoder.1")), ElementsAre(4, 6));
  EXPECT_THAT(Ops(SelectModuleOutput("block_4:2")), ElementsAre(6));
  EXPECT_THAT(Ops(SelectModuleOutput("encoder.*")), ElementsAre(2, 4, 6));
  EXPECT_THAT(Ops(SelectModuleOutput("self")), ElementsAre(7));
}

TEST_F(SelectorTest, WhatAModulePassesOnIsItsOutput) {
  EXPECT_THAT(Ops(SelectModuleOutput("dropout")), ElementsAre(6));
  EXPECT_THAT(Ops(SelectModule("dropout")), IsEmpty());
}

TEST_F(SelectorTest, Neighbours) {
  EXPECT_THAT(Ops(SelectFollowedBy(SelectFunc("conv2d"))), ElementsAre(6));
  EXPECT_THAT(Ops(SelectFollowedBy(SelectFunc("matmul"))), ElementsAre(0, 2, 4));
  EXPECT_THAT(Ops(SelectPrecededBy(SelectFunc("input"))), ElementsAre(1));
  EXPECT_THAT(Ops(SelectPrecededBy(SelectModuleOutput("encoder.1"))), ElementsAre(5, 7));
  EXPECT_THAT(Ops(SelectFollowedBy(SelectFollowedBy(SelectFunc("conv2d")))), ElementsAre(5));
  EXPECT_THAT(Ops(SelectFollowedBy(SelectModuleOutput("encoder.0"))), ElementsAre(1));
}

TEST_F(SelectorTest, IterationsAndPasses) {
  EXPECT_THAT(Ops(SelectIteration(1)), ElementsAre(10));
  EXPECT_THAT(Ops(SelectPasses({2})), ElementsAre(5, 6, 10));
  EXPECT_EQ(Ops(SelectPasses({1, 2})).size(), trace_->num_ops());
}

TEST_F(SelectorTest, Lines) {
  EXPECT_THAT(Ops(SelectLine("train.py", 10)), ElementsAre(1));
  EXPECT_THAT(Ops(SelectLine("me/train.py", 21)), ElementsAre(4, 6, 7));
  EXPECT_THAT(Ops(SelectLine("", 10)), ElementsAre(1, 8, 9, 10));
  EXPECT_THAT(Ops(SelectLine("rain.py", 10)), IsEmpty());
}

TEST_F(SelectorTest, Attributes) {
  EXPECT_THAT(Ops(SelectAttr("padding", "SAME")), ElementsAre(7));
  EXPECT_THAT(Ops(SelectAttr("padding", "\"SAME\"")), ElementsAre(7));
  EXPECT_THAT(Ops(SelectAttr("padding", "S*")), ElementsAre(7));
  EXPECT_THAT(Ops(SelectAttr("T", "float32")), ElementsAre(7));
  EXPECT_THAT(Ops(SelectAttr("strides", "[2, 2]")), ElementsAre(7));
  EXPECT_THAT(Ops(SelectAttr("padding", "VALID")), IsEmpty());
  EXPECT_THAT(Ops(SelectAttr("no_such", "*")), IsEmpty());
}

TEST_F(SelectorTest, Combinations) {
  const auto relu = SelectFunc("relu");
  const auto encoder1 = SelectModule("encoder.1");
  EXPECT_THAT(Ops(And(relu, encoder1)), ElementsAre(4, 6));
  EXPECT_THAT(Ops(Or(relu, SelectLabel("conv2d_1"))), ElementsAre(2, 4, 6, 7));
  EXPECT_THAT(Ops(Minus(encoder1, relu)), ElementsAre(3, 5));
  EXPECT_THAT(Ops(Not(SelectInModule("encoder"))), ElementsAre(0, 7, 8, 9, 10));
}

TEST_F(SelectorTest, TextIsAnAddressFirst) {
  EXPECT_THAT(Ops(SelectText("encoder.0")), ElementsAre(2));
  EXPECT_THAT(Ops(SelectText("block_4:1")), ElementsAre(4));
  EXPECT_THAT(Ops(SelectText("encoder*")), ElementsAre(2, 4, 6));
}

TEST_F(SelectorTest, TextIsElseALabel) {
  EXPECT_THAT(Ops(SelectText("matmul_2:2")), ElementsAre(5));
  EXPECT_THAT(Ops(SelectText("matmul_2_4")), ElementsAre(3, 5));
  EXPECT_THAT(Ops(SelectText("relu_*:2")), ElementsAre(6));
  EXPECT_THAT(Ops(SelectText("matmul*")), ElementsAre(1, 3, 5));
  EXPECT_THAT(Ops(SelectText("conv2d_?")), ElementsAre(7));
}

TEST(SelectText, AnAddressHidesTheLabelOfTheSameName) {
  TraceMaker m;
  const TensorId x = m.Input("x", {1});
  m.Call("relu_1", [&] { return m.Op("Abs", {m.Op("Relu", {x})}); });
  const auto trace = m.Finish();
  EXPECT_THAT(*Select(*trace, SelectText("relu_1")), ElementsAre(2));
  EXPECT_THAT(*Select(*trace, SelectText("relu_1_2")), ElementsAre(1));
}

TEST_F(SelectorTest, ToStringReadsLikePython) {
  const auto selector = Minus(And(SelectFunc("relu"), Not(SelectInModule("a.*"))),
                              Or(SelectText("b"), SelectAttr("padding", "SAME")));
  EXPECT_EQ(selector->ToString(),
            R"(((func("relu") & ~in_module("a.*")) - ("b" | attr("padding", "SAME"))))");
  EXPECT_EQ(SelectLine("a\"b.py", 3)->ToString(), R"(line(3, "a\"b.py"))");
  EXPECT_EQ(SelectLine("", 3)->ToString(), "line(3)");
  EXPECT_EQ(SelectPasses({1, 3})->ToString(), "passes(1, 3)");
}

TEST_F(SelectorTest, MissesNameWhatIsNear) {
  EXPECT_THAT(Miss(SelectLabel("matmull_1")), AllOf(HasSubstr("not found"), HasSubstr("matmul_1")));
  EXPECT_THAT(Miss(SelectFunc("rellu")), HasSubstr("Relu"));
  EXPECT_THAT(Miss(SelectInModule("encodr")), HasSubstr("near: encoder"));
  EXPECT_THAT(Miss(SelectText("encoder.2")), HasSubstr("encoder.1"));
  EXPECT_THAT(Miss(SelectModule("encoder")), HasSubstr("the module is there"));
  EXPECT_THAT(Miss(SelectIteration(7)), HasSubstr("0, 1"));
  EXPECT_THAT(Miss(SelectPasses({9})), HasSubstr("are 2"));
  EXPECT_THAT(Miss(SelectLine("train.py", 99)), HasSubstr("10, 11, 20, 21"));
  EXPECT_THAT(Miss(SelectLine("other.py", 10)), HasSubstr("/home/me/train.py"));
  EXPECT_THAT(Miss(SelectAttr("padding", "VALID")), HasSubstr("\"SAME\""));
  EXPECT_THAT(Miss(SelectAttr("paddin", "SAME")), HasSubstr("no op has an attribute"));
}

TEST_F(SelectorTest, MissesOfCombinationsNameTheSideAtFault) {
  const auto relu = SelectFunc("relu");
  const auto wrong = SelectFunc("rellu");
  EXPECT_THAT(Miss(And(relu, wrong)), HasSubstr("no op type is called \"rellu\""));
  EXPECT_THAT(Miss(And(relu, SelectLabel("conv2d_1"))),
              HasSubstr("func(\"relu\") matches 3 ops, label(\"conv2d_1\") matches 1"));
  EXPECT_THAT(Miss(Or(wrong, SelectLabel("add_1"))), AllOf(HasSubstr("rellu"), HasSubstr("add")));
  EXPECT_THAT(Miss(Minus(relu, SelectAll())), HasSubstr("takes away all 3 ops"));
  EXPECT_THAT(Miss(Not(SelectAll())), HasSubstr("matches every op"));
  EXPECT_THAT(Miss(SelectFollowedBy(wrong)), HasSubstr("rellu"));
  EXPECT_THAT(Miss(SelectFollowedBy(SelectFunc("input"))), HasSubstr("none of them"));
}

TEST_F(SelectorTest, WhatAnswersWhileTheRunGoesOn) {
  EXPECT_TRUE(SelectInModule("a")->AnswersLive());
  EXPECT_TRUE(SelectText("a")->AnswersLive());
  EXPECT_TRUE(SelectText("a")->WaitsForModuleEnd());
  EXPECT_TRUE(SelectPrecededBy(SelectFunc("relu"))->AnswersLive());
  EXPECT_FALSE(SelectPrecededBy(SelectModuleOutput("a"))->AnswersLive());
  EXPECT_FALSE(SelectOutput()->AnswersLive());
  EXPECT_FALSE(SelectFollowedBy(SelectAll())->AnswersLive());
  EXPECT_FALSE(Or(SelectAll(), SelectOutput())->AnswersLive());
  EXPECT_FALSE(Not(SelectText("a"))->AnswersLive());
  EXPECT_FALSE(Minus(SelectAll(), SelectModuleOutput("a"))->AnswersLive());
  EXPECT_TRUE(Minus(SelectModuleOutput("a"), SelectFunc("relu"))->AnswersLive());
  EXPECT_TRUE(And(SelectText("a"), SelectAll())->WaitsForModuleEnd());
  EXPECT_FALSE(Not(SelectFunc("relu"))->WaitsForModuleEnd());
}

// Asks each selector about every op right after it ran and at the end of every module call, and
// compares with the answer of the finished trace.
class LiveSelectorTest : public ::testing::Test {
 protected:
  explicit LiveSelectorTest()
      : selectors_{SelectFunc("relu"),
                   SelectLabel("relu_1:2"),
                   SelectModule("net.cell"),
                   SelectModule("net.cell:2"),
                   SelectInModule("net"),
                   SelectInModule("cell_9"),
                   SelectModuleOutput("net.cell"),
                   SelectModuleOutput("net"),
                   SelectText("net.cell:1"),
                   SelectText("matmul_1"),
                   And(SelectModule("net.cell"), SelectModuleOutput("net")),
                   Or(SelectModule("net"), SelectModuleOutput("net")),
                   SelectPrecededBy(SelectFunc("matmul")),
                   SelectPasses({2}),
                   SelectIteration(1),
                   Not(SelectFunc("relu"))},
        live_(selectors_.size()) {}

  void Ask(OpId op, ModuleCallId ending) {
    FactsScratch scratch;
    const OpFacts facts = FactsOf(m_.tables(), op, scratch, ending);
    for (size_t i = 0; i < selectors_.size(); ++i) {
      if (selectors_[i]->Matches(facts, nullptr)) live_[i].push_back(op);
    }
  }
  TensorId Op(std::string_view type, TensorId input) {
    const TensorId output = m_.Op(type, {input});
    Ask(m_.last_op(), kNoId);
    return output;
  }
  template <typename Body>
  TensorId Call(std::string_view address, Body body) {
    const TensorId output = m_.Call(address, body);
    Ask(m_.OpOf(output), m_.last_call());
    return output;
  }

  TraceMaker m_;
  std::vector<SelectorPtr> selectors_;
  std::vector<std::vector<OpId>> live_;
};

TEST_F(LiveSelectorTest, AnswersAreThoseOfTheFinishedTrace) {
  const TensorId x = m_.Input("x", {2});
  Ask(m_.OpOf(x), kNoId);
  m_.Module("net");
  m_.Module("net.cell", {.aliases = {"cell_9"}});
  const TensorId y = Call("net", [&] {
    TensorId h = x;
    for (int i = 0; i < 2; ++i) {
      h = Call("net.cell", [&] { return Op("Relu", Op("MatMul", h)); });
    }
    Op("Relu", h);
    return h;
  });
  for (uint32_t i = 0; i < 2; ++i) m_.Iteration("while", i, [&] { Op("Neg", y); });
  const auto trace = m_.Finish();
  for (size_t i = 0; i < selectors_.size(); ++i) {
    std::vector<OpId>& live = live_[i];
    std::sort(live.begin(), live.end());
    live.erase(std::unique(live.begin(), live.end()), live.end());
    const auto finished = Select(*trace, selectors_[i]);
    ASSERT_TRUE(finished.ok()) << finished.status().ToString();
    EXPECT_EQ(live, *finished) << selectors_[i]->ToString();
  }
}

TEST_F(SelectorTest, PartsThatNameNothing) {
  const auto parts = [&](const SelectorPtr& selector) {
    return PartsWithoutName(trace_->tables(), *selector);
  };
  EXPECT_THAT(parts(Not(SelectModule("typo"))), ElementsAre("module(\"typo\")"));
  EXPECT_THAT(parts(And(Not(SelectLabel("typo_1")), SelectFunc("typo"))),
              ElementsAre("label(\"typo_1\")", "func(\"typo\")"));
  EXPECT_THAT(parts(Or(SelectText("typo"), SelectText("typo"))), ElementsAre("\"typo\""));
  EXPECT_THAT(parts(Minus(SelectAll(), SelectFollowedBy(SelectInModule("typo.*")))),
              ElementsAre("in_module(\"typo.*\")"));
  for (const SelectorPtr& known :
       {SelectModule("encoder.1:2"), SelectModule("block_4"), SelectInModule("self"),
        SelectLabel("matmul_2:2"), SelectText("matmul_2_4"), SelectText("enc*"),
        SelectFunc("MATMUL"), SelectPasses({99}), SelectNone()}) {
    EXPECT_THAT(parts(Not(known)), IsEmpty()) << known->ToString();
  }
}

TEST_F(SelectorTest, FactsOfAnOp) {
  FactsScratch scratch;
  const OpFacts facts = FactsOf(*trace_, 5, scratch);
  EXPECT_EQ(facts.type, "MatMul");
  EXPECT_EQ(facts.label, "matmul_2_4:2");
  EXPECT_EQ(facts.layer_label, "matmul_2_4");
  EXPECT_THAT(facts.module_addresses,
              ElementsAre("encoder.1", "block_4", "decoder.0", "encoder", "self"));
  EXPECT_THAT(facts.call_indices, ElementsAre(2, 2, 2, 1, 1));
  EXPECT_EQ(facts.num_innermost, 3u);
  EXPECT_EQ(facts.file, "/home/me/train.py");
  EXPECT_EQ(facts.line, 20u);
  EXPECT_THAT(facts.parents, ElementsAre(4));
  EXPECT_FALSE(facts.is_module_output);
  EXPECT_FALSE(facts.iteration.has_value());
  EXPECT_TRUE(FactsOf(*trace_, 6, scratch).is_module_output);
  EXPECT_EQ(FactsOf(*trace_, 10, scratch).iteration, 1u);
  EXPECT_EQ(FactsOf(*trace_, 10, scratch).region_path, "while");
}

}  // namespace
}  // namespace flowscope
