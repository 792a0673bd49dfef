// Where ops stand: sites, module calls, regions.
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "trace/function_name.h"
#include "trace/lint_findings.h"

namespace flowscope {
namespace {

// "pool_2": the short label of its third site is the long one of a site of "pool".
bool EndsLikeALabel(std::string_view type) {
  const size_t digits = type.find_last_not_of("0123456789");
  return digits != std::string_view::npos && digits + 1 < type.size() && type[digits] == '_';
}

// Gives false where two sites could have one label: a number is not the one that counting gives, or
// a type looks like a label itself.
bool CheckNumbers(const Trace& trace, Findings& findings) {
  bool distinct = true;
  std::unordered_map<std::string, uint32_t> of_type;
  std::vector<uint32_t*> counts(trace.tables().strings.size());  // by type as it was recorded
  for (SiteId id = 0; id < trace.tables().sites.size(); ++id) {
    const SiteRecord& site = trace.site(id);
    if (counts[site.type] == nullptr) {
      const std::string type = FormatType(trace.str(site.type));
      counts[site.type] = &of_type[type];
      distinct = distinct && !EndsLikeALabel(type);
    }
    const uint32_t nth = ++*counts[site.type];
    distinct = distinct && site.ordinal == id + 1 && site.type_index == nth;
    if (site.ordinal != id + 1) {
      findings.Add("site {} ({}) has ordinal {}", id, trace.LayerLabel(id), site.ordinal);
    }
    if (site.type_index != nth) {
      findings.Add("site {} ({}) is the {}. of its type", id, trace.LayerLabel(id), nth);
    }
  }
  return distinct;
}

// Labels are looked at one by one only where they are not distinct by how they are made.
void CheckLabels(const Trace& trace, Findings& findings) {
  findings.StartRule("labels");
  if (CheckNumbers(trace, findings)) return;
  std::unordered_set<std::string> labels;
  for (SiteId id = 0; id < trace.tables().sites.size(); ++id) {
    for (std::string label : {trace.LayerLabel(id), trace.LayerLabelShort(id)}) {
      const auto [it, is_new] = labels.insert(std::move(label));
      if (!is_new) findings.Add("site {} has the label {} of another site", id, *it);
    }
  }
}

void CheckPasses(const Trace& trace, SiteId id, Findings& findings) {
  const auto ops = trace.OpsOfSite(id);
  if (ops.size() != trace.site(id).num_passes) {
    findings.Add("site {} ({}) has {} passes, but {} ops", id, trace.LayerLabel(id),
                 trace.site(id).num_passes, ops.size());
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    if (trace.op(ops[i]).pass != i + 1) {
      findings.Add("{} is the {}. op of site {}", NameOp(trace, ops[i]), i + 1, id);
    }
  }
}

// Region path without iterations by region, worked out once for each.
std::vector<std::string> RegionPaths(const Trace& trace) {
  std::vector<std::string> paths;
  for (RegionId id = 0; id < trace.tables().regions.size(); ++id) {
    paths.push_back(trace.RegionPath(id, false));
  }
  return paths;
}

// Sites of calls are named without the number that the function has in its process.
bool IsNumberedCall(const Trace& trace, const OpRecord& op, const SiteRecord& site) {
  return op.kind == OpKind::kCall &&
         ReadableFunctionName(trace.str(op.type)) == trace.str(site.type);
}

void CheckSiteKeys(const Trace& trace, Findings& findings) {
  findings.StartRule("ops that do not fit their site");
  const std::vector<std::string> paths = RegionPaths(trace);
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const OpRecord& op = trace.op(id);
    const SiteRecord& site = trace.site(op.site);
    if (op.type != site.type && !IsNumberedCall(trace, op, site)) {
      findings.Add("{} is of type {}", NameOp(trace, id), trace.str(op.type));
    }
    if (paths[op.region] != trace.str(site.region_path)) {
      findings.Add("{} stands in region '{}', its site in '{}'", NameOp(trace, id),
                   paths[op.region], trace.str(site.region_path));
    }
    if (trace.ModuleAddress(id) != trace.str(site.module_address)) {
      findings.Add("{} stands in module {}, its site in {}", NameOp(trace, id),
                   trace.ModuleAddress(id), trace.str(site.module_address));
    }
  }
}

void CheckModuleAddresses(const Trace& trace, Findings& findings) {
  findings.StartRule("addresses of modules");
  const TraceTables& tables = trace.tables();
  for (ModuleId id = 0; id < tables.modules.size(); ++id) {
    const ModuleRecord& module = tables.modules[id];
    if (module.addresses.count == 0 ||
        tables.string_lists[module.addresses.first] != module.address) {
      findings.Add("module {} ({}) does not have its address first among its addresses", id,
                   trace.str(module.address));
    }
  }
}

void CheckCallIndices(const Trace& trace, Findings& findings) {
  findings.StartRule("call indices");
  for (ModuleId module = 0; module < trace.tables().modules.size(); ++module) {
    const auto calls = trace.CallsOfModule(module);
    for (size_t i = 0; i < calls.size(); ++i) {
      if (trace.module_call(calls[i]).call_index == i + 1) continue;
      findings.Add("{} is the {}. call of its module", NameCall(trace, calls[i]), i + 1);
    }
  }
}

void CheckCallRanges(const Trace& trace, Findings& findings) {
  findings.StartRule("module calls that do not nest");
  for (ModuleCallId id = 0; id < trace.tables().module_calls.size(); ++id) {
    const ModuleCallRecord& call = trace.module_call(id);
    if (call.duration_ns < 0) findings.Add("{} took {} ns", NameCall(trace, id), call.duration_ns);
    if (call.parent == kNoId) continue;
    const ModuleCallRecord& parent = trace.module_call(call.parent);
    if (call.first_op < parent.first_op || call.end_op > parent.end_op) {
      findings.Add("{} has ops [{}, {}), outside [{}, {}) of {}", NameCall(trace, id),
                   call.first_op, call.end_op, parent.first_op, parent.end_op,
                   NameCall(trace, call.parent));
    }
  }
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const ModuleCallId in = trace.op(id).module_call;
    if (in == kNoId) continue;
    const ModuleCallRecord& call = trace.module_call(in);
    if (id < call.first_op || id >= call.end_op) {
      findings.Add("{} started while {} was not open", NameOp(trace, id), NameCall(trace, in));
    }
  }
}

