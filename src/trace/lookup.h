// trace[key]: from what a person types to what is meant.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "trace/trace.h"

namespace flowscope {

enum class EntityKind { kOp, kLayer, kModule, kModuleCall, kVariable };

struct Entity {
  EntityKind kind = EntityKind::kOp;
  uint32_t id = 0;  // OpId, SiteId, ModuleId, ModuleCallId or VariableId
  bool operator==(const Entity&) const = default;
};

// Index over one trace; build once, ask often. The trace must outlive it.
class Lookup {
 public:
  explicit Lookup(const Trace& trace);

  // Tries in this order: exact address, address:call, layer label, label:pass, short label (with or
  // without :pass), alias, path with an alias or "self" in it, unique substring. An input goes by
  // its argument's name too. A key that matches two kinds, or two things of one
  // kind, is Ambiguous and the message lists them, a label and an alias included (an address goes
  // before both); a miss is NotFound with the nearest keys. A layer with one pass stands for its
  // op, a module with one call stays a module.
  Result<Entity> Find(std::string_view key) const;

  // Every key, sorted, for completion. ":n" where there are several calls or passes only.
  std::vector<std::string> Keys() const;

  // Keys that a mistyped one may have meant, best first; empty when none is near. Of a type with
  // very many layers only the first ones and those with the key's own numbers are looked at.
  std::vector<std::string> Near(std::string_view key, size_t max) const;

 private:
  struct Index;
  std::shared_ptr<const Index> index_;
};

// "layer matmul_1_3", "module encoder.blocks.0": how messages name an entity.
std::string DescribeEntity(const Trace& trace, Entity entity);

}  // namespace flowscope
