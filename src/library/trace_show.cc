// One thing of a trace as JSON, and elements of its value.
#include <algorithm>
#include <span>

#include "analyze/tables.h"
#include "analyze/text.h"
#include "base/stats.h"
#include "flowscope/trace.h"
#include "library/json.h"
#include "trace/attrs.h"
#include "trace/lookup.h"
#include "trace/trace.h"

namespace flowscope::api {
namespace {

using library::Json;

Json LabelsJson(const flowscope::Trace& trace, std::span<const OpId> ids) {
  Json labels = Json::array();
  for (const OpId id : ids) labels.push_back(trace.OpLabel(id));
  return labels;
}

Json InputsJson(const flowscope::Trace& trace, OpId id) {
  Json inputs = Json::array();
  for (const EdgeRecord& edge : trace.inputs(id)) {
    const bool known = edge.tensor != kNoId;
    const OpId producer = known ? trace.tensor(edge.tensor).producer : kNoId;
    inputs.push_back({{"class", EdgeClassName(edge.edge_class)},
                      {"op", producer == kNoId ? Json(nullptr) : Json(trace.OpLabel(producer))},
                      {"glance", known ? Json(GlanceText(trace, edge.tensor)) : Json(nullptr)}});
  }
  return inputs;
}

Json AccessesJson(const flowscope::Trace& trace, OpId id) {
  Json accesses = Json::array();
  for (const AccessRecord& access : trace.AccessesOfOp(id)) {
    accesses.push_back({{"variable", trace.str(trace.variable(access.variable).address)},
                        {"version", access.version},
                        {"write", access.write}});
  }
  return accesses;
}

Json AttrsJson(const flowscope::Trace& trace, OpId id) {
  Json attrs = Json::object();
  const auto split = SplitAttrs(trace.tables().attrs.View(trace.op(id).attrs));
  if (!split.ok()) return attrs;
  for (const auto& [name, value] : *split) attrs[name] = FormatAttr(value);
  return attrs;
}

Json OutputsJson(const flowscope::Trace& trace, OpId id, int64_t max_values) {
  const flowscope::Table stats = StatsTable(trace, std::span(&id, 1));
  Json outputs = Json::array();
  for (uint32_t i = 0; i < trace.op(id).outputs.count; ++i) {
    const TensorId tensor = trace.output(id, i);
    const TensorRecord& record = trace.tensor(tensor);
    Json json = {{"dtype", DTypeName(record.dtype)}};
    json["shape"] = record.shape_known ? Json(trace.dims(record.dims)) : Json(nullptr);
    json["payload"] = PayloadStateName(record.state);
    json["glance"] = GlanceText(trace, tensor);
    Json numbers = library::RowJson(stats, i);
    for (const char* name : {"label", "type", "kind", "module", "output_index", "dtype"}) {
      numbers.erase(name);
    }
    json["stats"] = std::move(numbers);
    if (const Result<Payload> value = trace.ReadTensor(tensor); value.ok()) {
      json["hash"] = ContentHash(*value);
      json["values"] = library::ElementsJson(*value, max_values);
    }
    outputs.push_back(std::move(json));
  }
  return outputs;
}

Json OpJson(const flowscope::Trace& trace, OpId id, int64_t max_values) {
  Json json = {{"record", "op"}};
  json.update(library::RowJson(OpTable(trace, std::span(&id, 1)), 0));
  json["module_call"] = library::TextOrNull(ModuleCallText(trace, id));
  json["source"] = library::TextOrNull(LocationText(trace, id, true));
  json["parents"] = LabelsJson(trace, trace.Parents(id));
  json["children"] = LabelsJson(trace, trace.Children(id));
  json["inputs"] = InputsJson(trace, id);
  json["variables"] = AccessesJson(trace, id);
  json["attrs"] = AttrsJson(trace, id);
  json["outputs"] = OutputsJson(trace, id, max_values);
  return json;
}

// The row of a table in which every record of a kind has one.
Json RecordJson(const char* record, const flowscope::Table& table, uint32_t id) {
  Json json = {{"record", record}};
  json.update(library::RowJson(table, id));
  return json;
}

Json ModuleJson(const flowscope::Trace& trace, ModuleId id) {
  Json json = RecordJson("module", ModuleTable(trace), id);
  Json calls = Json::array();
  for (const ModuleCallId call : trace.CallsOfModule(id)) calls.push_back(trace.CallLabel(call));
  json["calls"] = std::move(calls);
  return json;
}

Json CallJson(const flowscope::Trace& trace, ModuleCallId id) {
  Json json = RecordJson("module_call", ModuleCallTable(trace), id);
  std::vector<OpId> ops;
  const ModuleCallRecord& call = trace.module_call(id);
  for (OpId op = call.first_op; op < call.end_op; ++op) {
    if (trace.InModuleCall(op, id)) ops.push_back(op);
  }
  json["ops"] = LabelsJson(trace, ops);
  return json;
}

Json EntityJson(const flowscope::Trace& trace, const Entity& entity, int64_t max_values) {
  switch (entity.kind) {
    case EntityKind::kOp:
      return OpJson(trace, entity.id, max_values);
    case EntityKind::kLayer: {
      Json json = RecordJson("layer", LayerTable(trace), entity.id);
      json["ops"] = LabelsJson(trace, trace.OpsOfSite(entity.id));
      return json;
    }
    case EntityKind::kModule:
      return ModuleJson(trace, entity.id);
    case EntityKind::kModuleCall:
      return CallJson(trace, entity.id);
    case EntityKind::kVariable:
      break;
  }
  return RecordJson("variable", VariableTable(trace), entity.id);
}

}  // namespace

Result<std::string> Trace::DescribeJson(std::string_view key, int64_t max_values) const {
  const Result<Entity> entity = Lookup(*trace_).Find(key);
  if (!entity.ok()) return entity.status();
  return library::Dump(EntityJson(*trace_, *entity, max_values));
}

Result<std::string> Trace::Elements(std::string_view key, int64_t count) const {
  const Result<Payload> value = Value(key);
  if (!value.ok()) return value.status();
  const int64_t total = value->num_elements();
  const int64_t shown = std::min(count, total);
  std::string text = std::string(DTypeName(value->dtype)) + " " + TupleText(value->dims) + ", " +
                     Counted(total, "element") + "\n";
  for (int64_t i = 0; i < shown; ++i) text += FormatElement(*value, i) + "\n";
  if (shown < total) text += "... " + Counted(total - shown, "more element") + "\n";
  return text;
}

}  // namespace flowscope::api
