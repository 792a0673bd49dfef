// Region: a function call, a loop iteration, a branch.
#include <fmt/format.h>

#include "analyze/text.h"
#include "records.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

bool IsInside(const Trace& trace, RegionId id, RegionId ancestor) {
  for (; id != kNoId; id = trace.region(id).parent) {
    if (id == ancestor) return true;
  }
  return false;
}

std::vector<Op> OpsOf(const Region& region) {
  std::vector<uint32_t> ids;
  for (OpId op = 0; op < region.trace().num_ops(); ++op) {
    if (IsInside(region.trace(), region.trace().op(op).region, region.id)) ids.push_back(op);
  }
  return MakeRecords<Op>(region.owner, ids);
}

std::vector<Region> ChildrenOf(const Region& region) {
  std::vector<uint32_t> ids;
  const auto& regions = region.trace().tables().regions;
  for (RegionId id = 0; id < regions.size(); ++id) {
    if (regions[id].parent == region.id) ids.push_back(id);
  }
  return MakeRecords<Region>(region.owner, ids);
}

std::string DescribeRegion(const Region& region) {
  const std::string path = region.trace().RegionPath(region.id);
  return fmt::format("{} region {}, {}", RegionKindName(region.row().kind),
                     path.empty() ? "(root)" : path,
                     Counted(static_cast<int64_t>(OpsOf(region).size()), "op"));
}

}  // namespace

void RegisterRegion(nb::module_& m) {
  nb::class_<Region> type(m, "Region",
                          "A function call, a loop iteration or a branch.\n\n"
                          "    >>> op.region.kind, op.region.path, op.region.index");
  DefIdentity(type, &DescribeRegion);
  type.def_prop_ro(
          "kind",
          [](const Region& region) { return std::string(RegionKindName(region.row().kind)); },
          "root, function, iteration, branch, backward or tracing.")
      .def_prop_ro(
          "name",
          [](const Region& region) { return std::string(region.trace().str(region.row().name)); },
          "Of a function, its name; of a branch, which.")
      .def_prop_ro(
          "path", [](const Region& region) { return region.trace().RegionPath(region.id); },
          "From the root, such as \"f/while[3]/cond:true\"; empty for the root.")
      .def_prop_ro(
          "index", [](const Region& region) { return region.row().index; },
          "Number of the iteration or branch, from 0.")
      .def_prop_ro("parent",
                   [](const Region& region) {
                     return RecordOrNone<Region>(region.owner, region.row().parent);
                   })
      .def_prop_ro("children", &ChildrenOf)
      .def_prop_ro(
          "predicate",
          [](const Region& region) { return ScalarOf(region.trace(), region.row().predicate); },
          nb::sig("def predicate(self) -> typing.Any"),
          "The value that chose this branch or iteration; None where there is none.")
      .def_prop_ro(
          "op",
          [](const Region& region) { return RecordOrNone<Op>(region.owner, region.row().op); },
          "The op that opened it.")
      .def_prop_ro("ops", &OpsOf, "Ops inside, those of regions inside included.");
}

}  // namespace flowscope::python
