// Any bytes as the definition of a function: read or refused, and never a plan that points outside
// of itself.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "fake_runtime/fake_runtime.h"
#include "fake_runtime/function_writer.h"
#include "fuzz/target.h"
#include "interp/attr_value.h"
#include "interp/function_def.h"
#include "interp/interpreter.h"
#include "interp/plan.h"

namespace flowscope::interp {
namespace {

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

// Everything the interpreter relies on without asking again.
void CheckPlan(const Plan& plan) {
  std::vector<bool> filled(plan.kept.size());
  for (uint32_t i = 0; i < plan.num_args; ++i) filled.at(i) = true;
  for (const PlanNode& node : plan.nodes) {
    Require(node.first_input + node.num_inputs <= plan.inputs.size(), "inputs are there");
    Require(node.first_callee + node.num_callees <= plan.callees.size(), "callees are there");
    Require(node.first_output + node.num_outputs <= plan.kept.size(), "outputs have slots");
    Require(node.attrs != nullptr, "a node has attributes");
    Require(node.kind != NodeKind::kConstant || node.constant_index < plan.num_constants,
            "constants are counted");
    Require(node.kind != NodeKind::kWhile || node.num_callees == 2, "a loop has two functions");
    Require(node.kind != NodeKind::kIf || node.num_callees == 2, "a branch has two functions");
    Require(node.kind != NodeKind::kCase || node.num_callees > 0, "a case has a branch");
    for (uint32_t i = 0; i < node.num_inputs; ++i) {
      const PlanInput& input = plan.inputs[node.first_input + i];
      Require(filled.at(input.slot), "an input is there when its node runs");
      if (input.last) filled.at(input.slot) = false;
    }
    for (uint32_t i = 0; i < node.num_outputs; ++i) filled.at(node.first_output + i) = true;
  }
  for (const PlanInput& output : plan.returns) {
    Require(filled.at(output.slot), "what is returned is there");
    if (output.last) filled.at(output.slot) = false;
  }
}

bool Try(std::string_view bytes) {
  std::string unbound;
  (void)Substitute(bytes, {{"T", "\x30\x01"}}, unbound);
  (void)ParseAttrValue(bytes);
  (void)ScalarInt32(bytes);
  const Result<FunctionDef> function = ParseFunctionDef(bytes);
  const std::string name = function.ok() ? function->signature.name : "";
  const SignatureFinder finder = [&](std::string_view asked) -> std::optional<tf::OpDef> {
    if (!function.ok() || asked != name) return {};
    return function->signature;
  };
  const auto plan = BuildPlan(std::string(bytes), {{"N", fake::IntAttr(2)}}, finder);
  Require(function.ok() || HoldsAlways(plan->findings), "bad bytes are refused");
  Require(plan->nodes.empty() || !HoldsAlways(plan->findings), "what is refused has no nodes");
  if (!HoldsAlways(plan->findings)) CheckPlan(*plan);
  fake::AddFunction(name, {}, std::string(bytes));
  (void)Interpreter(NewPlanCache(), {}).WhyRefused(fake::Context(), name);
  return function.ok();
}

}  // namespace
}  // namespace flowscope::interp

namespace flowscope::fuzz {

bool TryBytes(std::string_view bytes) {
  static const fake::Runtime runtime;
  return interp::Try(bytes);
}

std::vector<std::string> Seeds() {
  using namespace fake;  // what its writer writes with
  TryBytes("");          // starts the runtime that it needs
  const std::string types = TypesAttr({DType::kFloat32});
  FunctionWriter straight("straight");
  straight.Arg("x").Const("c", 2).Node("sum", "AddV2", {"x", "c:output:0"});
  straight.Node("neg", "Neg", {"sum:z:0", "^sum"}).Returns("y", "neg:y:0");
  FunctionWriter branch("branch");
  branch.Arg("p", DType::kBool).Arg("x");
  branch.Node("cond", "If", {"p", "x"},
              {{"Tcond", TypeAttr(DType::kBool)},
               {"Tin", types},
               {"Tout", types},
               {"then_branch", FuncAttr("branch")},
               {"else_branch", BoundFuncAttr("straight", {{"T", TypeAttr(DType::kFloat32)}})}});
  branch.Returns("r", "cond:output:0");
  FunctionWriter loop("loop");
  loop.Arg("x").Node("while", "While", {"x"},
                     {{"T", types}, {"cond", FuncAttr("straight")}, {"body", FuncAttr("loop")}});
  loop.Returns("r", "while:output:0").ControlReturns("while").Stateful();
  FunctionWriter lists("lists");
  lists.ListArg("xs", "N").Attr("N", PlaceholderAttr("N"));
  lists.Node("pack", "Pack", {"xs:0", "xs:1"}, {{"N", PlaceholderAttr("N")}});
  lists.Returns("r", "pack:output:0");
  return {straight.Bytes(), branch.Bytes(), loop.Bytes(), lists.Bytes()};
}

}  // namespace flowscope::fuzz
