#include "flowscope/trace.h"

#include "analyze/summary.h"
#include "trace/lookup.h"
#include "trace/trace.h"

namespace flowscope::api {
namespace {

std::string Text(const flowscope::Trace& trace, StringId id) { return std::string(trace.str(id)); }

OpInfo ToInfo(const flowscope::Trace& trace, OpId id) {
  const OpRecord& op = trace.op(id);
  OpInfo info;
  info.label = trace.OpLabel(id);
  info.type = Text(trace, op.type);
  info.kind = OpKindName(op.kind);
  info.module = trace.ModuleAddress(id);
  info.region = trace.RegionPath(op.region);
  info.opaque_reason = Text(trace, op.opaque_reason);
  if (op.outputs.count == 0) return info;
  const TensorRecord& tensor = trace.tensor(trace.output(id));
  info.dtype = DTypeName(tensor.dtype);
  info.shape_known = tensor.shape_known;
  if (tensor.shape_known) info.dims = trace.dims(tensor.dims);
  return info;
}

Result<TensorId> TensorOf(const flowscope::Trace& trace, Entity entity, std::string_view key) {
  const auto of_op = [&](OpId op) -> Result<TensorId> {
    if (trace.op(op).outputs.count > 0) return trace.output(op);
    return Unavailable("'" + std::string(key) + "' gives no value");
  };
  switch (entity.kind) {
    case EntityKind::kOp:
      return of_op(entity.id);
    case EntityKind::kLayer: {
      const auto ops = trace.OpsOfSite(entity.id);
      if (ops.size() == 1) return of_op(ops[0]);
      return Ambiguous("'" + std::string(key) + "' has " + std::to_string(ops.size()) +
                       " passes; name one of them as '" + std::string(key) + ":1'");
    }
    case EntityKind::kVariable: {
      const std::vector<VersionRecord> versions = trace.VersionsOfVariable(entity.id);
      if (!versions.empty() && versions.front().value != kNoId) return versions.front().value;
      return Unavailable("the value of '" + std::string(key) + "' was not read in this run");
    }
    case EntityKind::kModuleCall:
      if (const Span outputs = trace.module_call(entity.id).outputs; outputs.count > 0) {
        return trace.tables().named_tensors[outputs.first].tensor;
      }
      return Unavailable("'" + std::string(key) + "' gave no tensor");
    case EntityKind::kModule:
      break;
  }
  const auto calls = trace.CallsOfModule(entity.id);
  if (calls.size() == 1) return TensorOf(trace, {EntityKind::kModuleCall, calls[0]}, key);
  return Ambiguous("module '" + std::string(key) + "' was called " + std::to_string(calls.size()) +
                   " times; name one call as '" + std::string(key) + ":1'");
}

}  // namespace

Trace::Trace(std::shared_ptr<const flowscope::Trace> trace) : trace_(std::move(trace)) {}

size_t Trace::num_ops() const { return trace_->info().num_executed; }
std::string Trace::name() const { return trace_->info().name; }
std::string Trace::root_kind() const { return trace_->info().root_kind; }
std::string Trace::tensorflow_version() const { return trace_->info().tensorflow_version; }
std::string Trace::error() const { return trace_->info().error; }
bool Trace::interrupted() const { return trace_->info().interrupted; }

std::vector<OpInfo> Trace::ops() const {
  std::vector<OpInfo> infos;
  for (OpId id = 0; id < trace_->num_ops(); ++id) infos.push_back(ToInfo(*trace_, id));
  return infos;
}

std::vector<LayerInfo> Trace::layers() const {
  std::vector<LayerInfo> infos;
  for (SiteId id = 0; id < trace_->tables().sites.size(); ++id) {
    const SiteRecord& site = trace_->site(id);
    infos.push_back({trace_->LayerLabel(id), Text(*trace_, site.type),
                     Text(*trace_, site.module_address), site.num_passes});
  }
  return infos;
}

std::vector<VariableInfo> Trace::variables() const {
  std::vector<VariableInfo> infos;
  for (const VariableRecord& variable : trace_->tables().variables) {
    VariableInfo info;
    info.address = Text(*trace_, variable.address);
    info.name = Text(*trace_, variable.name);
    info.dtype = DTypeName(variable.dtype);
    if (variable.shape_known) info.dims = trace_->dims(variable.dims);
    info.trainable = variable.trainable;
    infos.push_back(std::move(info));
  }
  for (const AccessRecord& access : trace_->tables().accesses) {
    VariableInfo& info = infos[access.variable];
    ++(access.write ? info.num_writes : info.num_reads);
  }
  return infos;
}

std::vector<std::pair<std::string, Payload>> Trace::outputs() const {
  std::vector<std::pair<std::string, Payload>> values;
  for (const NamedTensor& output : trace_->tables().outputs) {
    Result<Payload> value = trace_->ReadTensor(output.tensor);
    if (value.ok()) values.emplace_back(Text(*trace_, output.path), std::move(value).value());
  }
  return values;
}

Result<Payload> Trace::Value(std::string_view key) const {
  const Result<Entity> entity = Lookup(*trace_).Find(key);
  if (!entity.ok()) return entity.status();
  const Result<TensorId> tensor = TensorOf(*trace_, *entity, key);
  if (!tensor.ok()) return tensor.status();
  return trace_->ReadTensor(*tensor);
}

Result<std::string> Trace::Summary(const SummaryOptions& options) const {
  return Summarize(*trace_, {options.level, options.view, options.max_rows, options.depth,
                             options.fold_repeats, options.color});
}

Result<std::string> Trace::Describe(std::string_view key) const {
  const Result<Entity> entity = Lookup(*trace_).Find(key);
  if (!entity.ok()) return entity.status();
  switch (entity->kind) {
    case EntityKind::kOp:
      return DescribeOp(*trace_, entity->id);
    case EntityKind::kLayer:
      return DescribeLayer(*trace_, entity->id);
    case EntityKind::kModule:
      return DescribeModule(*trace_, entity->id);
    case EntityKind::kModuleCall:
      return DescribeModuleCall(*trace_, entity->id);
    case EntityKind::kVariable:
      break;
  }
  return DescribeVariable(*trace_, entity->id);
}

}  // namespace flowscope::api
