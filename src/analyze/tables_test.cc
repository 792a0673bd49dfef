#include "analyze/tables.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/testing.h"

namespace flowscope {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

struct CellPrinter {
  size_t row;
  std::string operator()(const Column::Strings& rows) const { return rows[row]; }
  std::string operator()(const Column::Ints& rows) const { return std::to_string(rows[row]); }
  std::string operator()(const Column::Bools& rows) const { return rows[row] ? "true" : "false"; }
  std::string operator()(const Column::Doubles& rows) const {
    std::string text = std::to_string(rows[row]);
    return text.substr(0, text.find('.') + 2);
  }
};

// A column as texts, "null" for nulls.
std::vector<std::string> Texts(const Table& table, std::string_view name) {
  const Column* column = table.Find(name);
  EXPECT_NE(column, nullptr) << name;
  std::vector<std::string> texts;
  for (size_t row = 0; column != nullptr && row < column->size(); ++row) {
    texts.push_back(column->is_valid(row) ? std::visit(CellPrinter{row}, column->values) : "null");
  }
  return texts;
}

std::vector<std::string> Names(const Table& table) {
  std::vector<std::string> names;
  for (const Column& column : table.columns) {
    names.push_back(column.name);
    EXPECT_EQ(column.size(), table.num_rows()) << column.name;
    EXPECT_TRUE(column.valid.empty() || column.valid.size() == column.size()) << column.name;
  }
  return names;
}

// self calls dense twice; dense reads its kernel and multiplies; a write at the end.
struct TwoPasses {
  TraceMaker m;
  std::shared_ptr<const Trace> trace;

  TwoPasses() {
    const VariableId kernel = m.Variable("dense.kernel", {3, 3}, {.aliases = {"layers.0.kernel"}});
    m.Variable("step", {}, {.dtype = DType::kInt64, .trainable = false});
    m.Module("self", {.class_name = "Model", .num_params = 9, .num_trainable_params = 9});
    m.Module("dense", {.class_name = "Dense",
                       .aliases = {"layers.0", "dense_7"},
                       .variables = {kernel},
                       .num_params = 9,
                       .num_trainable_params = 9});
    TensorId x = m.Input("x", {1, 3});
    m.At("/project/model.py", 12, "h = self.dense(h)", "call");
    m.Call("self", {.inputs = {x}, .training = "False"}, [&] {
      for (int i = 0; i < 2; ++i) x = m.Call("dense", [&] { return MatMul(kernel, x); });
      return x;
    });
    m.Assign(kernel, m.Constant("zeros", {3, 3}));
    m.Op("MyOp", {}, {.error = "no kernel", .duration_ns = 2500});
    trace = m.Finish();
  }

