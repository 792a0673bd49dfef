#include "interp/program.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace flowscope::interp {
namespace {

class ProgramBuilder {
 public:
  ProgramBuilder(PlanCache& plans, TFE_Context* context, bool interpret_random)
      : plans_(plans), context_(context), interpret_random_(interpret_random) {}

  Program Build(const std::string& function, const std::string& definition) {
    if (definition.empty()) {
      Add(function, {}, false);
    } else {
      program_.bodies.push_back({PlanCache::Make(context_, definition), {}});
      by_xla_.push_back(false);
      unchecked_.push_back(0);
    }
    while (!program_.refused && !unchecked_.empty()) {
      const uint32_t body = unchecked_.back();
      unchecked_.pop_back();
      Check(body);
    }
    return std::move(program_);
  }

 private:
  void Refuse(const Finding& finding) {
    if (!program_.refused) program_.refused = Explain(finding);
  }

  // The body of the function. A body is looked at again when XLA is found to compile it.
  uint32_t Add(const std::string& name, const Bindings& bindings, bool by_xla) {
    const auto next = static_cast<uint32_t>(program_.bodies.size());
    const auto [entry, is_new] = body_by_key_.emplace(InstanceKey(name, bindings), next);
    const uint32_t body = entry->second;
    if (is_new) {
      Result<std::shared_ptr<const Plan>> plan = plans_.Get(context_, name, bindings);
      if (!plan.ok()) {
        Refuse(MakeFinding(kMissingFunction, "'" + name + "'"));
        return 0;
      }
      program_.bodies.push_back({*std::move(plan), {}});
      by_xla_.push_back(false);
    }
    by_xla = by_xla || program_.bodies[body].plan->must_compile;
    const bool newly_by_xla = by_xla && !by_xla_[body];
    if (is_new || newly_by_xla) unchecked_.push_back(body);
    if (newly_by_xla) by_xla_[body] = true;
    if (by_xla && program_.compiled_by_xla.empty()) program_.compiled_by_xla = name;
    if (program_.effect.empty()) program_.effect = program_.bodies[body].plan->effect;
    return body;
  }

  bool Holds(const Finding& finding, uint32_t body) const {
    switch (finding.row->when) {
      case RefuseWhen::kUnlessInterpretRandom:
        return !interpret_random_;
      case RefuseWhen::kCompiledByXla:
        return by_xla_[body];
      default:
        return true;
    }
  }

  void Check(uint32_t body) {
    const std::shared_ptr<const Plan> plan = program_.bodies[body].plan;
    for (const Finding& finding : plan->findings) {
      if (Holds(finding, body)) return Refuse(finding);
    }
    std::vector<uint32_t> callees;
    for (const Callee& callee : plan->callees) {
      const bool by_xla = by_xla_[body] || callee.must_compile;
      callees.push_back(Add(callee.name, callee.bindings, by_xla));
      if (program_.refused) return;
    }
    program_.bodies[body].callees = std::move(callees);
    CheckShapes(program_.bodies[body]);
    for (const Callee& function : plan->run_by_kernel) CheckKernelFunction(function);
  }

  // What the kernel of an op runs is its own affair, but for the state that its kernels keep.
  void CheckKernelFunction(const Callee& function) {
    std::vector<Callee> unchecked = {function};
    while (!unchecked.empty() && !program_.refused) {
      const Callee next = std::move(unchecked.back());
      unchecked.pop_back();
      if (!kernel_functions_.insert(InstanceKey(next.name, next.bindings)).second) continue;
      const Result<std::shared_ptr<const Plan>> plan =
          plans_.Get(context_, next.name, next.bindings);
      if (!plan.ok()) continue;
      for (const Finding& finding : (*plan)->findings) {
        const bool holds = !interpret_random_ || finding.row->when == RefuseWhen::kAlways;
        if (finding.row->inside_kernels && holds) Refuse(finding);
      }
      std::ranges::copy((*plan)->callees, std::back_inserter(unchecked));
      std::ranges::copy((*plan)->run_by_kernel, std::back_inserter(unchecked));
    }
  }

  // A definition that was replaced since its caller was made may no longer fit.
  void CheckShapes(const ProgramBody& body) {
    for (const PlanNode& node : body.plan->nodes) {
      for (uint32_t i = 0; i < node.num_callees; ++i) {
        const Plan& callee = *program_.bodies[body.callees[node.first_callee + i]].plan;
        if (!callee.findings.empty() && HoldsAlways(callee.findings)) continue;
        const CalleeShape shape = ShapeOfCallee(node, i);
        if (callee.num_args == shape.num_args && callee.returns.size() == shape.num_returns)
          continue;
        Refuse(MakeFinding(kNoPlan, "'" + callee.name + "' does not fit its call at node '" +
                                        std::string(node.name) + "' of function '" +
                                        body.plan->name + "'"));
      }
    }
  }

  PlanCache& plans_;
  TFE_Context* context_;
  bool interpret_random_;
  Program program_;
  std::vector<bool> by_xla_;         // by body
  std::vector<uint32_t> unchecked_;  // bodies
  std::unordered_map<std::string, uint32_t> body_by_key_;
  std::unordered_set<std::string> kernel_functions_;
};

}  // namespace

Program BuildProgram(PlanCache& plans, TFE_Context* context, const std::string& function,
                     bool interpret_random, const std::string& definition) {
  return ProgramBuilder(plans, context, interpret_random).Build(function, definition);
}

}  // namespace flowscope::interp
