// What the files that check invariants share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trace/trace.h"

namespace flowscope {

// Collects sentences; of each rule only the first few.
class Findings {
 public:
  // The sentences that follow are about this.
  void StartRule(std::string_view rule) {
    EndRule();
    rule_ = rule;
  }

  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    if (++of_rule_ > kMaxPerRule) return;
    sentences_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  bool empty() const { return sentences_.empty(); }
  std::vector<std::string> Take() && {
    EndRule();
    return std::move(sentences_);
  }

 private:
  static constexpr size_t kMaxPerRule = 8;

  void EndRule() {
    if (of_rule_ > kMaxPerRule) {
      sentences_.push_back(fmt::format("{} more about {}", of_rule_ - kMaxPerRule, rule_));
    }
    of_rule_ = 0;
  }

  std::vector<std::string> sentences_;
  std::string rule_;
  size_t of_rule_ = 0;
};

// "op 7 (matmul_2_5:1)": how sentences name rows. The ids must be in range.
std::string NameOp(const Trace& trace, OpId id);
std::string NameTensor(const Trace& trace, TensorId id);
std::string NameCall(const Trace& trace, ModuleCallId id);
std::string NameRegion(const Trace& trace, RegionId id);
std::string NameVersion(const Trace& trace, const VersionRecord& version);

// Each is one group of rules, over tables that passed LintTables.
void LintOps(const Trace& trace, Findings& findings);
void LintEdges(const Trace& trace, Findings& findings);
void LintTensors(const Trace& trace, Findings& findings);
void LintSites(const Trace& trace, Findings& findings);
void LintModules(const Trace& trace, Findings& findings);
void LintRegions(const Trace& trace, Findings& findings);
void LintVariables(const Trace& trace, Findings& findings);

}  // namespace flowscope
