#include "analyze/summary_tree.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analyze/text.h"
#include "analyze/trace_facts.h"
#include "base/units.h"

namespace flowscope {
namespace {

bool IsTracing(const Trace& trace, RegionId region) {
  for (; region != kNoId; region = trace.region(region).parent) {
    if (trace.region(region).kind == RegionKind::kTracing) return true;
  }
  return false;
}

class TreeBuilder {
 public:
  TreeBuilder(const Trace& trace, const CostIndex& costs, bool ops_of_modules)
      : trace_(trace),
        costs_(costs),
        ops_of_modules_(ops_of_modules),
        root_(RootModule(trace)),
        module_costs_(costs.OfModules()),
        submodules_(trace.tables().modules.size()),
        ops_(trace.tables().modules.size()),
        rows_of_sites_(trace.tables().sites.size(), kNoId) {
    for (ModuleId id = 0; id < submodules_.size(); ++id) {
      const ModuleId parent = trace.module(id).parent;
      if (id != root_) (parent == kNoId ? top_modules_ : submodules_[parent]).push_back(id);
    }
    for (OpId id = 0; id < trace.num_ops(); ++id) AddOp(id);
  }

  SummaryNode Build() {
    SummaryNode node;
    node.kind = RowKind::kModel;
    node.name = root_ == kNoId ? trace_.info().name : std::string(trace_.str(RootRecord().address));
    node.type = root_ == kNoId ? trace_.info().root_class : trace_.str(RootRecord().class_name);
    node.params = CountParams(trace_).total;
    node.cost = costs_.Total();
    node.duration_ns = trace_.info().duration_ns;
    const bool once = root_ == kNoId || RootIsCalled(trace_);
    node.passes = once ? 1 : static_cast<int64_t>(trace_.CallsOfModule(root_).size());
    node.output = RootOutput();
    if (root_ != kNoId) AddModules(submodules_[root_], node);
    AddModules(top_modules_, node);
    AddOps(root_ops_, node);
    SortByExecution(node);
    return node;
  }

 private:
  const ModuleRecord& RootRecord() const { return trace_.module(root_); }

  std::string RootOutput() const {
    const std::vector<NamedTensor>& outputs = trace_.tables().outputs;
    if (outputs.empty() && root_ != kNoId) return CallOutputs(root_);
    return TensorsText(trace_, outputs);
  }

  std::string CallOutputs(ModuleId module) const {
    std::vector<Span> outputs;
    bool failed = false;
    for (const ModuleCallId call : trace_.CallsOfModule(module)) {
      failed |= trace_.module_call(call).failed;
      if (!trace_.module_call(call).failed) outputs.push_back(trace_.module_call(call).outputs);
    }
    if (outputs.empty()) return failed ? "failed" : "";
    return CallsOutputText(trace_, outputs);
  }

  void AddOp(OpId id) {
    const OpRecord& op = trace_.op(id);
    if (IsTracing(trace_, op.region)) return;
    const bool in_module = op.module_call != kNoId;
    const ModuleId module = in_module ? trace_.module_call(op.module_call).module : kNoId;
    const bool of_root = module == kNoId || module == root_;
    if (!ops_of_modules_ && (!of_root || IsSource(op.kind))) return;
    std::vector<SummaryNode>& rows = of_root ? root_ops_ : ops_[module];
    RowOf(id, rows).cost += costs_.OfOp(id);
  }

  // The row of the op's site, or, for a run of backward ops, the run's.
  SummaryNode& RowOf(OpId id, std::vector<SummaryNode>& rows) {
    const OpRecord& op = trace_.op(id);
    const bool in_run = op.kind == OpKind::kBackward && !ops_of_modules_;
    const bool goes_on = in_run && !rows.empty() && rows.back().type == kBackwardRun;
    size_t index = goes_on ? rows.size() - 1 : rows.size();
    if (!in_run) {
      uint32_t& of_site = rows_of_sites_[op.site];
      if (of_site == kNoId) of_site = static_cast<uint32_t>(rows.size());
      index = of_site;
    }
    if (index == rows.size()) rows.push_back(in_run ? NewRun(id) : NewRow(id));
    SummaryNode& row = rows[index];
    ++row.passes;
    row.duration_ns += op.duration_ns;
    return row;
  }

  SummaryNode NewRun(OpId id) const {
    SummaryNode row;
    row.name = "backward";
    row.type = kBackwardRun;
    row.first_op = id;
    return row;
  }

  SummaryNode NewRow(OpId id) const {
    SummaryNode row;
    row.name = trace_.LayerLabel(trace_.op(id).site);
    row.type = trace_.str(trace_.op(id).type);
    row.output = SiteOutput(trace_.op(id).site);
    row.first_op = id;
    return row;
  }

  std::string SiteOutput(SiteId site) const {
    MergedShape merged;
    uint32_t count = 0;
    bool failed = false;
    for (const OpId id : trace_.OpsOfSite(site)) {
      const Span outputs = trace_.op(id).outputs;
      if (outputs.count > 0) merged.Add(trace_, outputs.first);
      count = std::max(count, outputs.count);
      failed |= trace_.op(id).error != 0;
    }
    if (count == 0) return failed ? "failed" : "";
    return merged.ToString(count);
  }

  void AddModules(const std::vector<ModuleId>& modules, SummaryNode& parent) {
    for (const ModuleId id : modules) {
      SummaryNode node = ModuleNode(id);
      const bool empty = node.passes == 0 && node.children.empty() && node.params == 0;
      if (!empty) parent.children.push_back(std::move(node));
    }
  }

