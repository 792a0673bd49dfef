// How trace[key] looks: names to what they mean. Only lookup.cc and lookup_paths.cc use it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/key_parts.h"
#include "trace/lookup.h"

namespace flowscope {

using Entities = std::vector<Entity>;
using NameMap = std::unordered_map<std::string_view, Entities>;

inline void AddOnce(Entities& entities, Entity entity) {
  if (std::find(entities.begin(), entities.end(), entity) == entities.end()) {
    entities.push_back(entity);
  }
}

struct Lookup::Index {
  const Trace& trace;
  NameMap addresses;  // views into the trace's strings
  NameMap aliases;
  // Per op type, as labels write it: its sites in order of type index.
  std::unordered_map<std::string, std::vector<SiteId>> sites_of_type;

  explicit Index(const Trace& t) : trace(t) {
    IndexAddresses();
    for (SiteId id = 0; id < trace.tables().sites.size(); ++id) {
      const std::string label = trace.LayerLabelShort(id);
      sites_of_type[std::string(ShortLayerLabel(label))].push_back(id);
    }
  }

  void IndexAddresses();
  void AddNames(StringId address, Span all, Entity entity);

  Entities ByAddress(std::string_view key) const;
  Entities ByLabel(std::string_view key) const;
  Entities ByNumbered(const NameMap& names, std::string_view key, std::string& why_not) const;
  Entities ByLabelPass(std::string_view key, std::string& why_not) const;
  Entities ByProperName(std::string_view key, std::string& why_not) const;
  Entities ByAlias(std::string_view key, std::string& why_not) const;
  Entities ByMixedPath(std::string_view key, std::string& why_not) const;
  Entities Below(ModuleId module, std::string_view rest, std::string& why_not) const;
  std::vector<ModuleId> ModulesCalled(std::string_view name) const;
  Entities ByOwnName(std::string_view key) const;
  std::string HeldBy(std::string_view key) const;
  Entities BySubstring(std::string_view key) const;
  Entities Containing(std::string_view part) const;

  std::optional<SiteId> FullLabel(std::string_view key) const;
  std::optional<SiteId> ShortLabel(std::string_view key) const;
  std::optional<Entity> Numbered(Entity of, uint32_t number, std::string& why_not) const;

  Status AmbiguousKey(std::string_view key, const Entities& found) const;
  Status MissingKey(std::string_view key, const std::string& why_not) const;
  std::vector<std::string> Keys() const;
  std::vector<std::string> Near(std::string_view key, size_t max) const;
};

}  // namespace flowscope
