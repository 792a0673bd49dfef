// Tables of values, of times and of regions.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/table_columns.h"
#include "analyze/tables.h"
#include "base/stats.h"

namespace flowscope {
namespace {

// One output of one op, with its statistics where they can be had.
struct StatsRow {
  OpId op;
  uint32_t index;
  std::optional<Stats> stats;
};

std::optional<Stats> StatsOfTensor(const Trace& trace, TensorId id) {
  if (auto stored = trace.StoredStats(id)) return stored;
  if (trace.tensor(id).state != PayloadState::kKept) return std::nullopt;
  const Result<Payload> payload = trace.ReadTensor(id);
  if (!payload.ok()) return std::nullopt;
  return ComputeStats(*payload, /*threads=*/0, /*histogram=*/false);
}

std::vector<StatsRow> StatsRows(const Trace& trace, OpIds ids) {
  std::vector<StatsRow> rows;
  for (const OpId op : ids) {
    for (uint32_t index = 0; index < trace.op(op).outputs.count; ++index) {
      rows.push_back({op, index, StatsOfTensor(trace, trace.output(op, index))});
    }
  }
  return rows;
}

void AddStatsNames(const Trace& trace, const std::vector<StatsRow>& rows, Table& table) {
  using Text = std::optional<std::string>;
  const size_t n = rows.size();
  table.columns.push_back(
      StringColumn("label", n, [&](size_t i) { return Text(trace.OpLabel(rows[i].op)); }));
  table.columns.push_back(StringColumn(
      "type", n, [&](size_t i) { return Text(trace.str(trace.op(rows[i].op).type)); }));
  table.columns.push_back(StringColumn(
      "kind", n, [&](size_t i) { return Text(OpKindName(trace.op(rows[i].op).kind)); }));
  table.columns.push_back(
      StringColumn("module", n, [&](size_t i) { return Text(trace.ModuleAddress(rows[i].op)); }));
  table.columns.push_back(IntColumn(
      "output_index", n, [&](size_t i) { return std::optional<int64_t>(rows[i].index); }));
  table.columns.push_back(StringColumn("dtype", n, [&](size_t i) {
    return Text(DTypeName(trace.tensor(trace.output(rows[i].op, rows[i].index)).dtype));
  }));
}

void AddCount(std::string name, const std::vector<StatsRow>& rows, int64_t Stats::* count,
              Table& table) {
  table.columns.push_back(IntColumn(std::move(name), rows.size(), [&](size_t i) {
    const std::optional<Stats>& stats = rows[i].stats;
    const bool meant = stats && (stats->numeric || count == &Stats::count);
    return meant ? std::optional<int64_t>((*stats).*count) : std::nullopt;
  }));
}

// Null where no element is finite.
void AddMoment(std::string name, const std::vector<StatsRow>& rows, double Stats::* moment,
               Table& table) {
  table.columns.push_back(DoubleColumn(std::move(name), rows.size(), [&](size_t i) {
    const std::optional<Stats>& stats = rows[i].stats;
    const bool meant = stats && stats->numeric && stats->finite() > 0;
    return meant ? std::optional<double>((*stats).*moment) : std::nullopt;
  }));
}

}  // namespace

Table StatsTable(const Trace& trace, OpIds ids) {
  const std::vector<StatsRow> rows = StatsRows(trace, ids);
  Table table;
  AddStatsNames(trace, rows, table);
  AddCount("count", rows, &Stats::count, table);
  AddMoment("min", rows, &Stats::min, table);
  AddMoment("max", rows, &Stats::max, table);
  AddMoment("mean", rows, &Stats::mean, table);
  AddMoment("std", rows, &Stats::std, table);
  AddCount("zeros", rows, &Stats::zeros, table);
  AddCount("nan", rows, &Stats::nan, table);
  AddCount("pos_inf", rows, &Stats::pos_inf, table);
  AddCount("neg_inf", rows, &Stats::neg_inf, table);
  return table;
}

Table StatsTable(const Trace& trace) { return StatsTable(trace, AllOps(trace)); }

Table TimelineTable(const Trace& trace) {
  using Text = std::optional<std::string>;
  std::vector<OpId> ops;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    if (trace.op(id).run_counter != 0) ops.push_back(id);
  }
  const size_t n = ops.size();
  Table table;
  table.columns.push_back(
      StringColumn("label", n, [&](size_t i) { return Text(trace.OpLabel(ops[i])); }));
  table.columns.push_back(
      StringColumn("type", n, [&](size_t i) { return Text(trace.str(trace.op(ops[i]).type)); }));
  table.columns.push_back(
      StringColumn("module", n, [&](size_t i) { return Text(trace.ModuleAddress(ops[i])); }));
  table.columns.push_back(IntColumn(
      "thread", n, [&](size_t i) { return std::optional<int64_t>(trace.op(ops[i]).thread); }));
  table.columns.push_back(DoubleColumn("start", n, [&](size_t i) {
    return std::optional<double>(static_cast<double>(trace.op(ops[i]).start_ns) * 1e-9);
  }));
  table.columns.push_back(DoubleColumn("duration", n, [&](size_t i) {
    return std::optional<double>(static_cast<double>(trace.op(ops[i]).duration_ns) * 1e-9);
  }));
  return table;
}

Table RegionTable(const Trace& trace) {
  using Text = std::optional<std::string>;
  const size_t n = trace.tables().regions.size();
  Table table;
  table.columns.push_back(
      StringColumn("path", n, [&](RegionId id) { return Text(trace.RegionPath(id)); }));
  table.columns.push_back(StringColumn(
      "kind", n, [&](RegionId id) { return Text(RegionKindName(trace.region(id).kind)); }));
  table.columns.push_back(
      StringColumn("name", n, [&](RegionId id) { return Text(trace.str(trace.region(id).name)); }));
  table.columns.push_back(IntColumn(
      "index", n, [&](RegionId id) { return std::optional<int64_t>(trace.region(id).index); }));
  table.columns.push_back(StringColumn("op", n, [&](RegionId id) {
    const OpId op = trace.region(id).op;
    return op == kNoId ? std::nullopt : Text(trace.OpLabel(op));
  }));
  return table;
}

}  // namespace flowscope
