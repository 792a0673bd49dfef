#include "trace/builder.h"

#include <algorithm>

#include "trace/function_name.h"
#include "trace/region_path.h"

namespace flowscope {
namespace {

// By what makes it one place in the code.
uint64_t HashOfSite(const SiteRecord& site) {
  uint64_t hash = 0x9e3779b97f4a7c15ULL;
  for (const uint32_t part : {site.region_path, site.module_address, site.type, site.nth}) {
    hash = (hash ^ part) * 0xff51afd7ed558ccdULL;
    hash ^= hash >> 32;
  }
  return hash;
}

bool IsSameSite(const SiteRecord& a, const SiteRecord& b) {
  return a.nth == b.nth && a.type == b.type && a.region_path == b.region_path &&
         a.module_address == b.module_address;
}

}  // namespace

TraceBuilder::TraceBuilder() {
  tables_.regions.push_back(RegionRecord{});
  Scope root;
  root.module_address = Intern("self");
  scopes_.push_back(std::move(root));
}

uint32_t TraceBuilder::InternDims(std::span<const int64_t> dims) {
  return tables_.dims_pool.Intern(
      std::string_view(reinterpret_cast<const char*>(dims.data()), dims.size_bytes()));
}

ModuleCallId TraceBuilder::OpenModuleCall(ModuleId module, int64_t now_ns) {
  if (calls_per_module_.size() <= module) calls_per_module_.resize(module + 1, 0);
  ModuleCallRecord record;
  record.module = module;
  record.call_index = ++calls_per_module_[module];
  record.parent = scopes_.back().module_call;
  record.region = scopes_.back().region;
  record.first_op = record.end_op = static_cast<OpId>(tables_.ops.size());
  record.start_ns = now_ns;
  const auto id = static_cast<ModuleCallId>(tables_.module_calls.size());
  tables_.module_calls.push_back(record);

  Scope scope;
  scope.module_call = id;
  scope.region = scopes_.back().region;
  scope.region_path = scopes_.back().region_path;
  scope.module_address = tables_.modules[module].address;
  scopes_.push_back(std::move(scope));
  return id;
}

void TraceBuilder::CloseScope(int64_t now_ns, bool failed) {
  const Scope& scope = scopes_.back();
  if (!scope.is_region) {
    ModuleCallRecord& call = tables_.module_calls[scope.module_call];
    call.end_op = static_cast<OpId>(tables_.ops.size());
    call.duration_ns = std::max<int64_t>(now_ns - call.start_ns, 0);
    call.failed = failed;
  }
  scopes_.pop_back();
}

void TraceBuilder::CloseModuleCall(ModuleCallId call, int64_t now_ns, bool failed) {
  const auto is_it = [call](const Scope& s) { return !s.is_region && s.module_call == call; };
  if (std::none_of(scopes_.begin() + 1, scopes_.end(), is_it)) return;
  while (!is_it(scopes_.back())) CloseScope(now_ns, true);
  CloseScope(now_ns, failed);
}

std::shared_ptr<TraceBuilder::SuspendedCall> TraceBuilder::SuspendModuleCall(ModuleCallId call,
                                                                             int64_t now_ns) {
  const auto is_it = [call](const Scope& s) { return !s.is_region && s.module_call == call; };
  const auto found = std::find_if(scopes_.begin() + 1, scopes_.end(), is_it);
  if (found == scopes_.end()) return nullptr;
  auto suspended = std::make_shared<SuspendedCall>(SuspendedCall{*found});
  CloseModuleCall(call, now_ns, false);
  return suspended;
}

void TraceBuilder::ResumeModuleCall(const SuspendedCall& call) { scopes_.push_back(call.scope); }

RegionId TraceBuilder::OpenRegion(RegionRecord region) {
  region.parent = scopes_.back().region;
  const auto id = static_cast<RegionId>(tables_.regions.size());
  tables_.regions.push_back(region);
  Scope scope;
  scope.module_call = scopes_.back().module_call;
  scope.module_address = scopes_.back().module_address;
  scope.region = id;
  scope.region_path = RegionPathWithoutIterations(id);
  scope.is_region = true;
  scopes_.push_back(std::move(scope));
  return id;
}

void TraceBuilder::CloseRegion(RegionId region) {
  const auto is_it = [region](const Scope& s) { return s.is_region && s.region == region; };
  if (std::none_of(scopes_.rbegin(), scopes_.rend() - 1, is_it)) return;
  while (!is_it(scopes_.back())) CloseScope(EndOfLastOp(), true);
  CloseScope(EndOfLastOp(), false);
}

int64_t TraceBuilder::EndOfLastOp() const {
  return tables_.ops.empty() ? 0 : tables_.ops.back().start_ns + tables_.ops.back().duration_ns;
}

StringId TraceBuilder::RegionPathWithoutIterations(RegionId region) {
  return Intern(RegionPathOf(tables_, region, false));
}

uint32_t TraceBuilder::CountOf(Scope& scope, StringId type) {
  for (auto& [counted, count] : scope.counters) {
    if (counted == type) return ++count;
  }
  scope.counters.emplace_back(type, 1);
  return 1;
}

// Types that differ only in how they are written share their numbers.
uint32_t TraceBuilder::TypeIndexOf(StringId type) {
  const auto [it, is_new] = label_type_of_.try_emplace(type);
  if (is_new) {
    const auto next = static_cast<uint32_t>(label_types_.size());
    it->second =
        label_types_.try_emplace(FormatType(tables_.strings.View(type)), next).first->second;
    sites_per_label_type_.resize(label_types_.size());
  }
  return ++sites_per_label_type_[it->second];
}

// The call of a function is one place in the code, whatever number the function has this time.
StringId TraceBuilder::SiteTypeOf(const OpRecord& op) {
  if (op.kind != OpKind::kCall) return op.type;
  return Intern(ReadableFunctionName(tables_.strings.View(op.type)));
}

void TraceBuilder::AssignSite(OpRecord& op, Scope& scope) {
  SiteRecord site;
  site.type = SiteTypeOf(op);
  const uint32_t nth = CountOf(scope, site.type);
  site.region_path = scope.region_path;
  site.module_address = scope.module_address;
  site.nth = nth;
  const uint64_t hash = HashOfSite(site);
  op.site = sites_.Find(hash, [&](SiteId id) { return IsSameSite(tables_.sites[id], site); });
  if (op.site == SlotTable::kNone) {
    op.site = static_cast<SiteId>(tables_.sites.size());
    sites_.Add(hash, op.site, [this](SiteId id) { return HashOfSite(tables_.sites[id]); });
    site.type_index = TypeIndexOf(site.type);
    site.ordinal = static_cast<uint32_t>(tables_.sites.size()) + 1;
    tables_.sites.push_back(site);
  }
  op.pass = ++tables_.sites[op.site].num_passes;
}

OpId TraceBuilder::BeginOp(OpRecord op) {
  Scope& scope = scopes_.back();
  op.region = scope.region;
  op.module_call = scope.module_call;
  AssignSite(op, scope);
  const auto id = static_cast<OpId>(tables_.ops.size());
  tables_.ops.push_back(op);
  return id;
}

void TraceBuilder::SetInputs(OpId id, std::span<const EdgeRecord> inputs) {
  tables_.ops[id].inputs = {static_cast<uint32_t>(tables_.edges.size()),
                            static_cast<uint32_t>(inputs.size())};
  tables_.edges.insert(tables_.edges.end(), inputs.begin(), inputs.end());
}

OpId TraceBuilder::AddSource(OpKind kind, std::string_view type, std::string_view name,
                             int64_t now_ns) {
  OpRecord source;
  source.kind = kind;
  source.type = Intern(type);
  source.name = Intern(name);
  source.start_ns = now_ns;
  AssignSite(source, scopes_.front());
  const auto id = static_cast<OpId>(tables_.ops.size());
  tables_.ops.push_back(source);
  return id;
}

TensorId TraceBuilder::AddTensor(const TensorRecord& tensor) {
  const auto id = static_cast<TensorId>(tables_.tensors.size());
  tables_.tensors.push_back(tensor);
  return id;
}

ModuleId TraceBuilder::AddModule(ModuleRecord module) {
  const auto id = static_cast<ModuleId>(tables_.modules.size());
  tables_.modules.push_back(module);
  return id;
}

Span TraceBuilder::AddStrings(std::span<const std::string> strings) {
  const Span span{static_cast<uint32_t>(tables_.string_lists.size()),
                  static_cast<uint32_t>(strings.size())};
  for (const std::string& text : strings) tables_.string_lists.push_back(Intern(text));
  return span;
}

Span TraceBuilder::AddNamedTensors(std::span<const NamedTensor> tensors) {
  const Span span{static_cast<uint32_t>(tables_.named_tensors.size()),
                  static_cast<uint32_t>(tensors.size())};
  tables_.named_tensors.insert(tables_.named_tensors.end(), tensors.begin(), tensors.end());
  return span;
}

std::string TraceBuilder::LayerLabel(OpId id) const {
  const SiteRecord& site = tables_.sites[tables_.ops[id].site];
  return FormatLayerLabel(tables_.strings.View(site.type), site.type_index, site.ordinal);
}

std::string TraceBuilder::OpLabel(OpId id) const {
  return LayerLabel(id) + ":" + std::to_string(tables_.ops[id].pass);
}

void GroupVariables(TraceTables& tables) {
  std::vector<std::vector<VariableId>> of_module(tables.modules.size());
  for (VariableId id = 0; id < tables.variables.size(); ++id) {
    const ModuleId module = tables.variables[id].module;
    if (module < of_module.size()) of_module[module].push_back(id);
  }
  std::vector<VariableId>& lists = tables.variable_lists;
  for (ModuleId id = 0; id < of_module.size(); ++id) {
    if (tables.modules[id].variables.count > 0 || of_module[id].empty()) continue;
    tables.modules[id].variables = {static_cast<uint32_t>(lists.size()),
                                    static_cast<uint32_t>(of_module[id].size())};
    lists.insert(lists.end(), of_module[id].begin(), of_module[id].end());
  }
  // Nested ops end before the op around them, so accesses can stand out of order.
  std::stable_sort(tables.accesses.begin(), tables.accesses.end(),
                   [](const AccessRecord& a, const AccessRecord& b) { return a.op < b.op; });
}

void TraceBuilder::Close() {
  while (scopes_.size() > 1) CloseScope(EndOfLastOp(), true);
  GroupVariables(tables_);
}

std::shared_ptr<const Trace> TraceBuilder::Finish(
    std::shared_ptr<const PayloadSource> payloads) && {
  Close();
  return std::make_shared<const Trace>(std::move(tables_), std::move(payloads));
}

}  // namespace flowscope
