// From names to records of one kind.
#include <algorithm>
#include <cctype>
#include <functional>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>

#include "accessor.h"
#include "base/edit_distance.h"
#include "trace/key_parts.h"

namespace flowscope::python {
namespace {

constexpr size_t kMaxListed = 8;
constexpr size_t kMaxNearMisses = 5;
constexpr size_t kMaxCompared = 5000;  // records whose names are compared with a mistyped key

using Names = std::vector<std::string>;

struct KindText {
  std::string_view name;
  std::string_view table;
};

KindText TextOf(RecordKind kind) {
  switch (kind) {
    case RecordKind::kOp:
      return {"op", "ops"};
    case RecordKind::kLayer:
      return {"layer", "layers"};
    case RecordKind::kModule:
      return {"module", "modules"};
    case RecordKind::kModuleCall:
      return {"module call", "module_calls"};
    case RecordKind::kVariable:
      return {"variable", "variables"};
    case RecordKind::kRegion:
      return {"region", "regions"};
  }
  return {"record", "records"};
}

RecordKind KindOf(EntityKind kind) {
  switch (kind) {
    case EntityKind::kOp:
      return RecordKind::kOp;
    case EntityKind::kLayer:
      return RecordKind::kLayer;
    case EntityKind::kModule:
      return RecordKind::kModule;
    case EntityKind::kModuleCall:
      return RecordKind::kModuleCall;
    case EntityKind::kVariable:
      return RecordKind::kVariable;
  }
  return RecordKind::kOp;
}

Names AddressNames(const Trace& trace, StringId address, Span addresses) {
  Names names{std::string(trace.str(address))};
  for (uint32_t i = 0; i < addresses.count; ++i) {
    std::string name(trace.str(trace.tables().string_lists[addresses.first + i]));
    if (name != names.front()) names.push_back(std::move(name));
  }
  return names;
}

Names OpNames(const Trace& trace, OpId id) {
  Names names{trace.OpLabel(id), trace.OpLabelShort(id)};
  const SiteId site = trace.op(id).site;
  if (trace.OpsOfSite(site).size() == 1) {
    names.push_back(trace.LayerLabel(site));
    names.push_back(trace.LayerLabelShort(site));
  }
  return names;
}

Names CallNames(const Trace& trace, ModuleCallId id) {
  const ModuleCallRecord& call = trace.module_call(id);
  const ModuleRecord& module = trace.module(call.module);
  const bool only = trace.CallsOfModule(call.module).size() == 1;
  Names names;
  for (const std::string& address : AddressNames(trace, module.address, module.addresses)) {
    names.push_back(fmt::format("{}:{}", address, call.call_index));
    if (only) names.push_back(address);
  }
  return names;
}

std::string RegionKey(const Trace& trace, RegionId id) {
  return id == 0 ? "root" : trace.RegionPath(id);
}

Status SeveralRecords(const Trace& trace, RecordKind kind, std::string_view key,
                      const std::vector<uint32_t>& found) {
  Names listed;
  for (size_t i = 0; i < std::min(found.size(), kMaxListed); ++i) {
    listed.push_back(KeyOf(trace, kind, found[i]));
  }
  if (found.size() > kMaxListed)
    listed.push_back(fmt::format("{} more", found.size() - kMaxListed));
  return Ambiguous(fmt::format("\"{}\" means {} {} here: {}. Use one of these, or its position",
                               key, found.size(), TableName(kind), fmt::join(listed, ", ")));
}

// A key that means something of another kind.
Status OtherKind(const Trace& trace, RecordKind kind, std::string_view key, Entity entity) {
  if (kind == RecordKind::kOp && entity.kind == EntityKind::kLayer) {
    const std::string label = trace.LayerLabel(entity.id);
    const size_t count = trace.OpsOfSite(entity.id).size();
    return Ambiguous(fmt::format("layer {} ran {} times: ask for \"{}:1\" .. \"{}:{}\"", label,
                                 count, label, label, count));
  }
  if (kind == RecordKind::kModuleCall && entity.kind == EntityKind::kModule) {
    const std::string_view address = trace.str(trace.module(entity.id).address);
    const size_t count = trace.CallsOfModule(entity.id).size();
    if (count == 0)
      return NotFound(fmt::format("module {} did not run in this recording", address));
    return Ambiguous(fmt::format("module {} ran {} times: ask for \"{}:1\" .. \"{}:{}\"", address,
                                 count, address, address, count));
  }
  return NotFound(fmt::format("\"{}\" is {}, and trace.{} holds only {}; trace.{} has it", key,
                              DescribeEntity(trace, entity), TableName(kind), TableName(kind),
                              TableName(KindOf(entity.kind))));
}

// Of very large tables the general lookup answers, which looks at fewer names.
Names NearNames(const TraceObject& object, RecordKind kind, std::string_view key) {
  const size_t count = CountRecords(*object.trace, kind);
  if (count > kMaxCompared) return object.lookup().Near(key, kMaxNearMisses);
  Names names;
  for (uint32_t id = 0; id < count; ++id) {
    for (std::string& name : NamesOf(*object.trace, kind, id)) names.push_back(std::move(name));
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return Nearest(key, views, kMaxNearMisses);
}

Status NoRecord(const TraceObject& object, RecordKind kind, std::string_view key,
                const Result<Entity>& general) {
  const Trace& trace = *object.trace;
  if (general.ok()) return OtherKind(trace, kind, key, *general);
  // "matmul_1_3:7": that the layer has fewer passes was already said.
  const auto split = SplitNumber(key, ':');
  if (split && object.lookup().Find(split->name).ok()) return general.status();
  const Names near = NearNames(object, kind, key);
  if (near.empty()) {
    return NotFound(fmt::format("no {} here is called \"{}\"; trace.{}.keys() has all {}",
                                KindName(kind), key, TableName(kind), CountRecords(trace, kind)));
  }
  return NotFound(fmt::format("no {} here is called \"{}\". Did you mean {}?", KindName(kind), key,
                              fmt::join(near, ", ")));
}

template <typename Match>
std::vector<uint32_t> Matching(const Trace& trace, RecordKind kind, Match match) {
  std::vector<uint32_t> found;
  for (uint32_t id = 0; id < CountRecords(trace, kind); ++id) {
    if (match(id)) found.push_back(id);
  }
  return found;
}

bool AnyName(const Trace& trace, RecordKind kind, uint32_t id,
             const std::function<bool(std::string_view)>& match) {
  const Names names = NamesOf(trace, kind, id);
  return std::any_of(names.begin(), names.end(), match);
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// What the general lookup found, where it stands for one record of this kind.
std::optional<uint32_t> AsKind(const Trace& trace, RecordKind kind, const Result<Entity>& found) {
  if (!found.ok()) return std::nullopt;
  if (KindOf(found->kind) == kind) return found->id;
  if (kind == RecordKind::kLayer && found->kind == EntityKind::kOp) {
    const SiteId site = trace.op(found->id).site;
    if (trace.OpsOfSite(site).size() == 1) return site;
  }
  if (kind == RecordKind::kModuleCall && found->kind == EntityKind::kModule) {
    const auto calls = trace.CallsOfModule(found->id);
    if (calls.size() == 1) return calls.front();
  }
  return std::nullopt;
}

// The key means all passes of a layer, or all calls of a module, where one of them was asked for.
bool NeedsNumber(RecordKind kind, const Result<Entity>& general) {
  if (!general.ok()) return false;
  return (kind == RecordKind::kOp && general->kind == EntityKind::kLayer) ||
         (kind == RecordKind::kModuleCall && general->kind == EntityKind::kModule);
}

}  // namespace

std::string_view KindName(RecordKind kind) { return TextOf(kind).name; }

std::string_view TableName(RecordKind kind) { return TextOf(kind).table; }

size_t CountRecords(const Trace& trace, RecordKind kind) {
  const TraceTables& tables = trace.tables();
  switch (kind) {
    case RecordKind::kOp:
      return tables.ops.size();
    case RecordKind::kLayer:
      return tables.sites.size();
    case RecordKind::kModule:
      return tables.modules.size();
    case RecordKind::kModuleCall:
      return tables.module_calls.size();
    case RecordKind::kVariable:
      return tables.variables.size();
    case RecordKind::kRegion:
      return tables.regions.size();
  }
  return 0;
}

std::string KeyOf(const Trace& trace, RecordKind kind, uint32_t id) {
  switch (kind) {
    case RecordKind::kOp:
      return trace.OpLabel(id);
    case RecordKind::kLayer:
      return trace.LayerLabel(id);
    case RecordKind::kModule:
      return std::string(trace.str(trace.module(id).address));
    case RecordKind::kModuleCall:
      return trace.CallLabel(id);
    case RecordKind::kVariable:
      return std::string(trace.str(trace.variable(id).address));
    case RecordKind::kRegion:
      return RegionKey(trace, id);
  }
  return {};
}

std::vector<std::string> NamesOf(const Trace& trace, RecordKind kind, uint32_t id) {
  switch (kind) {
    case RecordKind::kOp:
      return OpNames(trace, id);
    case RecordKind::kLayer:
      return {trace.LayerLabel(id), trace.LayerLabelShort(id)};
    case RecordKind::kModule:
      return AddressNames(trace, trace.module(id).address, trace.module(id).addresses);
    case RecordKind::kModuleCall:
      return CallNames(trace, id);
    case RecordKind::kVariable:
      return AddressNames(trace, trace.variable(id).address, trace.variable(id).addresses);
    case RecordKind::kRegion:
      return {RegionKey(trace, id)};
  }
  return {};
}

Result<uint32_t> FindRecord(const TraceObject& object, RecordKind kind, std::string_view key) {
  if (key.empty()) return InvalidArgument("an empty key names nothing");
  const Trace& trace = *object.trace;
  const Result<Entity> general = object.lookup().Find(key);
  if (const auto id = AsKind(trace, kind, general)) return *id;
  if (NeedsNumber(kind, general)) return OtherKind(trace, kind, key, *general);
  const auto own_key = [&](uint32_t id) { return KeyOf(trace, kind, id) == key; };
  const auto exact = [&](uint32_t id) {
    return AnyName(trace, kind, id, [&](std::string_view name) { return name == key; });
  };
  const auto part = [&](uint32_t id) {
    return AnyName(trace, kind, id,
                   [&](std::string_view name) { return name.find(key) != std::string_view::npos; });
  };
  for (const std::function<bool(uint32_t)>& match :
       std::initializer_list<std::function<bool(uint32_t)>>{own_key, exact, part}) {
    const std::vector<uint32_t> found = Matching(trace, kind, match);
    if (found.size() == 1) return found.front();
    if (found.size() > 1) return SeveralRecords(trace, kind, key, found);
  }
  return NoRecord(object, kind, key, general);
}

bool HasName(const TraceObject& object, RecordKind kind, std::string_view key) {
  const Trace& trace = *object.trace;
  const auto same = [&](std::string_view name) { return name == key; };
  const Result<Entity> general = key.empty() ? NotFound("") : object.lookup().Find(key);
  const bool is_kind = general.ok() && KindOf(general->kind) == kind;
  if (is_kind && AnyName(trace, kind, general->id, same)) return true;
  const bool is_missing = !general.ok() && general.status().code() == StatusCode::kNotFound;
  if (is_missing && kind != RecordKind::kRegion)
    return false;  // the general lookup knows no regions
  for (uint32_t id = 0; id < CountRecords(trace, kind); ++id) {
    if (AnyName(trace, kind, id, same)) return true;
  }
  return false;
}

std::vector<uint32_t> FindText(const Trace& trace, RecordKind kind, std::string_view text) {
  const std::string wanted = LowerCase(text);
  return Matching(trace, kind, [&](uint32_t id) {
    return AnyName(trace, kind, id, [&](std::string_view name) {
      return LowerCase(name).find(wanted) != std::string::npos;
    });
  });
}

}  // namespace flowscope::python
