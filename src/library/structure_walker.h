// Writes down what would run, node by node: no kernel runs and no value is held.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/body_scopes.h"
#include "capture/op_kinds.h"
#include "interp/plan.h"
#include "trace/builder.h"

namespace flowscope::library {

// The outputs of a node, by index.
using StructureValues = std::vector<TensorId>;

// The main graph belongs to whoever uses this; functions, loops and branches that its nodes open
// are walked here. A loop stands as its condition and one iteration; all branches of a branch are
// listed, and what follows takes the values of the first one.
class StructureWalker : public capture::ScopeTarget {
 public:
  // `functions`: serialized definitions, which must outlive the walker. `origins` may be null.
  StructureWalker(const std::vector<std::string_view>& functions,
                  std::shared_ptr<capture::BodyOriginProvider> origins);

  // A node of the main graph, or of a function's body.
  struct Site {
    interp::NodeKind kind = interp::NodeKind::kOp;
    std::string_view type;
    std::string_view name;
    std::string_view attrs;  // serialized NameAttrList
    uint32_t num_outputs = 0;
    std::span<const interp::Callee> callees;
    std::string_view op = {};  // whose definition counts, where `type` is a function's name
  };

  TraceBuilder& builder() { return builder_; }
  TraceBuilder& scope_builder() override { return builder_; }
  int64_t Now() const override { return 0; }
  std::shared_ptr<const capture::BodyOrigins> OriginsOf(const std::string& function) override;

  interp::SignatureFinder Finder() const;
  bool HasFunction(std::string_view name) const { return functions_.contains(name); }

  TensorId AddTensor(OpId producer, uint32_t index, DType dtype, const std::optional<Dims>& dims,
                     EdgeClass edge_class);
  TensorId AddInput(std::string_view path, DType dtype, const std::optional<Dims>& dims);
  // A source, or a literal where its rank is zero or `literal` says so.
  TensorId AddConstant(std::string_view name, DType dtype, const std::optional<Dims>& dims,
                       bool literal);
  // Version 0 is there; what comes back is the variable.
  VariableId AddVariable(const VariableRecord& variable);
  // A handle of a variable, or of any other resource where that is kNoId.
  TensorId AddResource(VariableId variable);
  EdgeClass edge_class(TensorId tensor) const { return edge_classes_[tensor]; }

  // Ops that run in the order of calls of this. The scopes that the node stands in are open.
  StructureValues Run(const Site& site, const StructureValues& inputs,
                      const capture::BodyOrigin& origin, capture::BodyScopes& scopes);

  // The trace, with `note` on what it is.
  std::shared_ptr<const Trace> Finish(const std::string& note);

 private:
  struct Body {
    const interp::Plan& plan;
    StructureValues slots;
    capture::BodyScopes& scopes;
  };

  StructureValues AddOp(const Site& site, const StructureValues& inputs,
                        const capture::BodyOrigin& origin, capture::BodyScopes& scopes);
  void AddOrigin(OpRecord& record, OpId id, const capture::BodyOrigin& origin,
                 const capture::BodyScopes& scopes);
  void AddAccess(OpId id, const capture::OpTraits& traits, const StructureValues& inputs);
  StructureValues Call(const Site& site, const StructureValues& inputs,
                       const capture::BodyOrigin& origin, capture::BodyScopes& scopes);
  StructureValues Callee(const Site& site, uint32_t index, RegionKind kind,
                         const StructureValues& inputs, capture::BodyScopes& scopes);
  StructureValues Inside(const RegionRecord& region, const interp::Plan& plan,
                         const StructureValues& args, capture::BodyScopes& scopes);
  void Step(Body& body, const interp::PlanNode& node);
  TensorId ConstantOf(const interp::Plan& plan, const interp::PlanNode& node);
  std::shared_ptr<const interp::Plan> PlanOf(const interp::Callee& callee);
  std::string WhyOpaque(const interp::Callee& callee, const interp::Plan* plan, size_t num_args,
                        size_t num_results) const;

  TraceBuilder builder_;
  std::shared_ptr<capture::BodyOriginProvider> origins_;
  std::map<std::string, std::shared_ptr<const capture::BodyOrigins>> origins_of_;
  std::map<std::string, std::string_view, std::less<>> functions_;
  std::map<std::string, std::shared_ptr<const interp::Plan>> plans_;
  std::map<std::pair<const interp::Plan*, uint32_t>, TensorId> constants_;  // of this call
  std::unordered_map<TensorId, VariableId> variables_;                      // by handle
  std::vector<uint32_t> newest_;                                            // version, by variable
  std::vector<EdgeClass> edge_classes_;                                     // by tensor
  OpId call_ = kNoId;  // that opened what is walked now
  uint32_t run_counter_ = 0;
  std::vector<const interp::Plan*> open_;  // bodies that are looked into now
};

}  // namespace flowscope::library
