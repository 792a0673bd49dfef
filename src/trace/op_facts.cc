#include <algorithm>

#include "trace/selector.h"

namespace flowscope {
namespace {

std::string LayerLabelOf(const TraceTables& tables, const OpRecord& op) {
  const SiteRecord& site = tables.sites[op.site];
  return FormatLayerLabel(tables.strings.View(site.type), site.type_index, site.ordinal);
}

void FillModules(const TraceTables& tables, ModuleCallId innermost, OpFacts& facts) {
  facts.num_innermost = 0;
  for (ModuleCallId id = innermost; id != kNoId; id = tables.module_calls[id].parent) {
    const ModuleCallRecord& call = tables.module_calls[id];
    const Span addresses = tables.modules[call.module].addresses;
    if (id == innermost) facts.num_innermost = addresses.count;
    for (uint32_t i = 0; i < addresses.count; ++i) {
      const StringId address = tables.string_lists[addresses.first + i];
      facts.module_addresses.push_back(tables.strings.View(address));
      facts.call_indices.push_back(call.call_index);
    }
  }
}

std::optional<uint32_t> IterationOf(const TraceTables& tables, RegionId region) {
  for (; region != kNoId; region = tables.regions[region].parent) {
    const RegionRecord& record = tables.regions[region];
    if (record.kind == RegionKind::kIteration) return record.index;
  }
  return std::nullopt;
}

std::vector<OpId> ParentsOf(const TraceTables& tables, const OpRecord& op) {
  std::vector<OpId> parents;
  for (uint32_t i = 0; i < op.inputs.count; ++i) {
    const TensorId tensor = tables.edges[op.inputs.first + i].tensor;
    const OpId parent = tensor == kNoId ? kNoId : tables.tensors[tensor].producer;
    if (parent == kNoId) continue;
    if (std::find(parents.begin(), parents.end(), parent) == parents.end()) {
      parents.push_back(parent);
    }
  }
  return parents;
}

std::shared_ptr<const ModuleOutputs> FindModuleOutputs(const TraceTables& tables) {
  ModuleOutputs outputs;
  for (ModuleCallId id = 0; id < tables.module_calls.size(); ++id) {
    const Span named = tables.module_calls[id].outputs;
    for (uint32_t i = 0; i < named.count; ++i) {
      const TensorId tensor = tables.named_tensors[named.first + i].tensor;
      if (tensor == kNoId || tables.tensors[tensor].producer == kNoId) continue;
      outputs.emplace_back(tables.tensors[tensor].producer, id);
    }
  }
  std::sort(outputs.begin(), outputs.end());
  outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  return std::make_shared<const ModuleOutputs>(std::move(outputs));
}

}  // namespace

OpFacts FactsOf(const TraceTables& tables, OpId id, FactsScratch& scratch, ModuleCallId ending) {
  const OpRecord& op = tables.ops[id];
  scratch.layer_label = LayerLabelOf(tables, op);
  scratch.label = scratch.layer_label + ":" + std::to_string(op.pass);
  OpFacts facts;
  facts.id = id;
  facts.type = tables.strings.View(op.type);
  facts.site_type = tables.strings.View(tables.sites[op.site].type);
  facts.label = scratch.label;
  facts.layer_label = scratch.layer_label;
  facts.kind = op.kind;
  FillModules(tables, op.module_call, facts);
  facts.region_path = tables.strings.View(tables.sites[op.site].region_path);
  facts.iteration = IterationOf(tables, op.region);
  facts.pass = op.pass;
  if (op.location < tables.locations.size()) {
    facts.file = tables.strings.View(tables.locations[op.location].file);
    facts.line = tables.locations[op.location].line;
  }
  facts.attrs = tables.attrs.View(op.attrs);
  facts.parents = ParentsOf(tables, op);
  facts.tables = &tables;
  if (ending != kNoId) {
    facts.is_module_output = true;
    facts.module_outputs = std::make_shared<const ModuleOutputs>(1, std::pair(id, ending));
  }
  return facts;
}

OpFacts FactsOf(const Trace& trace, OpId id, FactsScratch& scratch) {
  if (scratch.module_outputs == nullptr) scratch.module_outputs = FindModuleOutputs(trace.tables());
  OpFacts facts = FactsOf(trace.tables(), id, scratch);
  facts.module_outputs = scratch.module_outputs;
  const auto it = std::lower_bound(facts.module_outputs->begin(), facts.module_outputs->end(),
                                   std::pair<OpId, ModuleCallId>(id, 0));
  facts.is_module_output = it != facts.module_outputs->end() && it->first == id;
  return facts;
}

}  // namespace flowscope
