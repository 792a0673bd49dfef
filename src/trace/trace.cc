#include "trace/trace.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <unordered_set>

#include "trace/region_path.h"

namespace flowscope {
namespace {

// Turns (group, member) pairs into compressed rows; members keep their order.
void GroupBy(size_t num_groups, const std::vector<std::pair<uint32_t, uint32_t>>& pairs,
             std::vector<uint32_t>& start, std::vector<uint32_t>& members) {
  start.assign(num_groups + 1, 0);
  for (const auto& [group, member] : pairs) ++start[group + 1];
  for (size_t i = 0; i < num_groups; ++i) start[i + 1] += start[i];
  members.resize(pairs.size());
  std::vector<uint32_t> next(start.begin(), start.end() - 1);
  for (const auto& [group, member] : pairs) members[next[group]++] = member;
}

std::span<const uint32_t> Row(const std::vector<uint32_t>& start,
                              const std::vector<uint32_t>& members, uint32_t group) {
  return std::span(members).subspan(start[group], start[group + 1] - start[group]);
}

// Each op that made an input, once, in the order of the inputs. Most ops have a few of them; one of
// a hundred thousand must not take their square.
template <typename Visit>
void VisitParents(const Trace& trace, OpId id, Visit visit) {
  constexpr uint32_t kFew = 32;
  std::array<OpId, kFew> first;
  size_t num_first = 0;
  std::unordered_set<OpId> seen;
  const bool few = trace.op(id).inputs.count <= kFew;
  for (const EdgeRecord& edge : trace.inputs(id)) {
    if (edge.tensor == kNoId) continue;
    const OpId producer = trace.tensor(edge.tensor).producer;
    if (producer == kNoId) continue;
    if (few) {
      const auto end = first.begin() + num_first;
      if (std::find(first.begin(), end, producer) != end) continue;
      first[num_first++] = producer;
    } else if (!seen.insert(producer).second) {
      continue;
    }
    visit(producer);
  }
}

}  // namespace

std::string FormatType(std::string_view type) {
  std::string lower(type);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string FormatLayerLabel(std::string_view type, uint32_t type_index, uint32_t ordinal) {
  std::string label = FormatType(type) + "_" + std::to_string(type_index);
  if (ordinal != 0) label += "_" + std::to_string(ordinal);
  return label;
}

Trace::Trace(TraceTables tables, std::shared_ptr<const PayloadSource> payloads)
    : tables_(std::move(tables)), payloads_(std::move(payloads)) {
  IndexChildren();
  IndexGroups();
}

void Trace::IndexChildren() {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (OpId id = 0; id < num_ops(); ++id) {
    VisitParents(*this, id, [&](OpId parent) { pairs.emplace_back(parent, id); });
  }
  GroupBy(num_ops(), pairs, child_start_, child_ops_);
}

void Trace::IndexGroups() {
  std::vector<std::pair<uint32_t, uint32_t>> by_site;
  for (OpId id = 0; id < num_ops(); ++id) {
    if (op(id).site != kNoId) by_site.emplace_back(op(id).site, id);
  }
  GroupBy(tables_.sites.size(), by_site, site_start_, site_ops_);
  std::vector<std::pair<uint32_t, uint32_t>> by_module;
  for (ModuleCallId id = 0; id < tables_.module_calls.size(); ++id) {
    by_module.emplace_back(module_call(id).module, id);
  }
  GroupBy(tables_.modules.size(), by_module, module_start_, module_call_ids_);
}

Dims Trace::dims(uint32_t dims_id) const {
  const std::string_view bytes = tables_.dims_pool.View(dims_id);
  Dims dims(bytes.size() / sizeof(int64_t));
  if (!bytes.empty()) std::memcpy(dims.data(), bytes.data(), bytes.size());
  return dims;
}

std::span<const EdgeRecord> Trace::inputs(OpId id) const {
  return std::span(tables_.edges).subspan(op(id).inputs.first, op(id).inputs.count);
}

std::vector<OpId> Trace::Parents(OpId id) const {
  std::vector<OpId> parents;
  VisitParents(*this, id, [&parents](OpId parent) { parents.push_back(parent); });
  return parents;
}

std::span<const OpId> Trace::Children(OpId id) const { return Row(child_start_, child_ops_, id); }

std::span<const OpId> Trace::OpsOfSite(SiteId id) const { return Row(site_start_, site_ops_, id); }

std::span<const ModuleCallId> Trace::CallsOfModule(ModuleId id) const {
  return Row(module_start_, module_call_ids_, id);
}

std::vector<AccessRecord> Trace::AccessesOfOp(OpId id) const {
  const auto by_op = [](const AccessRecord& access, OpId op) { return access.op < op; };
  auto it = std::lower_bound(tables_.accesses.begin(), tables_.accesses.end(), id, by_op);
  std::vector<AccessRecord> found;
  for (; it != tables_.accesses.end() && it->op == id; ++it) found.push_back(*it);
  return found;
}

std::vector<VersionRecord> Trace::VersionsOfVariable(VariableId id) const {
  std::vector<VersionRecord> found;
  for (const VersionRecord& version : tables_.versions) {
    if (version.variable == id) found.push_back(version);
  }
  return found;
}

std::vector<ModuleCallId> Trace::ModuleStack(ModuleCallId id) const {
  std::vector<ModuleCallId> stack;
  for (; id != kNoId; id = module_call(id).parent) stack.push_back(id);
  return stack;
}

bool Trace::InModuleCall(OpId op_id, ModuleCallId call) const {
  for (ModuleCallId id = op(op_id).module_call; id != kNoId; id = module_call(id).parent) {
    if (id == call) return true;
  }
  return false;
}

std::string Trace::LayerLabel(SiteId id) const {
  return FormatLayerLabel(str(site(id).type), site(id).type_index, site(id).ordinal);
}

std::string Trace::LayerLabelShort(SiteId id) const {
  return FormatLayerLabel(str(site(id).type), site(id).type_index, 0);
}

std::string Trace::OpLabel(OpId id) const {
  return LayerLabel(op(id).site) + ":" + std::to_string(op(id).pass);
}

std::string Trace::OpLabelShort(OpId id) const {
  return LayerLabelShort(op(id).site) + ":" + std::to_string(op(id).pass);
}

std::string Trace::CallLabel(ModuleCallId id) const {
  const ModuleCallRecord& call = module_call(id);
  return std::string(str(module(call.module).address)) + ":" + std::to_string(call.call_index);
}

std::string Trace::RegionPath(RegionId id, bool with_iterations) const {
  return RegionPathOf(tables_, id, with_iterations);
}

std::string_view Trace::ModuleAddress(OpId id) const {
  const ModuleCallId call = op(id).module_call;
  return call == kNoId ? "self" : str(module(module_call(call).module).address);
}

Result<Payload> Trace::ReadTensor(TensorId id) const {
  if (id >= tables_.tensors.size())
    return NotFound("the trace has no tensor " + std::to_string(id));
  if (payloads_ == nullptr) return Unavailable("this trace holds no values");
  return payloads_->Read(id);
}

std::optional<Stats> Trace::StoredStats(TensorId id) const {
  return payloads_ == nullptr ? std::nullopt : payloads_->StoredStats(id);
}

std::optional<std::string> Trace::StoredHash(TensorId id) const {
  return payloads_ == nullptr ? std::nullopt : payloads_->StoredHash(id);
}

std::array<int64_t, kNumEdgeClasses> Trace::CountEdges() const {
  std::array<int64_t, kNumEdgeClasses> counts{};
  for (const EdgeRecord& edge : tables_.edges) ++counts[static_cast<size_t>(edge.edge_class)];
  return counts;
}

}  // namespace flowscope
