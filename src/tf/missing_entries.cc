#include "tf/missing_entries.h"

#include "tf/c_api.h"

namespace flowscope::tf {

std::vector<std::string> MissingEntries() {
  std::vector<std::string> missing;
  const CApi& api = Api();
#define FLOWSCOPE_TF_NAME_MISSING(result, name, args) \
  if (api.name == nullptr) missing.emplace_back(#name);
  FLOWSCOPE_TF_OPTIONAL(FLOWSCOPE_TF_NAME_MISSING)
#undef FLOWSCOPE_TF_NAME_MISSING
  if (api.AttrBuilderCacheKey == nullptr) missing.emplace_back("AttrBuilder::CacheKey");
  return missing;
}

}  // namespace flowscope::tf
