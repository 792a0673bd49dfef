// Tables as text and as JSON.
#include <cstdio>

#include "analyze/tables.h"
#include "analyze/text.h"
#include "analyze/text_table.h"
#include "flowscope/trace.h"
#include "library/filter.h"
#include "library/json.h"
#include "trace/trace.h"

namespace flowscope::api {
namespace {

using library::Json;

constexpr size_t kTextWidth = 160;
constexpr int64_t kMostOutputValues = 64;

std::string CellText(const Column& column, size_t row) {
  if (!column.is_valid(row)) return "";
  if (const auto* doubles = std::get_if<Column::Doubles>(&column.values)) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.6g", (*doubles)[row]);
    return text;
  }
  const Json cell = library::CellJson(column, row);
  return cell.is_string() ? cell.get<std::string>() : cell.dump();
}

// The columns that fit a terminal.
std::vector<std::string_view> ShownColumns(std::string_view kind) {
  if (kind == "ops") {
    return {"label", "type", "kind", "module", "region", "dtype", "shape", "parents"};
  }
  if (kind == "layers") return {"layer_label", "type", "module", "region", "num_passes", "output"};
  if (kind == "modules") return {"address", "class_name", "num_calls", "num_params", "num_ops"};
  if (kind == "module_calls") return {"call_label", "class_name", "inputs", "outputs", "num_ops"};
  if (kind == "variables") return {"address", "name", "dtype", "shape", "reads", "writes"};
  if (kind == "regions") return {"path", "kind", "op"};
  if (kind == "timeline") return {"label", "type", "module", "thread", "start", "duration"};
  return {"label", "output_index", "dtype", "count", "min",     "max",
          "mean",  "std",          "zeros", "nan",   "pos_inf", "neg_inf"};
}

std::string TextOf(const flowscope::Table& table, std::string_view kind) {
  std::vector<TextColumn> titles;
  std::vector<const Column*> columns;
  for (const std::string_view name : ShownColumns(kind)) {
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

using MakeTable = flowscope::Table (*)(const flowscope::Trace&, OpIds);

Result<std::string> TableOf(const flowscope::Trace& trace, const OpFilter& filter, MakeTable make,
                            std::string_view kind) {
  const Result<library::FilteredOps> ops = library::OpsOf(trace, filter);
  if (!ops.ok()) return ops.status();
  std::string text = TextOf(make(trace, ops->ids), kind);
  if (ops->left_out > 0) {
    text += "... " + Counted(static_cast<int64_t>(ops->left_out), "more op") + "\n";
  }
  return text;
}

Result<std::string> JsonOf(const flowscope::Trace& trace, const OpFilter& filter, MakeTable make) {
  const Result<library::FilteredOps> ops = library::OpsOf(trace, filter);
  if (!ops.ok()) return ops.status();
  return library::Dump(library::RowsJson(make(trace, ops->ids)));
}

}  // namespace

Result<std::string> Trace::Table(std::string_view kind) const {
  const Result<flowscope::Table> table = TableOfKind(*trace_, kind);
  if (!table.ok()) return table.status();
  return TextOf(*table, kind);
}

Result<std::string> Trace::TableJson(std::string_view kind) const {
  const Result<flowscope::Table> table = TableOfKind(*trace_, kind);
  if (!table.ok()) return table.status();
  return library::Dump(library::RowsJson(*table));
}

Result<std::string> Trace::Ops(const OpFilter& filter) const {
  return TableOf(*trace_, filter, &OpTable, "ops");
}

Result<std::string> Trace::OpsJson(const OpFilter& filter) const {
  return JsonOf(*trace_, filter, &OpTable);
}

Result<std::string> Trace::Stats(const OpFilter& filter) const {
  return TableOf(*trace_, filter, &StatsTable, "stats");
}

Result<std::string> Trace::StatsJson(const OpFilter& filter) const {
  return JsonOf(*trace_, filter, &StatsTable);
}

std::string Trace::SummaryJson() const {
  const TraceInfo& info = trace_->info();
  Json outputs = Json::object();
  for (const auto& [path, value] : this->outputs()) {
    outputs[path] = library::ValueJson(value, kMostOutputValues);
  }
  const Json json = {{"name", info.name},
                     {"root_kind", info.root_kind},
                     {"recorder", info.recorder},
                     {"tensorflow", info.tensorflow_version},
                     {"num_ops", info.num_executed},
                     {"num_records", trace_->num_ops()},
                     {"num_modules", trace_->tables().modules.size()},
                     {"num_variables", trace_->tables().variables.size()},
                     {"duration_ms", static_cast<double>(info.duration_ns) / 1e6},
                     {"error", library::TextOrNull(info.error)},
                     {"degraded", library::TextOrNull(info.degraded)},
                     {"interrupted", info.interrupted},
                     {"notes", info.notes},
                     {"outputs", std::move(outputs)}};
  return library::Dump(json);
}

}  // namespace flowscope::api
