#include "trace/lint.h"

#include "trace/lint_findings.h"

namespace flowscope {

std::string NameOp(const Trace& trace, OpId id) {
  return fmt::format("op {} ({})", id, trace.OpLabel(id));
}

std::string NameTensor(const Trace& trace, TensorId id) {
  const OpId producer = trace.tensor(id).producer;
  if (producer == kNoId) return fmt::format("tensor {}", id);
  return fmt::format("tensor {} of {}", id, NameOp(trace, producer));
}

std::string NameCall(const Trace& trace, ModuleCallId id) {
  return fmt::format("module call {} ({})", id, trace.CallLabel(id));
}

std::string NameRegion(const Trace& trace, RegionId id) {
  return fmt::format("region {} ({} {})", id, RegionKindName(trace.region(id).kind),
                     trace.RegionPath(id));
}

std::string NameVersion(const Trace& trace, const VersionRecord& version) {
  return fmt::format("version {} of variable {}", version.index,
                     trace.str(trace.variable(version.variable).address));
}

std::vector<std::string> Lint(const Trace& trace) {
  // A row that is out of range would make every question after it wrong.
  std::vector<std::string> broken = LintTables(trace.tables());
  if (!broken.empty()) return broken;
  Findings findings;
  LintOps(trace, findings);
  LintEdges(trace, findings);
  LintTensors(trace, findings);
  LintSites(trace, findings);
  LintModules(trace, findings);
  LintRegions(trace, findings);
  LintVariables(trace, findings);
  return std::move(findings).Take();
}

}  // namespace flowscope
