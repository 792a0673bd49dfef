// Variables: their versions and who read and wrote them.
#include <algorithm>

#include "trace/lint_findings.h"

namespace flowscope {
namespace {

// What is known of one version of one variable.
struct VersionUse {
  VersionRecord record;
  bool written = false;  // by an access of its writer
};
using History = std::vector<VersionUse>;

std::string NameAccess(const Trace& trace, const AccessRecord& access) {
  return fmt::format("{} {} version {} of variable {}", NameOp(trace, access.op),
                     access.write ? "writes" : "reads", access.version,
                     trace.str(trace.variable(access.variable).address));
}

void CheckVariableAddresses(const Trace& trace, Findings& findings) {
  findings.StartRule("addresses of variables");
  const TraceTables& tables = trace.tables();
  for (VariableId id = 0; id < tables.variables.size(); ++id) {
    const VariableRecord& variable = tables.variables[id];
    if (variable.addresses.count == 0 ||
        tables.string_lists[variable.addresses.first] != variable.address) {
      findings.Add("variable {} ({}) does not have its address first among its addresses", id,
                   trace.str(variable.address));
    }
  }
}

std::vector<History> Histories(const Trace& trace, Findings& findings) {
  findings.StartRule("versions of variables");
  std::vector<History> histories(trace.tables().variables.size());
  for (const VersionRecord& version : trace.tables().versions) {
    History& history = histories[version.variable];
    if (version.index != history.size()) {
      findings.Add("{} stands where version {} should", NameVersion(trace, version),
                   history.size());
    }
    if (!history.empty() && version.writer == kNoId && version.value == kNoId) {
      findings.Add("{} has neither a writer nor a value that showed it",
                   NameVersion(trace, version));
    }
    history.push_back({version});
  }
  return histories;
}

void CheckAccess(const Trace& trace, const AccessRecord& access, History& history,
                 Findings& findings) {
  if (access.version >= history.size()) {
    findings.Add("{}, but there are {}", NameAccess(trace, access), history.size());
    return;
  }
  VersionUse& version = history[access.version];
  const OpId writer = version.record.writer;
  if (access.write) {
    if (writer == access.op) {
      version.written = true;
    } else {
      findings.Add("{}, but its writer is {}", NameAccess(trace, access),
                   writer == kNoId ? "outside this run" : NameOp(trace, writer));
    }
  } else if (writer != kNoId && writer >= access.op) {
    findings.Add("{} before {} wrote it", NameAccess(trace, access), NameOp(trace, writer));
  }
}

void CheckAccesses(const Trace& trace, std::vector<History>& histories, Findings& findings) {
  findings.StartRule("accesses to variables");
  OpId last = 0;
  for (const AccessRecord& access : trace.tables().accesses) {
    if (access.op < last) {
      findings.Add("{} stands after an access of {}", NameAccess(trace, access),
                   NameOp(trace, last));
    }
    last = access.op;
    CheckAccess(trace, access, histories[access.variable], findings);
  }
  for (const History& history : histories) {
    for (const VersionUse& version : history) {
      if (version.record.writer == kNoId || version.written) continue;
      findings.Add("{} was written by {}, which has no such access",
                   NameVersion(trace, version.record), NameOp(trace, version.record.writer));
    }
  }
}

}  // namespace

void LintVariables(const Trace& trace, Findings& findings) {
  CheckVariableAddresses(trace, findings);
  std::vector<History> histories = Histories(trace, findings);
  CheckAccesses(trace, histories, findings);
}

}  // namespace flowscope
