#include "trace/lint.h"

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/testing.h"

namespace flowscope {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A sound recording with one of everything, for tests to break:
//   ops: 0 input_1_1, 1 constant_1_2, 2 readvariableop_1_3, 3 matmul_1_4:1, 4 split_1_5:1,
//   5 matmul_1_4:2, 6 split_1_5:2, 7 while_1_6, 8 addv2_1_7:1, 9 addv2_1_7:2,
//   10 assignvariableop_1_8, 11 readvariableop_2_9, 12 matmul_2_10 (failed)
class LintTest : public ::testing::Test {
 protected:
  LintTest() {
    x_ = m_.Input("x", {2});
    const TensorId c = m_.Constant("c", {2});
    v_ = m_.Variable("net.v", {2});
    m_.Module("self");
    m_.Module("net", {.variables = {v_}});
    TensorId y = m_.Read(v_);
    m_.Call("net", [&] {
      for (int i = 0; i < 2; ++i) {
        y = m_.Call("net.cell", {.inputs = {y}}, [&] {
          const TensorId product = m_.Op("MatMul", {y, c});
          return m_.Op("Split", {product, m_.Literal(0)}, {.dims = {2}, .num_outputs = 2}) + 1;
        });
      }
    });
    m_.Op("While", {y});
    const OpId loop = m_.last_op();
    for (uint32_t i = 0; i < 2; ++i) {
      m_.Iteration("while", i, [&] { m_.Op("AddV2", {y, m_.Literal(1)}); }, loop);
    }
    m_.Assign(v_, y);
    m_.ChangeOutside(v_);
    m_.Read(v_);
    m_.Op("MatMul", {y}, {.error = "shapes do not fit"});
    m_.Output("y", y);
    y_ = y;
  }

  OpRecord& op(OpId id) { return m_.tables().ops[id]; }
  TensorRecord& tensor(TensorId id) { return m_.tables().tensors[id]; }
  EdgeRecord& edge(OpId id, uint32_t index) {
    return m_.tables().edges[op(id).inputs.first + index];
  }
  std::vector<std::string> Broken() {
    const auto trace = m_.Finish();
    return Lint(*trace);
  }
  std::vector<std::string> BrokenTables() { return LintTables(m_.tables()); }