void CheckRegionTree(const Trace& trace, Findings& findings) {
  findings.StartRule("the tree of regions");
  for (RegionId id = 0; id < trace.tables().regions.size(); ++id) {
    const RegionRecord& region = trace.region(id);
    const bool is_root = region.kind == RegionKind::kRoot;
    if (is_root != (id == 0)) {
      findings.Add("{} is {}", NameRegion(trace, id), is_root ? "a second root" : "not the root");
    }
    if ((region.parent == kNoId) != (id == 0)) {
      findings.Add("{} has {} parent", NameRegion(trace, id), id == 0 ? "a" : "no");
    }
  }
}

// The op that opened a region stands outside it, before everything inside.
void CheckRegionOpeners(const Trace& trace, Findings& findings) {
  findings.StartRule("regions that hold the op that opened them");
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const RegionId region = trace.op(id).region;
    const OpId opener = trace.region(region).op;
    if (opener != kNoId && opener >= id) {
      findings.Add("{} stands in {}, which {} opened", NameOp(trace, id), NameRegion(trace, region),
                   NameOp(trace, opener));
    }
  }
}

void CheckIterations(const Trace& trace, Findings& findings) {
  findings.StartRule("iterations");
  std::map<std::tuple<RegionId, StringId, OpId>, uint32_t> last;
  for (RegionId id = 0; id < trace.tables().regions.size(); ++id) {
    const RegionRecord& region = trace.region(id);
    if (region.kind != RegionKind::kIteration) continue;
    const auto [it, is_first] =
        last.try_emplace({region.parent, region.name, region.op}, region.index);
    // A loop that no op stands for can run again under the same name.
    const bool restarts = region.op == kNoId && region.index == 0;
    if (!is_first && region.index <= it->second && !restarts) {
      findings.Add("{} follows iteration {}", NameRegion(trace, id), it->second);
    }
    it->second = region.index;
  }
}

}  // namespace

void LintSites(const Trace& trace, Findings& findings) {
  CheckLabels(trace, findings);
  findings.StartRule("passes");
  for (SiteId id = 0; id < trace.tables().sites.size(); ++id) CheckPasses(trace, id, findings);
  CheckSiteKeys(trace, findings);
}

void LintModules(const Trace& trace, Findings& findings) {
  CheckModuleAddresses(trace, findings);
  CheckCallIndices(trace, findings);
  CheckCallRanges(trace, findings);
}

void LintRegions(const Trace& trace, Findings& findings) {
  CheckRegionTree(trace, findings);
  CheckRegionOpeners(trace, findings);
  CheckIterations(trace, findings);
}

}  // namespace flowscope
