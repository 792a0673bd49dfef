// Paths of which a part goes by another name than its address.
#include "trace/lookup_hints.h"
#include "trace/lookup_index.h"

namespace flowscope {

std::vector<ModuleId> Lookup::Index::ModulesCalled(std::string_view name) const {
  std::vector<ModuleId> modules;
  for (const NameMap* names : {&addresses, &aliases}) {
    const auto it = names->find(name);
    if (it == names->end()) continue;
    for (const Entity entity : it->second) {
      if (entity.kind == EntityKind::kModule) modules.push_back(entity.id);
    }
    if (!modules.empty()) break;
  }
  return modules;
}

// What stands below a module under that address, or has that alias and stands below it.
Entities Lookup::Index::Below(ModuleId module, std::string_view rest, std::string& why_not) const {
  const std::string_view address = trace.str(trace.module(module).address);
  const std::string inside = address == "self" ? "" : std::string(address) + ".";
  const std::string path = inside + std::string(rest);
  Entities found = ByAddress(path);
  if (found.empty()) found = ByNumbered(addresses, path, why_not);
  if (!found.empty()) return found;
  const auto it = aliases.find(rest);
  for (const Entity entity : it != aliases.end() ? it->second : Entities()) {
    if (entity.kind != EntityKind::kModule && entity.kind != EntityKind::kVariable) continue;
    const StringId own = entity.kind == EntityKind::kModule ? trace.module(entity.id).address
                                                            : trace.variable(entity.id).address;
    if (trace.str(own).starts_with(inside)) found.push_back(entity);
  }
  return found;
}

// "lstm.cell", "encoder.dense_7", "self.head": a path whose parts go by names of their own.
Entities Lookup::Index::ByMixedPath(std::string_view key, std::string& why_not) const {
  for (size_t dot = key.rfind('.'); dot != std::string_view::npos && dot > 0;
       dot = key.rfind('.', dot - 1)) {
    Entities found;
    for (const ModuleId module : ModulesCalled(key.substr(0, dot))) {
      for (const Entity entity : Below(module, key.substr(dot + 1), why_not)) {
        AddOnce(found, entity);
      }
    }
    if (!found.empty()) return found;
  }
  return {};
}

// Modules that go by that name: it is an alias only where it is one module's alone.
Entities Lookup::Index::ByOwnName(std::string_view key) const {
  Entities found;
  for (ModuleId id = 0; id < trace.tables().modules.size(); ++id) {
    if (trace.str(trace.module(id).name) == key) found.push_back({EntityKind::kModule, id});
  }
  return found;
}

// What the module holds that the longest beginning of the key names.
std::string Lookup::Index::HeldBy(std::string_view key) const {
  for (size_t dot = key.rfind('.'); dot != std::string_view::npos && dot > 0;
       dot = key.rfind('.', dot - 1)) {
    const std::vector<ModuleId> modules = ModulesCalled(key.substr(0, dot));
    if (modules.size() == 1) return HeldHint(trace, modules.front());
  }
  return "";
}

}  // namespace flowscope
