#include "flowscope/names.h"

#include "base/edit_distance.h"

namespace flowscope::api {

std::string NearestName(const std::string& name, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  const std::vector<std::string> near = Nearest(name, views, 1);
  return near.empty() ? "" : near.front();
}

}  // namespace flowscope::api
