// Versions of variables by variable, and what contradicts them.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/trace.h"

namespace flowscope::replay {

class History {
 public:
  explicit History(const Trace& trace);

  // Null where the variable has no such version.
  const VersionRecord* Version(VariableId variable, uint32_t index) const;

  // Why what the op is said to have read or written does not fit the versions before it; empty
  // where it fits. An op reads the newest version, and makes the one after it; versions that no op
  // of the run wrote may come in between.
  std::string Problem(OpId op) const;

 private:
  void Follow(const AccessRecord& access);

  const Trace& trace_;
  std::vector<std::vector<VersionRecord>> versions_;
  static constexpr int64_t kNone = -1;
  std::vector<int64_t> current_;
  std::unordered_map<OpId, std::string> problems_;
};

}  // namespace flowscope::replay