  TraceMaker m_;
  TensorId x_ = kNoId;
  TensorId y_ = kNoId;
  VariableId v_ = 0;
};

TEST_F(LintTest, ASoundTraceHasNoFindings) {
  EXPECT_THAT(BrokenTables(), IsEmpty());
  EXPECT_THAT(Broken(), IsEmpty());
}

// Ops.

TEST_F(LintTest, RunCounterWithAGap) {
  for (OpId id = 5; id <= 12; ++id) ++op(id).run_counter;
  EXPECT_THAT(Broken(), ElementsAre("op 5 (matmul_1_4:2) has run counter 5 after 3"));
}

TEST_F(LintTest, RunCounterTwice) {
  op(12).run_counter = op(11).run_counter;
  EXPECT_THAT(Broken(), ElementsAre("op 12 (matmul_2_10:1) has run counter 10 after 10"));
}

TEST_F(LintTest, RunCounterOutOfOrder) {
  std::swap(op(3).run_counter, op(4).run_counter);
  EXPECT_THAT(Broken(), Contains(HasSubstr("op 3 (matmul_1_4:1) has run counter 3 after 1")));
}

TEST_F(LintTest, RunCounterMissing) {
  op(12).run_counter = 0;
  EXPECT_THAT(Broken(), ElementsAre(HasSubstr("op 12 (matmul_2_10:1) has no run counter"),
                                    "11 ops were executed, but 10 are recorded"));
}

TEST_F(LintTest, RunCounterOfASource) {
  op(0).run_counter = 1;
  EXPECT_THAT(Broken(), Contains("op 0 (input_1_1:1) is a source and has run counter 1"));
}

TEST_F(LintTest, AnInterventionNeedsNoRunCounter) {
  op(12).kind = OpKind::kIntervention;
  EXPECT_THAT(Broken(), IsEmpty());
}

TEST_F(LintTest, AFailedOpHasNoOutputs) {
  op(4).error = m_.builder().Intern("failed");
  EXPECT_THAT(Broken(), ElementsAre("op 4 (split_1_5:1) failed and has 2 outputs"));
}

TEST_F(LintTest, ASourceHasNoInputs) {
  op(1).inputs = {0, 1};
  EXPECT_THAT(Broken(), AllOf(Contains("op 1 (constant_1_2:1) is a source and has 1 inputs"),
                              Contains(HasSubstr("edge 0 is an input of op 1"))));
}

TEST_F(LintTest, EveryEdgeBelongsToAnOp) {
  m_.tables().edges.push_back({x_, EdgeClass::kInput, 0});
  const auto last = std::to_string(m_.tables().edges.size() - 1);
  EXPECT_THAT(Broken(), ElementsAre("edge " + last + " is an input of no op"));
}

TEST_F(LintTest, TimeDoesNotRunBackwards) {
  op(3).duration_ns = -1;
  m_.tables().module_calls[0].duration_ns = -5;
  EXPECT_THAT(Broken(),
              ElementsAre("op 3 (matmul_1_4:1) took -1 ns", "module call 0 (net:1) took -5 ns"));
}

// Edges.

TEST_F(LintTest, AnInputComesFromAnEarlierOp) {
  edge(3, 0) = {m_.tables().ops[8].outputs.first, EdgeClass::kOp, 0};
  EXPECT_THAT(Broken(), ElementsAre(AllOf(HasSubstr("input 0 of op 3 (matmul_1_4:1)"),
                                          HasSubstr("of op 8 (addv2_1_7:1), which started no "
                                                    "earlier"))));
}

TEST_F(LintTest, AnOpIsNotItsOwnInput) {
  edge(3, 0) = {op(3).outputs.first, EdgeClass::kOp, 0};
  EXPECT_THAT(Broken(), ElementsAre(HasSubstr("started no earlier")));
}

TEST_F(LintTest, AnExplainedInputNamesATensor) {
  edge(3, 0) = {kNoId, EdgeClass::kOp, 0};
  EXPECT_THAT(Broken(),
              ElementsAre("input 0 of op 3 (matmul_1_4:1) is of class op and names no tensor"));
}

TEST_F(LintTest, UnexplainedInputsAreCounted) {
  edge(3, 0).edge_class = EdgeClass::kUnexplained;
  edge(3, 1) = {kNoId, EdgeClass::kUnexplained, 0};
  EXPECT_THAT(Broken(), ElementsAre("2 inputs are unexplained, the first is input 0 of op 3 "
                                    "(matmul_1_4:1)"));
}

TEST_F(LintTest, ClassOpNeedsAProducer) {
  edge(4, 1).edge_class = EdgeClass::kOp;  // the literal
  EXPECT_THAT(Broken(), ElementsAre(HasSubstr("input 1 of op 4 (split_1_5:1) is of class op, but "
                                              "nothing produced tensor")));
}

struct WrongClass {
  OpId op;
  uint32_t input;
  EdgeClass edge_class;
};
void PrintTo(const WrongClass& wrong, std::ostream* out) {
  *out << "op " << wrong.op << " input " << wrong.input << " " << EdgeClassName(wrong.edge_class);
}
class LintClassTest : public LintTest, public ::testing::WithParamInterface<WrongClass> {};

TEST_P(LintClassTest, TheClassOfAnInputFitsItsProducer) {
  const WrongClass& wrong = GetParam();
  edge(wrong.op, wrong.input).edge_class = wrong.edge_class;
  const auto name = std::string(EdgeClassName(wrong.edge_class));
  EXPECT_THAT(Broken(), ElementsAre(HasSubstr(" is of class " + name + ", but ")));
}

INSTANTIATE_TEST_SUITE_P(
    All, LintClassTest,
    ::testing::Values(WrongClass{3, 0, EdgeClass::kInput}, WrongClass{3, 0, EdgeClass::kConstant},
                      WrongClass{3, 0, EdgeClass::kLiteral},
                      WrongClass{3, 0, EdgeClass::kFromPython}, WrongClass{3, 1, EdgeClass::kOp},
                      WrongClass{3, 1, EdgeClass::kInput}, WrongClass{3, 0, EdgeClass::kVariable},
                      WrongClass{3, 0, EdgeClass::kResource},
                      WrongClass{4, 1, EdgeClass::kConstant}));

TEST_F(LintTest, AHeldHandleNamesOneTensor) {
  edge(8, 0).handle = edge(3, 1).handle;  // that of the constant
  EXPECT_THAT(Broken(), ElementsAre(AllOf(HasSubstr("input 0 of op 8"),
                                          HasSubstr("has the handle "
                                                    "of tensor 1 of op 1 (constant_1_2:1)"))));
}

TEST_F(LintTest, AnAddressCanComeBackWhereTheValueWasLetGo) {
  edge(8, 0).handle = edge(4, 0).handle;
  tensor(edge(4, 0).tensor).state = PayloadState::kNotKept;
  tensor(edge(4, 0).tensor).handle = 0;
  EXPECT_THAT(Broken(), IsEmpty());
}

TEST_F(LintTest, UnknownHandlesAreNotCompared) {
  for (OpId id : {3, 4, 8}) edge(id, 0).handle = 0;
  EXPECT_THAT(Broken(), IsEmpty());
}

// Tensors.

TEST_F(LintTest, OutputsPointBackAtTheirOp) {
  tensor(op(4).outputs.first + 1).output_index = 0;
  EXPECT_THAT(Broken(), ElementsAre(AllOf(HasSubstr("output 1 of op 4 (split_1_5:1)"),
                                          HasSubstr("which is output 0"))));
}

TEST_F(LintTest, OutputsAreOfOneOp) {
  op(5).outputs = op(4).outputs;
  EXPECT_THAT(Broken(), AllOf(Contains(HasSubstr("output 0 of op 5 (matmul_1_4:2) is tensor")),
                              Contains(HasSubstr("does not stand among the op's outputs"))));
}

TEST_F(LintTest, ATensorWithAProducerIsAnOutput) {
  op(9).outputs.count = 0;
  EXPECT_THAT(Broken(), ElementsAre(AllOf(HasSubstr("op 9 (addv2_1_7:2)"),
                                          HasSubstr("does not stand among"))));
}

TEST_F(LintTest, AHandleHasNoValue) {
  tensor(edge(2, 0).tensor).state = PayloadState::kKept;
  EXPECT_THAT(Broken(), ElementsAre(HasSubstr("is resource and has state kept")));
}

TEST_F(LintTest, BytesFollowFromShapeAndDtype) {
  tensor(x_).nbytes = 4;
  EXPECT_THAT(Broken(), ElementsAre("tensor 0 of op 0 (input_1_1:1) has 4 bytes, but its shape and "
                                    "dtype make 8"));
}

TEST_F(LintTest, BytesOfAnUnknownShapeAreNotJudged) {
  tensor(x_).nbytes = 4;
  tensor(x_).shape_known = false;
  EXPECT_THAT(Broken(), IsEmpty());
}

// Sites.

TEST_F(LintTest, PassesAreCounted) {
  m_.tables().sites[3].num_passes = 3;
  EXPECT_THAT(Broken(), ElementsAre("site 3 (matmul_1_4) has 3 passes, but 2 ops"));
}

TEST_F(LintTest, PassesRise) {
  std::swap(op(3).pass, op(5).pass);
  EXPECT_THAT(Broken(), ElementsAre("op 3 (matmul_1_4:2) is the 1. op of site 3",
                                    "op 5 (matmul_1_4:1) is the 2. op of site 3"));
}

TEST_F(LintTest, LabelsAreUnique) {
  m_.tables().sites[8].type_index = 1;
  EXPECT_THAT(Broken(), ElementsAre("site 8 (readvariableop_1_9) is the 2. of its type",
                                    "site 8 has the label readvariableop_1 of another site"));
}

TEST(LintLabels, ATypeThatLooksLikeALabelIsNoticed) {
  TraceMaker m;
  m.Op("Pool");
  m.Op("Pool_1");
  EXPECT_THAT(Lint(*m.Finish()), ElementsAre("site 1 has the label pool_1_1 of another site"));
}

TEST_F(LintTest, OrdinalsAreRows) {
  m_.tables().sites[8].ordinal = 30;
  EXPECT_THAT(Broken(), ElementsAre(HasSubstr("site 8 (readvariableop_2_30) has ordinal 30")));
}

TEST_F(LintTest, AnOpFitsItsSite) {
  op(3).type = m_.builder().Intern("Conv2D");
  m_.tables().sites[4].module_address = m_.builder().Intern("net");
  m_.tables().sites[5].region_path = m_.builder().Intern("f");
  EXPECT_THAT(Broken(), ElementsAre("op 3 (matmul_1_4:1) is of type Conv2D",
                                    "op 4 (split_1_5:1) stands in module net.cell, its site in net",
                                    "op 6 (split_1_5:2) stands in module net.cell, its site in net",
                                    "op 7 (while_1_6:1) stands in region '', its site in 'f'"));
}

// Modules.

TEST_F(LintTest, CallIndicesCountFromOne) {
  m_.tables().module_calls[2].call_index = 3;
  EXPECT_THAT(Broken(), ElementsAre("module call 2 (net.cell:3) is the 2. call of its module"));
}

TEST_F(LintTest, ModuleCallsNest) {
  m_.tables().module_calls[0].end_op = 6;
  EXPECT_THAT(Broken(), ElementsAre("module call 2 (net.cell:2) has ops [5, 7), outside [3, 6) of "
                                    "module call 0 (net:1)"));
}

TEST_F(LintTest, AnOpRunsWhileItsModuleCallIsOpen) {
  m_.tables().module_calls[1].end_op = 4;
  EXPECT_THAT(Broken(), ElementsAre("op 4 (split_1_5:1) started while module call 1 (net.cell:1) "
                                    "was not open"));
}

TEST_F(LintTest, TheAddressIsTheFirstOfTheAddresses) {
  m_.tables().string_lists[m_.tables().modules[1].addresses.first] = 0;
  m_.tables().variables[v_].addresses.count = 0;
  EXPECT_THAT(Broken(), ElementsAre(HasSubstr("module 1 (net)"), HasSubstr("variable 0 (net.v)")));
}

// Regions.

TEST_F(LintTest, RowZeroIsTheOnlyRoot) {
  m_.tables().regions[1].kind = RegionKind::kRoot;
  EXPECT_THAT(Broken(), Contains(HasSubstr("is a second root")));
}

TEST_F(LintTest, EveryOtherRegionHasAParent) {
  m_.tables().regions[1].parent = kNoId;
  EXPECT_THAT(Broken(), Contains("region 1 (iteration while[0]) has no parent"));
}

TEST_F(LintTest, ARegionDoesNotHoldTheOpThatOpenedIt) {
  m_.tables().regions[1].op = 8;
  EXPECT_THAT(Broken(), ElementsAre(HasSubstr("op 8 (addv2_1_7:1) stands in region 1")));
}

TEST_F(LintTest, IterationsRise) {
  m_.tables().regions[2].index = 0;
  EXPECT_THAT(Broken(), ElementsAre("region 2 (iteration while[0]) follows iteration 0"));
}

TEST(Lint, ALoopWithoutAnOpCanRunAgain) {
  TraceMaker m;
  for (int run = 0; run < 2; ++run) {
    for (uint32_t i = 0; i < 2; ++i) m.Iteration("for", i, [&] { m.Op("Abs"); });
  }
  EXPECT_THAT(Lint(*m.Finish()), IsEmpty());
}

// Variables.

TEST_F(LintTest, VersionsRiseByOne) {
  m_.tables().versions[1].index = 2;
  EXPECT_THAT(Broken(), Contains("version 2 of variable net.v stands where version 1 should"));
}

// As of a variable that was made during the run; but then the writer has an access.
TEST_F(LintTest, TheFirstVersionCanHaveAWriter) {
  m_.tables().versions[0].writer = 2;
  EXPECT_THAT(Broken(), Contains(AllOf(HasSubstr("version 0 of variable net.v was written by op 2"),
                                       HasSubstr("which has no such access"))));
}

TEST_F(LintTest, AVersionFromOutsideWasSeen) {
  m_.tables().versions[2].value = kNoId;
  EXPECT_THAT(Broken(), ElementsAre("version 2 of variable net.v has neither a writer nor a value "
                                    "that showed it"));
}

TEST_F(LintTest, AWriterHasAWriteAccess) {
  m_.tables().accesses[1].write = false;
  EXPECT_THAT(Broken(), Contains("version 1 of variable net.v was written by op 10 "
                                 "(assignvariableop_1_8:1), which has no such access"));
}

TEST_F(LintTest, AWriteMadeItsVersion) {
  m_.tables().accesses[0].write = true;
  EXPECT_THAT(Broken(), ElementsAre("op 2 (readvariableop_1_3:1) writes version 0 of variable "
                                    "net.v, but its writer is outside this run"));
}

TEST_F(LintTest, AnAccessRefersToAVersion) {
  m_.tables().accesses[2].version = 3;
  EXPECT_THAT(Broken(), ElementsAre("op 11 (readvariableop_2_9:1) reads version 3 of variable "
                                    "net.v, but there are 3"));
}

TEST_F(LintTest, AVersionIsWrittenBeforeItIsRead) {
  m_.tables().accesses[0].version = 1;
  EXPECT_THAT(Broken(), ElementsAre(HasSubstr("reads version 1 of variable net.v before op 10")));
}

// Long reports.

TEST(Lint, ManyFindingsOfOneKindAreCounted) {
  TraceMaker m;
  for (int i = 0; i < 50; ++i) m.Op("Abs", {m.Input("x", {1})});
  for (TensorRecord& tensor : m.tables().tensors) tensor.nbytes = 1;
  const auto found = Lint(*m.Finish());
  ASSERT_THAT(found, SizeIs(9));
  EXPECT_EQ(found.back(), "92 more about values of tensors");
}

// Ranges.

using Break = std::function<void(TraceTables&)>;
struct OutOfRange {
  std::string expected;
  Break break_it;
};
void PrintTo(const OutOfRange& row, std::ostream* out) { *out << row.expected; }
class LintRangeTest : public LintTest, public ::testing::WithParamInterface<OutOfRange> {};

TEST_P(LintRangeTest, IsFound) {
  GetParam().break_it(m_.tables());
  EXPECT_THAT(BrokenTables(), ElementsAre(HasSubstr(GetParam().expected)));
}

INSTANTIATE_TEST_SUITE_P(
    All, LintRangeTest,
    ::testing::Values(
        OutOfRange{"row 3 of ops: a string is 9999", [](auto& t) { t.ops[3].device = 9999; }},
        OutOfRange{"row 3 of ops: attributes is 9999", [](auto& t) { t.ops[3].attrs = 9999; }},
        OutOfRange{"row 3 of ops: region is 3, but there are 3",
                   [](auto& t) { t.ops[3].region = 3; }},
        OutOfRange{"row 3 of ops: module call", [](auto& t) { t.ops[3].module_call = 99; }},
        OutOfRange{"row 3 of ops: location", [](auto& t) { t.ops[3].location = 0; }},
        OutOfRange{"row 3 of ops: site", [](auto& t) { t.ops[3].site = kNoId; }},
        OutOfRange{"row 3 of ops: inputs", [](auto& t) { t.ops[3].inputs.count = 0xffffffff; }},
        OutOfRange{"row 3 of ops: outputs", [](auto& t) { t.ops[3].outputs.first = 99999; }},
        OutOfRange{"row 3 of ops: kind", [](auto& t) { t.ops[3].kind = static_cast<OpKind>(77); }},
        OutOfRange{"row 1 of edges: tensor", [](auto& t) { t.edges[1].tensor = 9999; }},
        OutOfRange{"row 1 of edges: class",
                   [](auto& t) { t.edges[1].edge_class = static_cast<EdgeClass>(8); }},
        OutOfRange{"row 1 of tensors: producer", [](auto& t) { t.tensors[1].producer = 9999; }},
        OutOfRange{"row 1 of tensors: shape", [](auto& t) { t.tensors[1].dims = 9999; }},
        OutOfRange{"row 1 of tensors: shape 2 is no list",
                   [](auto& t) { t.tensors[1].dims = t.dims_pool.Intern("abc"); }},
        OutOfRange{"row 0 of outputs: tensor", [](auto& t) { t.outputs[0].tensor = 9999; }},
        OutOfRange{"row 0 of named tensors: a string",
                   [](auto& t) { t.named_tensors[0].path = 9999; }},
        OutOfRange{"row 2 of sites: a string", [](auto& t) { t.sites[2].type = 9999; }},
        OutOfRange{"row 1 of regions: parent is 1, but there are 1",
                   [](auto& t) { t.regions[1].parent = 1; }},
        OutOfRange{"row 1 of regions: predicate", [](auto& t) { t.regions[1].predicate = 9999; }},
        OutOfRange{"row 1 of modules: addresses",
                   [](auto& t) { t.modules[1].addresses.first = 9999; }},
        OutOfRange{"the parents of module 2 run in a circle",
                   [](auto& t) { t.modules[2].parent = 2; }},
        OutOfRange{"row 1 of module calls: module is",
                   [](auto& t) { t.module_calls[1].module = 9; }},
        OutOfRange{"row 1 of module calls: parent", [](auto& t) { t.module_calls[1].parent = 2; }},
        OutOfRange{"row 1 of module calls: end of ops",
                   [](auto& t) { t.module_calls[1].end_op = 14; }},
        OutOfRange{"row 1 of module calls: first op",
                   [](auto& t) { t.module_calls[1].first_op = 6; }},
        OutOfRange{"row 1 of module calls: inputs",
                   [](auto& t) { t.module_calls[1].inputs.count = 99; }},
        OutOfRange{"row 1 of string lists", [](auto& t) { t.string_lists[1] = 9999; }},
        OutOfRange{"row 0 of variables: module", [](auto& t) { t.variables[0].module = 9999; }},
        OutOfRange{"row 0 of variable lists", [](auto& t) { t.variable_lists[0] = 1; }},
        OutOfRange{"row 1 of versions: variable", [](auto& t) { t.versions[1].variable = 1; }},
        OutOfRange{"row 1 of versions: writer", [](auto& t) { t.versions[1].writer = 13; }},
        OutOfRange{"row 0 of accesses: op", [](auto& t) { t.accesses[0].op = kNoId; }},
        OutOfRange{"row 0 of origins: possible origin",
                   [](auto& t) { t.origins.push_back({0, 9999}); }},
        OutOfRange{"row 0 of locations: a string",
                   [](auto& t) { t.locations.push_back({.file = 9999}); }}));

TEST_F(LintTest, WithoutARootRegionEveryRegionIsOutOfRange) {
  m_.tables().regions.clear();
  EXPECT_THAT(BrokenTables(), Contains("there is no root region"));
}

}  // namespace
}  // namespace flowscope
