// Tables, statistics and the first non-finite value as text and as JSON.
#include <cmath>

#include <nlohmann/json.hpp>

#include "analyze/nonfinite.h"
#include "analyze/summary.h"
#include "analyze/tables.h"
#include "analyze/text_table.h"
#include "base/stats.h"
#include "flowscope/trace.h"
#include "trace/trace.h"

namespace flowscope::api {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kTextWidth = 160;

// Text that is no UTF-8 is shown with replacement characters.
std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

// JSON has no NaN and no infinities: they are written as text.
Json Number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json Cell(const Column& column, size_t row) {
  if (!column.is_valid(row)) return nullptr;
  if (const auto* strings = std::get_if<Column::Strings>(&column.values)) return (*strings)[row];
  if (const auto* ints = std::get_if<Column::Ints>(&column.values)) return (*ints)[row];
  if (const auto* doubles = std::get_if<Column::Doubles>(&column.values)) {
    return Number((*doubles)[row]);
  }
  return std::get<Column::Bools>(column.values)[row] != 0;
}

Json RowsOf(const flowscope::Table& table) {
  Json rows = Json::array();
  for (size_t row = 0; row < table.num_rows(); ++row) {
    Json entry = Json::object();
    for (const Column& column : table.columns) entry[column.name] = Cell(column, row);
    rows.push_back(std::move(entry));
  }
  return rows;
}

std::string CellText(const Column& column, size_t row) {
  const Json cell = Cell(column, row);
  if (cell.is_null()) return "";
  return cell.is_string() ? cell.get<std::string>() : cell.dump();
}

std::string TextOf(const flowscope::Table& table, const std::vector<std::string_view>& wanted) {
  std::vector<TextColumn> titles;
  std::vector<const Column*> columns;
  for (const std::string_view name : wanted) {
    const Column* column = table.Find(name);
    if (column == nullptr) continue;
    const bool is_text = std::holds_alternative<Column::Strings>(column->values);
    titles.push_back({std::string(name), is_text ? Align::kLeft : Align::kRight, is_text});
    columns.push_back(column);
  }
  TextTable text(std::move(titles));
  for (size_t row = 0; row < table.num_rows(); ++row) {
    std::vector<std::string> cells;
    for (const Column* column : columns) cells.push_back(CellText(*column, row));
    text.AddRow(std::move(cells));
  }
  return text.Render(kTextWidth, false);
}

struct KindOfTable {
  std::string_view name;
  flowscope::Table (*make)(const flowscope::Trace&);
  std::vector<std::string_view> columns;  // that fit a terminal
};

const std::vector<KindOfTable>& Kinds() {
  static const std::vector<KindOfTable> kinds = {
      {"ops", OpTable, {"label", "type", "kind", "module", "region", "dtype", "shape", "parents"}},
      {"layers", LayerTable, {"layer_label", "type", "module", "region", "num_passes", "output"}},
      {"modules", ModuleTable, {"address", "class_name", "num_calls", "num_params", "num_ops"}},
      {"module_calls",
       ModuleCallTable,
       {"call_label", "class_name", "inputs", "outputs", "num_ops"}},
      {"variables", VariableTable, {"address", "name", "dtype", "shape", "reads", "writes"}},
  };
  return kinds;
}

Result<const KindOfTable*> FindKind(std::string_view name) {
  std::string known;
  for (const KindOfTable& kind : Kinds()) {
    if (kind.name == name) return &kind;
    known.append(known.empty() ? "" : ", ").append(kind.name);
  }
  return InvalidArgument("there is no table '" + std::string(name) + "'; expected one of " + known);
}

Json ValueJson(const Payload& value) {
  constexpr int64_t kMostValues = 64;
  Json json = {
      {"dtype", DTypeName(value.dtype)}, {"shape", value.dims}, {"hash", ContentHash(value)}};
  if (value.num_elements() > kMostValues) return json;
  Json values = Json::array();
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    const std::optional<double> number = ElementAsDouble(value, i);
    const bool is_text = value.dtype == DType::kString;
    values.push_back(is_text ? Json(value.strings[static_cast<size_t>(i)])
                     : number && !IsComplex(value.dtype) ? Number(*number)
                                                         : Json(FormatElement(value, i)));
  }
  json["values"] = std::move(values);
  return json;
}

// One row of statistics for every kept value that an op gave.
template <typename Row>
void ForEachValue(const flowscope::Trace& trace, const Row& row) {
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    for (uint32_t i = 0; i < trace.op(id).outputs.count; ++i) {
      const TensorId tensor = trace.output(id, i);
      const std::string name =
          trace.OpLabel(id) + (i == 0 ? std::string() : " output " + std::to_string(i));
      if (const std::optional<flowscope::Stats> stored = trace.StoredStats(tensor)) {
        row(name, trace.tensor(tensor), *stored);
      } else if (const Result<Payload> value = trace.ReadTensor(tensor); value.ok()) {
        row(name, trace.tensor(tensor), ComputeStats(*value, 0, false));
      }
    }
  }
}