  void AddOps(std::vector<SummaryNode>& rows, SummaryNode& parent) {
    if (parent.children.empty()) {
      parent.children = std::move(rows);
      return;
    }
    std::move(rows.begin(), rows.end(), std::back_inserter(parent.children));
  }

  SummaryNode ModuleNode(ModuleId id) {
    const ModuleRecord& module = trace_.module(id);
    SummaryNode node;
    node.kind = RowKind::kModule;
    node.name = NameBelowParent(id);
    node.type = trace_.str(module.class_name);
    node.output = CallOutputs(id);
    node.params = module.num_params;
    node.cost = module_costs_[id];
    const auto calls = trace_.CallsOfModule(id);
    node.passes = static_cast<int64_t>(calls.size());
    if (!calls.empty()) node.first_op = trace_.module_call(calls.front()).first_op;
    node.duration_ns = ModuleDuration(trace_, id);
    AddModules(submodules_[id], node);
    AddOps(ops_[id], node);
    SortByExecution(node);
    if (node.first_op == kNoId && !node.children.empty()) {
      node.first_op = node.children.front().first_op;
    }
    return node;
  }

  std::string NameBelowParent(ModuleId id) const {
    const std::string_view address = trace_.str(trace_.module(id).address);
    const ModuleId parent = trace_.module(id).parent;
    if (parent == kNoId || parent == root_) return std::string(address);
    const std::string prefix = std::string(trace_.str(trace_.module(parent).address)) + ".";
    return std::string(address.starts_with(prefix) ? address.substr(prefix.size()) : address);
  }

  // What has the same first op (a layer without ops, then an op) stays in its order.
  static void SortByExecution(SummaryNode& node) {
    std::vector<std::pair<OpId, size_t>> order;
    for (size_t i = 0; i < node.children.size(); ++i) {
      order.emplace_back(node.children[i].first_op, i);
    }
    if (std::is_sorted(order.begin(), order.end())) return;
    std::sort(order.begin(), order.end());
    std::vector<SummaryNode> sorted;
    sorted.reserve(order.size());
    for (const auto& [first_op, index] : order) sorted.push_back(std::move(node.children[index]));
    node.children = std::move(sorted);
  }

  static constexpr const char* kBackwardRun = "backward ops";

  const Trace& trace_;
  const CostIndex& costs_;
  bool ops_of_modules_;
  ModuleId root_;
  std::vector<Cost> module_costs_;
  std::vector<std::vector<ModuleId>> submodules_;  // by module
  std::vector<ModuleId> top_modules_;              // without a parent, the root left out
  std::vector<std::vector<SummaryNode>> ops_;      // by module
  std::vector<SummaryNode> root_ops_;
  std::vector<uint32_t> rows_of_sites_;  // index into the row list of the site's module, or kNoId
};

// What makes two siblings alike. `below` is the same for all that is under them.
std::string Signature(const SummaryNode& node, const std::string& below) {
  return fmt::format("{}|{}|{}|{}|{}|{}({})", static_cast<int>(node.kind), node.type, node.output,
                     node.params.value_or(-1), node.cost.flops, node.passes, below);
}

// Folds bottom up and gives the node's signature.
std::string Fold(SummaryNode& node) {
  std::vector<SummaryNode> folded;
  std::string below;
  std::string last;
  for (SummaryNode& child : node.children) {
    std::string signature = Fold(child);
    if (!folded.empty() && signature == last) {
      below += '=';
      ++folded.back().repeats;
      folded.back().last_name = child.name;
      continue;
    }
    below += signature;
    last = std::move(signature);
    folded.push_back(std::move(child));
  }
  node.children = std::move(folded);
  return Signature(node, below);
}

std::string OpsNote(const std::vector<SummaryNode>& rows, size_t begin, size_t end) {
  std::map<std::string, int64_t> by_type;
  int64_t total = 0;
  for (size_t i = begin; i < end; ++i) {
    by_type[rows[i].type] += rows[i].passes * rows[i].repeats;
    total += rows[i].passes * rows[i].repeats;
  }
  return fmt::format("... {}: {}", Counted(total, "op"), TopCounts(by_type, 4));
}

}  // namespace

SummaryNode BuildSummaryTree(const Trace& trace, const CostIndex& costs, bool ops_of_modules) {
  return TreeBuilder(trace, costs, ops_of_modules).Build();
}

void FoldRepeats(SummaryNode& node) { Fold(node); }

void CollapseOps(SummaryNode& node) {
  std::vector<SummaryNode> kept;
  for (size_t begin = 0; begin < node.children.size();) {
    size_t end = begin;
    while (end < node.children.size() && node.children[end].kind == RowKind::kOps) ++end;
    if (end - begin > 1) {
      SummaryNode note;
      note.kind = RowKind::kNote;
      note.name = OpsNote(node.children, begin, end);
      kept.push_back(std::move(note));
      begin = end;
    } else {
      CollapseOps(node.children[begin]);
      kept.push_back(std::move(node.children[begin++]));
    }
  }
  node.children = std::move(kept);
}

void CutDepth(SummaryNode& node, int64_t depth) {
  if (depth <= 0) node.children.clear();
  for (SummaryNode& child : node.children) CutDepth(child, depth - 1);
}

int64_t CountRows(const SummaryNode& node) {
  int64_t rows = 1;
  for (const SummaryNode& child : node.children) rows += CountRows(child);
  return rows;
}

int64_t MaxDepth(const SummaryNode& node) {
  int64_t deepest = 0;
  for (const SummaryNode& child : node.children) deepest = std::max(deepest, MaxDepth(child) + 1);
  return deepest;
}

}  // namespace flowscope
