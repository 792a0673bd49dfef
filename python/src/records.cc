#include "records.h"

#include <unordered_set>

#include "bindings.h"

namespace nb = nanobind;

namespace flowscope::python {

std::vector<std::string> StringsOf(const Trace& trace, Span span) {
  std::vector<std::string> strings;
  for (uint32_t i = 0; i < span.count; ++i) {
    strings.emplace_back(trace.str(trace.tables().string_lists[span.first + i]));
  }
  return strings;
}

void RemoveRepeats(std::vector<uint32_t>& ids) {
  std::unordered_set<uint32_t> seen;
  std::erase_if(ids, [&](uint32_t id) { return !seen.insert(id).second; });
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string WithoutLastBreak(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::vector<Layer> LayersOf(const TracePtr& owner, std::span<const OpId> ops) {
  std::vector<uint32_t> sites;
  for (const OpId op : ops) sites.push_back(owner->trace->op(op).site);
  RemoveRepeats(sites);
  return MakeRecords<Layer>(owner, sites);
}

void RegisterRecords(nb::module_& m) {
  RegisterInput(m);
  RegisterOp(m);
  RegisterLayer(m);
  RegisterModuleCall(m);
  RegisterModule(m);
  RegisterVariable(m);
  RegisterRegion(m);
}

}  // namespace flowscope::python
