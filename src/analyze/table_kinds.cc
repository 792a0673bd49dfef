// Tables by name.
#include <array>
#include <string>
#include <utility>

#include "analyze/tables.h"

namespace flowscope {
namespace {

using Maker = Table (*)(const Trace&);

constexpr std::array<std::pair<std::string_view, Maker>, 8> kMakers = {
    {{"ops", &OpTable},
     {"layers", &LayerTable},
     {"modules", &ModuleTable},
     {"module_calls", &ModuleCallTable},
     {"variables", &VariableTable},
     {"regions", &RegionTable},
     {"stats", &StatsTable},
     {"timeline", &TimelineTable}}};

}  // namespace

Result<Table> TableOfKind(const Trace& trace, std::string_view kind) {
  std::string known;
  for (const auto& [name, maker] : kMakers) {
    if (name == kind) return maker(trace);
    known.append(known.empty() ? "" : ", ").append(name);
  }
  return InvalidArgument("no table \"" + std::string(kind) + "\": choose one of " + known);
}

}  // namespace flowscope
