#include "trace/region_path.h"

#include <vector>

namespace flowscope {
namespace {

std::string NameOf(const TraceTables& tables, RegionId id, bool with_iterations) {
  const RegionRecord& region = tables.regions[id];
  std::string name(tables.strings.View(region.name));
  if (region.kind == RegionKind::kIteration && with_iterations) {
    name += "[" + std::to_string(region.index) + "]";
  }
  return name;
}

}  // namespace

std::string RegionPathOf(const TraceTables& tables, RegionId region, bool with_iterations) {
  std::vector<RegionId> inner_to_outer;
  while (region != kNoId && tables.regions[region].kind != RegionKind::kRoot) {
    inner_to_outer.push_back(region);
    region = tables.regions[region].parent;
  }
  const size_t count = inner_to_outer.size();
  const size_t hidden = count > kMostRegionNames ? count - kMostRegionNames : 0;
  std::string path;
  for (size_t i = 0; i < count; ++i) {
    if (!path.empty()) path += '/';
    if (hidden > 0 && i == kMostRegionNames / 2) {
      path += "(" + std::to_string(hidden) + " more)/";
      i += hidden;
    }
    path += NameOf(tables, inner_to_outer[count - 1 - i], with_iterations);
  }
  return path;
}

}  // namespace flowscope