  TensorId MatMul(VariableId kernel, TensorId x) {
    const TensorId value = m.Read(kernel);
    return m.Op("MatMul", {x, value}, {.dims = {1, 3}});
  }
};

TEST(OpTableTest, HasTheColumnsPeopleAskFor) {
  const TwoPasses t;
  EXPECT_THAT(
      Names(OpTable(*t.trace)),
      ElementsAre("label", "layer_label", "label_short", "type", "kind", "module", "region", "pass",
                  "num_passes", "num_outputs", "shape", "dtype", "nbytes", "payload", "parents",
                  "num_parents", "num_children", "file", "line", "function", "flops", "duration_us",
                  "run_counter", "device", "opaque_reason", "error"));
}

TEST(OpTableTest, NamesOps) {
  const TwoPasses t;
  const Table table = OpTable(*t.trace);
  EXPECT_THAT(
      Texts(table, "label"),
      ElementsAre("input_1_1:1", "readvariableop_1_2:1", "matmul_1_3:1", "readvariableop_1_2:2",
                  "matmul_1_3:2", "constant_1_4:1", "assignvariableop_1_5:1", "myop_1_6:1"));
  EXPECT_EQ(Texts(table, "label_short")[4], "matmul_1:2");
  EXPECT_EQ(Texts(table, "layer_label")[4], "matmul_1_3");
  EXPECT_THAT(Texts(table, "module"),
              ElementsAre("self", "dense", "dense", "dense", "dense", "self", "self", "self"));
  EXPECT_THAT(Texts(table, "pass"), ElementsAre("1", "1", "1", "2", "2", "1", "1", "1"));
  EXPECT_THAT(Texts(table, "num_passes"), ElementsAre("1", "2", "2", "2", "2", "1", "1", "1"));
  EXPECT_EQ(Texts(table, "kind")[1], "variable_read");
}

TEST(OpTableTest, TellsShapesParentsAndLines) {
  const TwoPasses t;
  const Table table = OpTable(*t.trace);
  EXPECT_THAT(Texts(table, "shape"), ElementsAre("(1, 3)", "(3, 3)", "(1, 3)", "(3, 3)", "(1, 3)",
                                                 "(3, 3)", "null", "null"));
  EXPECT_EQ(Texts(table, "parents")[4], "matmul_1_3:1, readvariableop_1_2:2");
  EXPECT_EQ(Texts(table, "num_parents")[4], "2");
  EXPECT_EQ(Texts(table, "num_children")[2], "1");
  EXPECT_EQ(Texts(table, "file")[2], "/project/model.py");
  EXPECT_EQ(Texts(table, "line")[2], "12");
  EXPECT_EQ(Texts(table, "function")[2], "call");
  EXPECT_EQ(Texts(table, "line")[0], "null");
  EXPECT_EQ(Texts(table, "nbytes")[2], "12");
  EXPECT_EQ(Texts(table, "payload")[2], "kept");
}

TEST(OpTableTest, WhatIsNotThereIsNull) {
  const TwoPasses t;
  const Table table = OpTable(*t.trace);
  EXPECT_THAT(Texts(table, "flops"),
              ElementsAre("null", "0", "18", "0", "18", "null", "0", "null"));
  EXPECT_THAT(Texts(table, "run_counter"),
              ElementsAre("null", "1", "2", "3", "4", "null", "5", "6"));
  EXPECT_EQ(Texts(table, "duration_us")[0], "null");
  EXPECT_EQ(Texts(table, "duration_us")[7], "2.5");
  EXPECT_EQ(Texts(table, "error")[7], "no kernel");
  EXPECT_EQ(Texts(table, "error")[2], "null");
  EXPECT_THAT(Texts(table, "opaque_reason"), Each("null"));
}

TEST(LayerTableTest, SumsOverPasses) {
  const TwoPasses t;
  const Table table = LayerTable(*t.trace);
  EXPECT_THAT(Names(table), ElementsAre("layer_label", "label_short", "type", "module", "region",
                                        "num_passes", "output", "nbytes", "flops", "duration_us"));
  EXPECT_EQ(Texts(table, "layer_label")[2], "matmul_1_3");
  EXPECT_EQ(Texts(table, "num_passes")[2], "2");
  EXPECT_EQ(Texts(table, "output")[2], "f32 (1, 3)");
  EXPECT_EQ(Texts(table, "nbytes")[2], "24");
  EXPECT_EQ(Texts(table, "flops")[2], "36");
  EXPECT_EQ(Texts(table, "duration_us")[2], "2.0");
}

TEST(ModuleTableTest, TellsEveryModule) {
  const TwoPasses t;
  const Table table = ModuleTable(*t.trace);
  EXPECT_THAT(Names(table),
              ElementsAre("address", "aliases", "class_name", "name", "parent", "num_calls",
                          "num_params", "num_trainable_params", "output", "flops", "num_ops",
                          "num_ops_without_formula", "duration_us"));
  EXPECT_THAT(Texts(table, "address"), ElementsAre("self", "dense"));
  EXPECT_THAT(Texts(table, "aliases"), ElementsAre("", "layers.0, dense_7"));
  EXPECT_THAT(Texts(table, "parent"), ElementsAre("null", "self"));
  EXPECT_THAT(Texts(table, "num_calls"), ElementsAre("1", "2"));
  EXPECT_THAT(Texts(table, "flops"), ElementsAre("36", "36"));
  EXPECT_THAT(Texts(table, "num_ops"), ElementsAre("4", "4"));
  EXPECT_THAT(Texts(table, "output"), ElementsAre("f32 (1, 3)", "f32 (1, 3)"));
}

TEST(ModuleCallTableTest, TellsEveryCall) {
  const TwoPasses t;
  const Table table = ModuleCallTable(*t.trace);
  EXPECT_THAT(Names(table), ElementsAre("call_label", "address", "class_name", "call_index",
                                        "parent", "region", "method", "training", "kwargs",
                                        "inputs", "outputs", "num_ops", "duration_us", "failed"));
  EXPECT_THAT(Texts(table, "call_label"), ElementsAre("self:1", "dense:1", "dense:2"));
  EXPECT_THAT(Texts(table, "parent"), ElementsAre("null", "self:1", "self:1"));
  EXPECT_THAT(Texts(table, "training"), ElementsAre("False", "null", "null"));
  EXPECT_EQ(Texts(table, "inputs")[0], "x: float32 (1, 3)");
  EXPECT_THAT(Texts(table, "num_ops"), ElementsAre("4", "2", "2"));
  EXPECT_THAT(Texts(table, "failed"), Each("false"));
}

TEST(VariableTableTest, TellsEveryVariable) {
  const TwoPasses t;
  const Table table = VariableTable(*t.trace);
  EXPECT_THAT(Names(table), ElementsAre("address", "aliases", "name", "module", "shape", "dtype",
                                        "trainable", "reads", "writes", "versions", "nbytes"));
  EXPECT_THAT(Texts(table, "address"), ElementsAre("dense.kernel", "step"));
  EXPECT_THAT(Texts(table, "aliases"), ElementsAre("layers.0.kernel", ""));
  EXPECT_THAT(Texts(table, "module"), ElementsAre("dense", "null"));
  EXPECT_THAT(Texts(table, "trainable"), ElementsAre("true", "false"));
  EXPECT_THAT(Texts(table, "reads"), ElementsAre("2", "0"));
  EXPECT_THAT(Texts(table, "writes"), ElementsAre("1", "0"));
  EXPECT_THAT(Texts(table, "versions"), ElementsAre("2", "1"));
  EXPECT_THAT(Texts(table, "nbytes"), ElementsAre("36", "8"));
}

TEST(TablesTest, AnEmptyTraceGivesEmptyTablesWithAllColumns) {
  TraceMaker m;
  const auto trace = m.Finish();
  EXPECT_EQ(OpTable(*trace).num_rows(), 0u);
  EXPECT_EQ(Names(OpTable(*trace)).size(), 26u);
  for (const Table& table :
       {LayerTable(*trace), ModuleTable(*trace), ModuleCallTable(*trace), VariableTable(*trace)}) {
    EXPECT_EQ(table.num_rows(), 0u);
    EXPECT_FALSE(table.columns.empty());
  }
}

}  // namespace
}  // namespace flowscope