std::string Short(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

Json StepJson(const flowscope::Trace& trace, const NonFiniteStep& step) {
  Json json = {{"op", step.op == kNoId ? Json(nullptr) : Json(trace.OpLabel(step.op))},
               {"element", step.element},
               {"value", step.value},
               {"nan", step.nan},
               {"pos_inf", step.pos_inf},
               {"neg_inf", step.neg_inf}};
  return json;
}

}  // namespace

Result<std::string> Trace::Table(std::string_view kind) const {
  const Result<const KindOfTable*> found = FindKind(kind);
  if (!found.ok()) return found.status();
  return TextOf((*found)->make(*trace_), (*found)->columns);
}

Result<std::string> Trace::TableJson(std::string_view kind) const {
  const Result<const KindOfTable*> found = FindKind(kind);
  if (!found.ok()) return found.status();
  return Dump(RowsOf((*found)->make(*trace_)));
}

std::string Trace::SummaryJson() const {
  const TraceInfo& info = trace_->info();
  Json outputs = Json::object();
  for (const auto& [path, value] : this->outputs()) outputs[path] = ValueJson(value);
  Json json = {{"name", info.name},
               {"root_kind", info.root_kind},
               {"recorder", info.recorder},
               {"tensorflow", info.tensorflow_version},
               {"num_ops", info.num_executed},
               {"num_records", trace_->num_ops()},
               {"num_modules", trace_->tables().modules.size()},
               {"num_variables", trace_->tables().variables.size()},
               {"duration_ms", static_cast<double>(info.duration_ns) / 1e6},
               {"error", info.error.empty() ? Json(nullptr) : Json(info.error)},
               {"degraded", info.degraded.empty() ? Json(nullptr) : Json(info.degraded)},
               {"notes", info.notes},
               {"outputs", std::move(outputs)}};
  return Dump(json);
}

std::string Trace::Stats() const {
  using enum Align;
  TextTable text({{"op", kLeft, true},
                  {"dtype", kLeft},
                  {"count", kRight},
                  {"min", kRight},
                  {"max", kRight},
                  {"mean", kRight},
                  {"std", kRight},
                  {"nan", kRight},
                  {"inf", kRight}});
  ForEachValue(*trace_, [&](const std::string& name, const TensorRecord& tensor,
                            const flowscope::Stats& stats) {
    const bool known = stats.numeric && stats.finite() > 0;
    const auto cell = [known](double value) { return known ? Short(value) : std::string(); };
    text.AddRow(
        {name, std::string(DTypeShortName(tensor.dtype)), std::to_string(stats.count),
         cell(stats.min), cell(stats.max), cell(stats.mean), cell(stats.std),
         stats.nan > 0 ? std::to_string(stats.nan) : "",
         stats.pos_inf + stats.neg_inf > 0 ? std::to_string(stats.pos_inf + stats.neg_inf) : ""});
  });
  return text.Render(kTextWidth, false);
}

std::string Trace::StatsJson() const {
  Json rows = Json::array();
  ForEachValue(*trace_, [&](const std::string& name, const TensorRecord& tensor,
                            const flowscope::Stats& stats) {
    const bool known = stats.numeric && stats.finite() > 0;
    const auto cell = [known](double value) { return known ? Number(value) : Json(nullptr); };
    rows.push_back({{"op", name},
                    {"dtype", DTypeName(tensor.dtype)},
                    {"count", stats.count},
                    {"min", cell(stats.min)},
                    {"max", cell(stats.max)},
                    {"mean", cell(stats.mean)},
                    {"std", cell(stats.std)},
                    {"zeros", stats.zeros},
                    {"nan", stats.nan},
                    {"pos_inf", stats.pos_inf},
                    {"neg_inf", stats.neg_inf}});
  });
  return Dump(rows);
}

std::string Trace::FirstNonFiniteJson() const {
  const std::optional<NonFiniteReport> report = FindFirstNonFinite(*trace_);
  if (!report) return "null";
  Json chain = Json::array();
  for (const NonFiniteStep& step : report->chain) chain.push_back(StepJson(*trace_, step));
  Json json = StepJson(*trace_, report->first);
  json["cause"] = report->cause;
  json["chain"] = std::move(chain);
  json["scanned"] = report->scanned;
  json["skipped"] = report->skipped;
  return Dump(json);
}

std::string Trace::FirstNonFinite() const {
  const std::optional<NonFiniteReport> report = FindFirstNonFinite(*trace_);
  return report ? FormatNonFinite(*trace_, *report) : std::string();
}

}  // namespace flowscope::api
