// Tables of ops and of layers (the sites of ops).
#include <numeric>
#include <string>

#include "analyze/cost.h"
#include "analyze/table_columns.h"
#include "analyze/tables.h"
#include "analyze/text.h"
#include "analyze/trace_facts.h"

namespace flowscope {
namespace {

using OptionalString = std::optional<std::string>;
using OptionalInt = std::optional<int64_t>;
using OptionalDouble = std::optional<double>;

double Microseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

const TensorRecord* FirstOutput(const Trace& trace, OpId id) {
  return trace.op(id).outputs.count == 0 ? nullptr : &trace.tensor(trace.output(id));
}

const LocationRecord* LocationOf(const Trace& trace, OpId id) {
  const LocationId location = trace.op(id).location;
  return location == kNoId ? nullptr : &trace.tables().locations[location];
}

OptionalString ShapeCell(const Trace& trace, OpId id) {
  const TensorRecord* output = FirstOutput(trace, id);
  if (output == nullptr) return std::nullopt;
  const auto& dims = trace.dims(output->dims);
  if (!output->shape_known && dims.empty()) return std::nullopt;
  return TupleText(dims);
}

OptionalString DTypeCell(const Trace& trace, OpId id) {
  const TensorRecord* output = FirstOutput(trace, id);
  return output == nullptr ? std::nullopt : OptionalString(DTypeName(output->dtype));
}

OptionalInt BytesOfOutputs(const Trace& trace, OpId id) {
  int64_t nbytes = 0;
  for (uint32_t i = 0; i < trace.op(id).outputs.count; ++i) {
    nbytes += trace.tensor(trace.output(id, i)).nbytes;
  }
  return nbytes;
}

OptionalString PayloadCell(const Trace& trace, OpId id) {
  const TensorRecord* output = FirstOutput(trace, id);
  return output == nullptr ? std::nullopt : OptionalString(PayloadStateName(output->state));
}

OptionalString ParentLabels(const Trace& trace, OpId id) {
  std::vector<std::string> labels;
  for (const OpId parent : trace.Parents(id)) labels.push_back(trace.OpLabel(parent));
  return JoinParts(labels, ", ");
}

void AddNames(const Trace& trace, OpIds ids, Table& table) {
  const size_t rows = ids.size();
  table.columns.push_back(StringColumn(
      "label", rows, About(ids, [&](OpId id) { return OptionalString(trace.OpLabel(id)); })));
  table.columns.push_back(StringColumn("layer_label", rows, About(ids, [&](OpId id) {
                                         return OptionalString(trace.LayerLabel(trace.op(id).site));
                                       })));
  table.columns.push_back(StringColumn("label_short", rows, About(ids, [&](OpId id) {
                                         return OptionalString(trace.OpLabelShort(id));
                                       })));
  table.columns.push_back(StringColumn("type", rows, About(ids, [&](OpId id) {
                                         return OptionalString(trace.str(trace.op(id).type));
                                       })));
  table.columns.push_back(StringColumn("kind", rows, About(ids, [&](OpId id) {
                                         return OptionalString(OpKindName(trace.op(id).kind));
                                       })));
  table.columns.push_back(StringColumn("module", rows, About(ids, [&](OpId id) {
                                         return OptionalString(trace.ModuleAddress(id));
                                       })));
  table.columns.push_back(StringColumn(
      "region", rows,
      About(ids, [&](OpId id) { return OptionalString(trace.RegionPath(trace.op(id).region)); })));
}

void AddPasses(const Trace& trace, OpIds ids, Table& table) {
  const size_t rows = ids.size();
  table.columns.push_back(
      IntColumn("pass", rows, About(ids, [&](OpId id) { return OptionalInt(trace.op(id).pass); })));
  table.columns.push_back(IntColumn("num_passes", rows, About(ids, [&](OpId id) {
                                      return OptionalInt(trace.site(trace.op(id).site).num_passes);
                                    })));
}

void AddOutputs(const Trace& trace, OpIds ids, Table& table) {
  const size_t rows = ids.size();
  table.columns.push_back(IntColumn("num_outputs", rows, About(ids, [&](OpId id) {
                                      return OptionalInt(trace.op(id).outputs.count);
                                    })));
  table.columns.push_back(
      StringColumn("shape", rows, About(ids, [&](OpId id) { return ShapeCell(trace, id); })));
  table.columns.push_back(
      StringColumn("dtype", rows, About(ids, [&](OpId id) { return DTypeCell(trace, id); })));
  table.columns.push_back(
      IntColumn("nbytes", rows, About(ids, [&](OpId id) { return BytesOfOutputs(trace, id); })));
  table.columns.push_back(
      StringColumn("payload", rows, About(ids, [&](OpId id) { return PayloadCell(trace, id); })));
}

void AddGraph(const Trace& trace, OpIds ids, Table& table) {
  const size_t rows = ids.size();
  table.columns.push_back(
      StringColumn("parents", rows, About(ids, [&](OpId id) { return ParentLabels(trace, id); })));
  table.columns.push_back(IntColumn("num_parents", rows, About(ids, [&](OpId id) {
                                      return OptionalInt(
                                          static_cast<int64_t>(trace.Parents(id).size()));
                                    })));
  table.columns.push_back(IntColumn("num_children", rows, About(ids, [&](OpId id) {
                                      return OptionalInt(
                                          static_cast<int64_t>(trace.Children(id).size()));
                                    })));
}

void AddLocations(const Trace& trace, OpIds ids, Table& table) {
  const size_t rows = ids.size();
  table.columns.push_back(StringColumn("file", rows, About(ids, [&](OpId id) {
                                         const LocationRecord* location = LocationOf(trace, id);
                                         return location == nullptr
                                                    ? std::nullopt
                                                    : OrNull(trace.str(location->file));
                                       })));
  table.columns.push_back(IntColumn("line", rows, About(ids, [&](OpId id) {
                                      const LocationRecord* location = LocationOf(trace, id);
                                      return location == nullptr ? std::nullopt
                                                                 : OptionalInt(location->line);
                                    })));
  table.columns.push_back(StringColumn("function", rows, About(ids, [&](OpId id) {
                                         const LocationRecord* location = LocationOf(trace, id);
                                         return location == nullptr
                                                    ? std::nullopt
                                                    : OrNull(trace.str(location->function));
                                       })));
}

void AddRun(const Trace& trace, OpIds ids, Table& table) {
  const size_t rows = ids.size();
  const CostIndex costs(trace);
  table.columns.push_back(
      IntColumn("flops", rows, About(ids, [&](OpId id) { return costs.Flops(id); })));
  table.columns.push_back(DoubleColumn("duration_us", rows, About(ids, [&](OpId id) {
                                         const OpRecord& op = trace.op(id);
                                         return IsSource(op.kind)
                                                    ? std::nullopt
                                                    : OptionalDouble(Microseconds(op.duration_ns));
                                       })));
  table.columns.push_back(IntColumn("run_counter", rows, About(ids, [&](OpId id) {
                                      const uint32_t counter = trace.op(id).run_counter;
                                      return counter == 0 ? std::nullopt : OptionalInt(counter);
                                    })));
  table.columns.push_back(StringColumn(
      "device", rows, About(ids, [&](OpId id) { return OrNull(trace.str(trace.op(id).device)); })));
  table.columns.push_back(StringColumn("opaque_reason", rows, About(ids, [&](OpId id) {
                                         return OrNull(trace.str(trace.op(id).opaque_reason));
                                       })));
  table.columns.push_back(StringColumn(
      "error", rows, About(ids, [&](OpId id) { return OrNull(trace.str(trace.op(id).error)); })));
}

std::string SiteOutput(const Trace& trace, SiteId site) {
  MergedShape merged;
  for (const OpId id : trace.OpsOfSite(site)) {
    if (trace.op(id).outputs.count > 0) merged.Add(trace, trace.output(id));
  }
  return merged.ToString(1);
}

// Sums over the passes of every site, in one pass over the ops.
struct SiteSums {
  std::vector<Cost> costs;
  std::vector<int64_t> nbytes;
  std::vector<int64_t> durations_ns;
};

SiteSums SumSites(const Trace& trace) {
  const size_t count = trace.tables().sites.size();
  SiteSums sums{std::vector<Cost>(count), std::vector<int64_t>(count), std::vector<int64_t>(count)};
  const CostIndex costs(trace);
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const SiteId site = trace.op(id).site;
    sums.costs[site] += costs.OfOp(id);
    sums.nbytes[site] += *BytesOfOutputs(trace, id);
    sums.durations_ns[site] += trace.op(id).duration_ns;
  }
  return sums;
}

void AddSites(const Trace& trace, Table& table) {
  const size_t rows = trace.tables().sites.size();
  table.columns.push_back(StringColumn(
      "layer_label", rows, [&](SiteId id) { return OptionalString(trace.LayerLabel(id)); }));
  table.columns.push_back(StringColumn(
      "label_short", rows, [&](SiteId id) { return OptionalString(trace.LayerLabelShort(id)); }));
  table.columns.push_back(StringColumn(
      "type", rows, [&](SiteId id) { return OptionalString(trace.str(trace.site(id).type)); }));
  table.columns.push_back(StringColumn("module", rows, [&](SiteId id) {
    return OptionalString(trace.str(trace.site(id).module_address));
  }));
  table.columns.push_back(StringColumn("region", rows, [&](SiteId id) {
    return OptionalString(trace.str(trace.site(id).region_path));
  }));
  table.columns.push_back(IntColumn("num_passes", rows, [&](SiteId id) {
    return OptionalInt(static_cast<int64_t>(trace.OpsOfSite(id).size()));
  }));
  table.columns.push_back(StringColumn(
      "output", rows, [&](SiteId id) { return OptionalString(SiteOutput(trace, id)); }));
}

}  // namespace

