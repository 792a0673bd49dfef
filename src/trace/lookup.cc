#include "trace/lookup.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/edit_distance.h"
#include "trace/key_parts.h"
#include "trace/lookup_hints.h"
#include "trace/lookup_index.h"

namespace flowscope {
namespace {

constexpr size_t kMaxNearMisses = 5;
constexpr size_t kMaxNearSites = 200;  // of one op type

// A layer with one pass stands for its op.
Entity LayerOrOp(const Trace& trace, SiteId site) {
  const auto ops = trace.OpsOfSite(site);
  return ops.size() == 1 ? Entity{EntityKind::kOp, ops.front()} : Entity{EntityKind::kLayer, site};
}

std::string CountOf(size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

void Lookup::Index::IndexAddresses() {
  const TraceTables& tables = trace.tables();
  for (ModuleId id = 0; id < tables.modules.size(); ++id) {
    AddNames(tables.modules[id].address, tables.modules[id].addresses, {EntityKind::kModule, id});
  }
  for (VariableId id = 0; id < tables.variables.size(); ++id) {
    const VariableRecord& variable = tables.variables[id];
    AddNames(variable.address, variable.addresses, {EntityKind::kVariable, id});
  }
  for (OpId id = 0; id < tables.ops.size(); ++id) {
    const OpRecord& op = tables.ops[id];
    if (op.kind != OpKind::kInput || op.name == 0) continue;
    AddOnce(aliases[trace.str(op.name)], {EntityKind::kOp, id});
  }
}

void Lookup::Index::AddNames(StringId address, Span all, Entity entity) {
  if (address != 0) addresses[trace.str(address)].push_back(entity);
  for (uint32_t i = 0; i < all.count; ++i) {
    const StringId name = trace.tables().string_lists[all.first + i];
    if (name != address) AddOnce(aliases[trace.str(name)], entity);
  }
}

std::optional<SiteId> Lookup::Index::FullLabel(std::string_view key) const {
  // The ordinal of a label is the site's row, counted from 1.
  const auto split = SplitNumber(key, '_');
  if (!split || split->number == 0 || split->number > trace.tables().sites.size()) return {};
  const SiteId site = split->number - 1;
  if (trace.LayerLabel(site) != key) return {};
  return site;
}

std::optional<SiteId> Lookup::Index::ShortLabel(std::string_view key) const {
  const auto split = SplitNumber(key, '_');
  if (!split) return {};
  const auto it = sites_of_type.find(std::string(split->name));
  if (it == sites_of_type.end()) return {};
  // The number of a short label counts the sites of its type from 1.
  if (split->number == 0 || split->number > it->second.size()) return {};
  const SiteId site = it->second[split->number - 1];
  if (trace.LayerLabelShort(site) != key) return {};
  return site;
}

Entities Lookup::Index::ByAddress(std::string_view key) const {
  const auto it = addresses.find(key);
  return it == addresses.end() ? Entities() : it->second;
}

// The label's layers, full label before short one.
Entities Lookup::Index::ByLabel(std::string_view key) const {
  auto site = FullLabel(key);
  if (!site) site = ShortLabel(key);
  return site ? Entities{LayerOrOp(trace, *site)} : Entities();
}

// The n-th call of a module, the n-th pass of a layer. Says why there is none.
std::optional<Entity> Lookup::Index::Numbered(Entity of, uint32_t number,
                                              std::string& why_not) const {
  if (of.kind == EntityKind::kModule) {
    const auto calls = trace.CallsOfModule(of.id);
    if (number >= 1 && number <= calls.size()) {
      return Entity{EntityKind::kModuleCall, calls[number - 1]};
    }
    why_not = fmt::format("{} has {} in this run", DescribeEntity(trace, of),
                          CountOf(calls.size(), "call", "calls"));
    return std::nullopt;
  }
  if (of.kind == EntityKind::kOp) of = {EntityKind::kLayer, trace.op(of.id).site};
  if (of.kind != EntityKind::kLayer) return std::nullopt;
  for (OpId op : trace.OpsOfSite(of.id)) {
    if (trace.op(op).pass == number) return Entity{EntityKind::kOp, op};
  }
  why_not = fmt::format("{} has {}", DescribeEntity(trace, of),
                        CountOf(trace.OpsOfSite(of.id).size(), "pass", "passes"));
  return std::nullopt;
}

Entities Lookup::Index::ByNumbered(const NameMap& names, std::string_view key,
                                   std::string& why_not) const {
  Entities found;
  const auto split = SplitNumber(key, ':');
  if (!split) return found;
  const auto it = names.find(split->name);
  if (it == names.end()) return found;
  for (Entity entity : it->second) {
    if (const auto call = Numbered(entity, split->number, why_not)) found.push_back(*call);
  }
  return found;
}

Entities Lookup::Index::ByLabelPass(std::string_view key, std::string& why_not) const {
  Entities found;
  const auto split = SplitNumber(key, ':');
  if (!split) return found;
  for (Entity layer : ByLabel(split->name)) {
    if (const auto op = Numbered(layer, split->number, why_not)) found.push_back(*op);
  }
  return found;
}

// Within one kind the first spelling that fits answers; kinds stand side by side, so that a key
// that fits two is seen to.
Entities Lookup::Index::ByProperName(std::string_view key, std::string& why_not) const {
  Entities found = ByAddress(key);
  const auto is_module = [](Entity e) { return e.kind == EntityKind::kModule; };
  if (std::none_of(found.begin(), found.end(), is_module)) {
    for (Entity call : ByNumbered(addresses, key, why_not)) found.push_back(call);
  }
  Entities labels = ByLabel(key);
  if (labels.empty()) labels = ByLabelPass(key, why_not);
  found.insert(found.end(), labels.begin(), labels.end());
  return found;
}

Entities Lookup::Index::ByAlias(std::string_view key, std::string& why_not) const {
  const auto it = aliases.find(key);
  if (it != aliases.end()) return it->second;
  Entities found = ByNumbered(aliases, key, why_not);
  return found.empty() ? ByMixedPath(key, why_not) : found;
}

Entities Lookup::Index::Containing(std::string_view part) const {
  Entities found;
  for (const NameMap* names : {&addresses, &aliases}) {
    for (const auto& [name, entities] : *names) {
      if (name.find(part) == std::string_view::npos) continue;
      for (Entity entity : entities) AddOnce(found, entity);
    }
  }
  std::sort(found.begin(), found.end(),
            [](Entity a, Entity b) { return std::pair(a.kind, a.id) < std::pair(b.kind, b.id); });
  for (SiteId site = 0; site < trace.tables().sites.size(); ++site) {
    if (trace.LayerLabel(site).find(part) == std::string::npos) continue;
    AddOnce(found, LayerOrOp(trace, site));
  }
  return found;
}

Entities Lookup::Index::BySubstring(std::string_view key) const {
  Entities found = Containing(key);
  const auto split = SplitNumber(key, ':');
  if (!found.empty() || !split) return found;
  std::string why_not;
  for (Entity entity : Containing(split->name)) {
    if (const auto numbered = Numbered(entity, split->number, why_not)) found.push_back(*numbered);
  }
  return found;
}

Status Lookup::Index::AmbiguousKey(std::string_view key, const Entities& found) const {
  std::string list;
  for (size_t i = 0; i < std::min(found.size(), kMaxListedNames); ++i) {
    list += (i == 0 ? "" : ", ") + DescribeEntity(trace, found[i]);
  }
  if (found.size() > kMaxListedNames)
    list += fmt::format(" and {} more", found.size() - kMaxListedNames);
  return Ambiguous(fmt::format(
      "\"{}\" means {} things here: {}. Use a full label or address, or the table that holds it "
      "(trace.ops, trace.layers, trace.modules, trace.variables).",
      key, found.size(), list));
}

Status Lookup::Index::MissingKey(std::string_view key, const std::string& why_not) const {
  if (!why_not.empty()) return NotFound(fmt::format("no \"{}\": {}", key, why_not));
  const std::vector<std::string> near = Near(key, kMaxNearMisses);
  if (!near.empty()) {
    return NotFound(fmt::format("nothing here is called \"{}\". Did you mean {}?{}", key,
                                fmt::join(near, ", "), GlobHint(key)));
  }
  const std::string held = HeldBy(key);
  if (!held.empty()) {
    return NotFound(fmt::format("nothing here is called \"{}\"; {}{}", key, held, GlobHint(key)));
  }
  return NotFound(fmt::format(
      "nothing here is called \"{}\": it is no label, address, alias or part of one among {} "
      "layers, {} modules and {} variables{}{}",
      key, trace.tables().sites.size(), trace.tables().modules.size(),
      trace.tables().variables.size(), GlobHint(key).empty() ? "" : ".", GlobHint(key)));
}

std::vector<std::string> Lookup::Index::Keys() const {
  std::vector<std::string> keys;
  for (const NameMap* names : {&addresses, &aliases}) {
    for (const auto& [name, entities] : *names) keys.emplace_back(name);
  }
  for (ModuleId id = 0; id < trace.tables().modules.size(); ++id) {
    const auto calls = trace.CallsOfModule(id);
    if (calls.size() < 2) continue;
    for (ModuleCallId call : calls) keys.push_back(trace.CallLabel(call));
  }
  for (SiteId id = 0; id < trace.tables().sites.size(); ++id) {
    keys.push_back(trace.LayerLabel(id));
    keys.push_back(trace.LayerLabelShort(id));
    const auto ops = trace.OpsOfSite(id);
    if (ops.size() < 2) continue;
    for (OpId op : ops) keys.push_back(trace.OpLabel(op));
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

std::vector<std::string> Lookup::Index::Near(std::string_view key, size_t max) const {
  std::vector<std::string> candidates;
  const auto add_site = [&](SiteId site) {
    candidates.push_back(trace.LayerLabelShort(site));
    candidates.push_back(trace.LayerLabel(site));
  };
  for (const NameMap* names : {&addresses, &aliases}) {
    for (const auto& [name, entities] : *names) candidates.emplace_back(name);
  }
  const auto pass = SplitNumber(key, ':');
  const auto ordinal = SplitNumber(pass ? pass->name : key, '_');
  for (const auto& [type, sites] : sites_of_type) {
    const size_t count = std::min(sites.size(), kMaxNearSites);
    for (size_t i = 0; i < count; ++i) add_site(sites[i]);
    if (!ordinal) continue;
    for (uint32_t n :
         {ordinal->number, SplitNumber(ordinal->name, '_').value_or(*ordinal).number}) {
      if (n > count && n <= sites.size()) add_site(sites[n - 1]);
    }
  }
  std::sort(candidates.begin(), candidates.end());
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  return Nearest(key, views, max);
}

Lookup::Lookup(const Trace& trace) : index_(std::make_shared<const Index>(trace)) {}

Result<Entity> Lookup::Find(std::string_view key) const {
  if (key.empty()) return InvalidArgument("an empty key names nothing");
  std::string why_not;
  Entities named = index_->ByProperName(key, why_not);
  const bool addressed = std::any_of(named.begin(), named.end(), [](Entity e) {
    return e.kind != EntityKind::kOp && e.kind != EntityKind::kLayer;
  });
  // A label beside an alias is ambiguous: Keras calls its second convolution as labels call the
  // first one.
  if (!addressed) {
    for (Entity entity : index_->ByAlias(key, why_not)) AddOnce(named, entity);
  }
  if (named.size() == 1) return named.front();
  if (named.size() > 1) return index_->AmbiguousKey(key, named);
  Entities found = index_->ByOwnName(key);
  if (found.empty()) found = index_->BySubstring(key);
  if (found.size() == 1) return found.front();
  if (found.size() > 1) return index_->AmbiguousKey(key, found);
  return index_->MissingKey(key, why_not);
}

std::vector<std::string> Lookup::Keys() const { return index_->Keys(); }

std::vector<std::string> Lookup::Near(std::string_view key, size_t max) const {
  return index_->Near(key, max);
}

std::string DescribeEntity(const Trace& trace, Entity entity) {
  switch (entity.kind) {
    case EntityKind::kOp:
      return "op " + trace.OpLabel(entity.id);
    case EntityKind::kLayer:
      return "layer " + trace.LayerLabel(entity.id);
    case EntityKind::kModule:
      return fmt::format("module {}", trace.str(trace.module(entity.id).address));
    case EntityKind::kModuleCall:
      return "module call " + trace.CallLabel(entity.id);
    case EntityKind::kVariable:
      return fmt::format("variable {}", trace.str(trace.variable(entity.id).address));
  }
  return "nothing";
}

}  // namespace flowscope
