#include "replay/history.h"

#include <fmt/format.h>

namespace flowscope::replay {

History::History(const Trace& trace)
    : trace_(trace),
      versions_(trace.tables().variables.size()),
      current_(trace.tables().variables.size(), 0) {
  for (const VersionRecord& version : trace.tables().versions) {
    versions_[version.variable].push_back(version);
    // A variable that was made during the run had no value before its first write.
    if (version.index == 0 && version.writer != kNoId) current_[version.variable] = kNone;
  }
  for (const AccessRecord& access : trace.tables().accesses) Follow(access);
}

const VersionRecord* History::Version(VariableId variable, uint32_t index) const {
  const std::vector<VersionRecord>& versions = versions_[variable];
  return index < versions.size() ? &versions[index] : nullptr;
}

std::string History::Problem(OpId op) const {
  const auto found = problems_.find(op);
  return found == problems_.end() ? std::string() : found->second;
}

void History::Follow(const AccessRecord& access) {
  int64_t& current = current_[access.variable];
  const std::string_view address = trace_.str(trace_.variable(access.variable).address);
  const auto is_outside = [&](uint32_t index) {
    const VersionRecord* version = Version(access.variable, index);
    return version != nullptr && version->writer == kNoId;
  };
  int64_t newest = current;
  while (newest < access.version && is_outside(static_cast<uint32_t>(newest + 1))) ++newest;
  const int64_t expected = access.write ? newest + 1 : newest;
  const VersionRecord* version = Version(access.variable, access.version);
  if (version == nullptr || access.version != expected) {
    problems_.try_emplace(
        access.op, fmt::format("{} version {} of variable {}, though {} was current",
                               access.write ? "makes" : "reads", access.version, address,
                               current == kNone ? "none" : fmt::format("version {}", current)));
  } else if (access.write != (version->writer == access.op) && access.write) {
    problems_.try_emplace(access.op, fmt::format("makes version {} of variable {}, which is said "
                                                 "to come from elsewhere",
                                                 access.version, address));
  }
  if (version != nullptr) current = std::max<int64_t>(current, access.version);
}

}  // namespace flowscope::replay
