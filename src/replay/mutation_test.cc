// Wrong traces, one kind after another: each must be found, by the check that the table names.
// docs/validation.md holds the same table; the last test compares them.
#include <fstream>
#include <functional>
#include <sstream>

#include "replay/replay_test.h"

namespace flowscope::replay {
namespace {

constexpr EdgeClass kTable = EdgeClass::kResource;

struct Mutation {
  std::string name;   // as the docs tell it
  std::string check;  // the first check that finds it
  std::function<void(RecordedModel&)> apply;
};

void SetAttr(RecordedModel& model, TensorId tensor, const fake::Attrs& attrs) {
  OpRecord& op = model.op_of(tensor);
  const std::string type(model.m.tables().strings.View(op.type));
  op.attrs = model.m.tables().attrs.Intern(RecordedModel::AttrBytes(type, attrs));
}

void EndEarly(RecordedModel& model) {
  ModuleCallRecord& call = model.m.tables().module_calls[model.dense];
  --call.end_op;
  OpRecord& op = model.op_of(model.y);
  op.module_call = kNoId;
  model.m.tables().sites[op.site].module_address = model.m.builder().Intern("self");
}

// The op's row stays where others number rows by it; its outputs and inputs are gone.
void DropOp(RecordedModel& model, OpId id) {
  for (OpRecord& op : model.ops()) {
    if (op.run_counter > model.ops()[id].run_counter) --op.run_counter;
  }
  model.ops()[id].run_counter = 0;
}

// Another name for regions, in the paths of the sites too.
void Rename(RecordedModel& model, const std::string& from, const std::string& to) {
  TraceTables& tables = model.m.tables();
  for (RegionRecord& region : tables.regions) {
    if (tables.strings.View(region.name) == from) region.name = model.m.builder().Intern(to);
  }
  for (SiteRecord& site : tables.sites) {
    std::string path(tables.strings.View(site.region_path));
    const size_t at = path.find(from);
    if (at == std::string::npos) continue;
    site.region_path = model.m.builder().Intern(path.replace(at, from.size(), to));
  }
}

// The least change of a number.
void FlipLastBit(RecordedModel& model, TensorId tensor) {
  const Result<Payload> value = model.m.payloads().Read(tensor);
  std::string bytes(static_cast<const char*>(value->data), value->nbytes);
  bytes[0] = static_cast<char>(bytes[0] ^ 1);
  model.m.payloads().Keep(tensor, value->dtype, value->dims, std::move(bytes));
}

const std::vector<Mutation>& Mutations() {
  static const std::vector<Mutation> mutations = {
      {"an op is missing, the others keep their run counters", "invariants",
       [](RecordedModel& model) {
         for (OpRecord& op : model.ops()) {
           if (op.run_counter > model.op_of(model.sum).run_counter) ++op.run_counter;
         }
       }},
      {"an op is missing, and the others are numbered anew", "invariants",
       [](RecordedModel& model) { DropOp(model, model.m.OpOf(model.sum)); }},
      {"the last op is missing", "invariants",
       [](RecordedModel& model) { DropOp(model, model.m.OpOf(model.result)); }},
      {"an op stands twice", "invariants",
       [](RecordedModel& model) {
         model.op_of(model.y).run_counter = model.op_of(model.sum).run_counter;
       }},
      {"a parent is swapped for one of another value", "invariants",
       [](RecordedModel& model) { model.edge_of(model.y, 0).tensor = model.product; }},
      {"a parent is swapped for one of another value, its handle too", "replay",
       [](RecordedModel& model) {
         model.edge_of(model.y, 0).tensor = model.product;
         model.edge_of(model.y, 0).handle = model.m.tables().tensors[model.product].handle;
       }},
      {"a parent is swapped for one of equal value", "invariants",
       [](RecordedModel& model) {
         const Result<Payload> value = model.m.payloads().Read(model.sum);
         const std::string bytes(static_cast<const char*>(value->data), value->nbytes);
         model.m.payloads().Keep(model.product, value->dtype, value->dims, bytes);
         model.edge_of(model.y, 0).tensor = model.product;
       }},
      {"two inputs of an op are swapped", "invariants",
       [](RecordedModel& model) {
         std::swap(model.edge_of(model.product, 0).tensor, model.edge_of(model.product, 1).tensor);
       }},
      {"an input is gone", "invariants",
       [](RecordedModel& model) { --model.op_of(model.sum).inputs.count; }},
      {"an attribute is changed", "replay",
       [](RecordedModel& model) {
         SetAttr(model, model.product,
                 {{"transpose_a", fake::BoolAttr(true)}, {"transpose_b", fake::BoolAttr(false)}});
       }},
      {"the op type is changed, its site too", "replay",
       [](RecordedModel& model) {
         OpRecord& op = model.op_of(model.y);
         op.type = model.m.builder().Intern("Identity");
         SiteRecord& site = model.m.tables().sites[op.site];
         site.type = op.type;
       }},
      {"a bit of an output is flipped", "opened call",
       [](RecordedModel& model) { model.FlipBit(model.result); }},
      {"a bit of a value in the middle is flipped", "replay",
       [](RecordedModel& model) { model.FlipBit(model.sum); }},
      {"a bit of the input is flipped", "replay",
       [](RecordedModel& model) { model.FlipBit(model.x); }},
      {"a constant is stale", "replay",
       [](RecordedModel& model) {
         model.m.SetValue<float>(model.bias, DType::kFloat32, {0.25F, -0.25F});
       }},
      {"a literal is changed", "replay",
       [](RecordedModel& model) {
         model.m.SetValue<float>(model.step_literal, DType::kFloat32, {2});
       }},
      {"a variable's value before the run is changed", "version history",
       [](RecordedModel& model) { model.FlipBit(model.m.tables().versions[model.kernel].value); }},
      {"a read gives another value than the variable's version", "version history",
       [](RecordedModel& model) { model.FlipBit(model.kernel_read); }},
      {"a version of a variable is lost", "invariants",
       [](RecordedModel& model) { model.m.tables().versions.pop_back(); }},
      {"a write is told as a read of the version before", "replay",
       [](RecordedModel& model) {
         model.m.tables().versions.pop_back();
         for (AccessRecord& access : model.m.tables().accesses) {
           access.write = false;
           access.version = 0;
         }
       }},
      {"a version has another value than was assigned", "replay",
       [](RecordedModel& model) {
         VersionRecord& version = model.m.tables().versions.back();
         version.value = model.m.tables().versions[model.steps].value;
       }},
      {"a read names an older version", "version history",
       [](RecordedModel& model) { model.m.tables().accesses.back().version = 0; }},
      {"a read is hidden: its variable is called another resource", "version history",
       [](RecordedModel& model) { model.edge_of(model.kernel_read, 0).edge_class = kTable; }},
      {"a write is hidden: its variable is called another resource", "invariants",
       [](RecordedModel& model) {
         const OpId write = model.m.tables().versions.back().writer;
         model.m.tables().edges[model.ops()[write].inputs.first].edge_class = kTable;
       }},
      {"an iteration has a wrong number", "regions",
       [](RecordedModel& model) {
         for (RegionRecord& region : model.m.tables().regions) {
           if (region.kind == RegionKind::kIteration) ++region.index;
         }
       }},
      {"an iteration is missing", "regions",
       [](RecordedModel& model) {
         RegionRecord& region = model.m.tables().regions[model.first_iteration];
         region.kind = RegionKind::kFunction;
       }},
      {"a branch that was not taken", "regions",
       [](RecordedModel& model) {
         RegionRecord& region = model.m.tables().regions[model.branch];
         region.index = 1;
       }},
      {"a predicate that asks for the other branch", "regions",
       [](RecordedModel& model) {
         RegionRecord& region = model.m.tables().regions[model.branch];
         model.m.SetValue<uint8_t>(region.predicate, DType::kBool, {0});
       }},
      {"a module's call ends too early", "times", [](RecordedModel& model) { EndEarly(model); }},
      {"a module's call ends too early, its time too", "module boundaries",
       [](RecordedModel& model) {
         EndEarly(model);
         model.m.tables().module_calls[model.dense].duration_ns -= 1500;
       }},
      {"a module's call takes in ops after it", "times",
       [](RecordedModel& model) {
         ModuleCallRecord& call = model.m.tables().module_calls[model.dense];
         for (int i = 0; i < 2; ++i) {
           OpRecord& op = model.ops()[call.end_op++];
           op.module_call = model.dense;
           model.m.tables().sites[op.site].module_address = model.m.builder().Intern("dense");
         }
       }},
      {"an op's module is another one", "invariants",
       [](RecordedModel& model) { model.op_of(model.y).module_call = kNoId; }},
      {"a value has another dtype than its row says", "signature",
       [](RecordedModel& model) { model.m.tables().tensors[model.y].dtype = DType::kInt32; }},
      {"a value has another shape than its row says", "values",
       [](RecordedModel& model) {
         model.m.tables().tensors[model.y].dims = model.m.builder().InternDims(Dims{4, 1});
       }},
      {"a call gives a value that nothing inside of it made", "opened call",
       [](RecordedModel& model) { model.FlipBit(model.ops()[model.call].outputs.first); }},
      {"a call says nothing of why it was not opened", "opened call",
       [](RecordedModel& model) {
         for (RegionRecord& region : model.m.tables().regions) region.op = kNoId;
       }},
      {"a computed value is called a draw of a dataset", "replay",
       [](RecordedModel& model) {
         model.op_of(model.sum).kind = OpKind::kIterator;
         model.FlipBit(model.sum);
       }},
      {"a computed value is called a random draw", "replay",
       [](RecordedModel& model) {
         model.op_of(model.sum).kind = OpKind::kRandom;
         model.FlipBit(model.sum);
       }},
      {"a computed value is called the call of a function", "kinds",
       [](RecordedModel& model) { model.op_of(model.sum).kind = OpKind::kCall; }},
      {"a computed value is called a constant", "invariants",
       [](RecordedModel& model) { model.op_of(model.sum).kind = OpKind::kConstant; }},
      {"an error that did not happen", "invariants",
       [](RecordedModel& model) {
         model.op_of(model.sum).error = model.m.builder().Intern("Incompatible shapes");
       }},
      {"an op's label is another pass of its site", "invariants",
       [](RecordedModel& model) { ++model.op_of(model.sum).pass; }},
      {"a value that ran backwards: an op takes what a later one made", "invariants",
       [](RecordedModel& model) { model.edge_of(model.sum, 0).tensor = model.y; }},
      {"the last bit of a sum of products is flipped", "replay",
       [](RecordedModel& model) { FlipLastBit(model, model.product); }},
      {"the last bit of a value that nothing adds is flipped", "replay",
       [](RecordedModel& model) { FlipLastBit(model, model.y); }},
      {"an attribute is gone", "signature",
       [](RecordedModel& model) { model.op_of(model.product).attrs = 0; }},
      {"an input has no handle", "handles",
       [](RecordedModel& model) { model.edge_of(model.y, 0).handle = 0; }},
      {"a computed value is called a handle", "signature",
       [](RecordedModel& model) {
         TensorRecord& tensor = model.m.tables().tensors[model.sum];
         tensor.dtype = DType::kResource;
         tensor.state = PayloadState::kNoValue;
       }},
      {"a read is told of another variable", "version history",
       [](RecordedModel& model) {
         AccessRecord& read = model.m.tables().accesses.back();
         read.variable = model.kernel;
         read.version = 0;
       }},
      {"a variable has another dtype than its values", "version history",
       [](RecordedModel& model) {
         model.m.tables().variables[model.kernel].dtype = DType::kFloat64;
       }},
      {"an op is told in another iteration", "regions",
       [](RecordedModel& model) {
         for (OpRecord& op : model.ops()) {
           const RegionRecord& region = model.m.tables().regions[op.region];
           if (region.kind != RegionKind::kIteration || region.index != 1) continue;
           op.region = model.first_iteration;
           return;
         }
       }},
      {"the tests of a loop's condition are called something else", "regions",
       [](RecordedModel& model) { Rename(model, "while:cond", "while:check"); }},
      {"a branch does not say which it is", "regions",
       [](RecordedModel& model) { Rename(model, "cond:then_branch", "cond"); }},
      {"a call took another value than what ran inside of it", "opened call",
       [](RecordedModel& model) {
         EdgeRecord& edge = model.m.tables().edges[model.ops()[model.call].inputs.first];
         edge.tensor = model.sum;
         edge.handle = model.m.tables().tensors[model.sum].handle;
       }},
      {"a loop ended though its last test says that it goes on", "regions",
       [](RecordedModel& model) {
         TensorId last = kNoId;
         for (const OpRecord& op : model.ops()) {
           const StringId region = model.m.tables().regions[op.region].name;
           if (model.m.tables().strings.View(region) == "while:cond") last = op.outputs.first;
         }
         model.m.SetValue<uint8_t>(last, DType::kBool, {1});
       }},
      {"an iteration is missing, and the run is said to have been halted", "regions",
       [](RecordedModel& model) {
         model.m.info().halted = true;
         model.m.tables().regions[model.first_iteration].kind = RegionKind::kFunction;
       }},
      {"a value that is said to be kept and is not there", "values",
       [](RecordedModel& model) {
         TensorRecord extra = model.m.tables().tensors[model.y];
         extra.producer = kNoId;
         extra.handle = 0;
         model.m.builder().AddTensor(extra);
       }},
  };
  return mutations;
}

class MutationTest : public testing::TestWithParam<size_t> {
 protected:
  fake::Runtime runtime_;
};

TEST_P(MutationTest, IsFound) {
  const Mutation& mutation = Mutations()[GetParam()];
  RecordedModel model;
  mutation.apply(model);
  const std::shared_ptr<const Trace> trace = model.m.Finish();
  const Result<Report> report = Validate(*trace, {});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  ASSERT_EQ(report->state, State::kFailed) << mutation.name << ": " << report->reason;
  EXPECT_EQ(report->failures.front().check, mutation.check)
      << mutation.name << ": " << report->failures.front().message;
}

INSTANTIATE_TEST_SUITE_P(Kinds, MutationTest, testing::Range(size_t{0}, Mutations().size()));

TEST(MutationsTest, UnchangedPasses) {
  const fake::Runtime runtime;
  RecordedModel model;
  const Result<Report> report = Validate(*model.m.Finish(), {});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->state, State::kPassed) << report->reason;
}

std::string Table() {
  std::string table = "| what is wrong | found by |\n| --- | --- |\n";
  for (const Mutation& mutation : Mutations()) {
    table += "| " + mutation.name + " | " + mutation.check + " |\n";
  }
  return table;
}

TEST(MutationsTest, TheDocsHoldThisTable) {
  std::ifstream file(std::string(FLOWSCOPE_TEST_DATA_DIR) + "/../docs/validation.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(Table()), std::string::npos) << "docs/validation.md should hold:\n"
                                                         << Table();
}

TEST(MutationsTest, ThereAreAtLeastTwentyFive) { EXPECT_GE(Mutations().size(), 25U); }

}  // namespace
}  // namespace flowscope::replay