std::vector<OpId> AllOps(const Trace& trace) {
  std::vector<OpId> ids(trace.num_ops());
  std::iota(ids.begin(), ids.end(), OpId{0});
  return ids;
}

Table OpTable(const Trace& trace, OpIds ids) {
  Table table;
  AddNames(trace, ids, table);
  AddPasses(trace, ids, table);
  AddOutputs(trace, ids, table);
  AddGraph(trace, ids, table);
  AddLocations(trace, ids, table);
  AddRun(trace, ids, table);
  return table;
}

Table OpTable(const Trace& trace) { return OpTable(trace, AllOps(trace)); }

Table LayerTable(const Trace& trace) {
  Table table;
  AddSites(trace, table);
  const SiteSums sums = SumSites(trace);
  const size_t rows = trace.tables().sites.size();
  table.columns.push_back(
      IntColumn("nbytes", rows, [&](SiteId id) { return OptionalInt(sums.nbytes[id]); }));
  table.columns.push_back(IntColumn("flops", rows, [&](SiteId id) {
    const Cost& cost = sums.costs[id];
    return cost.ops_without_formula > 0 ? std::nullopt : OptionalInt(cost.flops);
  }));
  table.columns.push_back(DoubleColumn("duration_us", rows, [&](SiteId id) {
    return OptionalDouble(Microseconds(sums.durations_ns[id]));
  }));
  return table;
}

}  // namespace flowscope
