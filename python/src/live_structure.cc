// The structure of a model in memory, from what python/flowscope/_live_structure.py found out.
#include "library/live_structure.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "body_origins.h"
#include "errors.h"
#include "frames.h"
#include "trace_binding.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace flowscope::python {
namespace {

using library::LiveGraph;
using Names = std::vector<std::string>;
// addresses, class, name, configuration, parent or -1, parameters, trainable ones
using ModuleRow =
    std::tuple<Names, std::string, std::string, std::string, int64_t, int64_t, int64_t>;
// node, addresses, name, trainable, module or -1, dtype, dimensions
using VariableRow =
    std::tuple<std::string, Names, std::string, bool, int64_t, int, std::optional<Dims>>;
// node, path, dtype, dimensions
using ValueRow = std::tuple<std::string, std::string, int, std::optional<Dims>>;
// path, node, output index
using OutputRow = std::tuple<std::string, std::string, uint32_t>;

template <typename T>
T Get(const nb::dict& facts, const char* key) {
  return nb::cast<T>(facts[key]);
}

uint32_t IdOf(int64_t number) { return number < 0 ? kNoId : static_cast<uint32_t>(number); }

std::vector<LiveGraph::Value> ValuesFrom(const std::vector<ValueRow>& rows) {
  std::vector<LiveGraph::Value> values;
  for (const auto& [node, path, dtype, dims] : rows) {
    values.push_back({node, path, static_cast<DType>(dtype), dims});
  }
  return values;
}

LiveGraph GraphFrom(const nb::bytes& graph_def, const nb::dict& facts) {
  LiveGraph graph;
  graph.graph_def.assign(graph_def.c_str(), graph_def.size());
  graph.name = Get<std::string>(facts, "name");
  graph.root_kind = Get<std::string>(facts, "root_kind");
  graph.root_class = Get<std::string>(facts, "root_class");
  graph.keras_version = Get<std::string>(facts, "keras_version");
  graph.notes = Get<Names>(facts, "notes");
  graph.open_functions = Get<bool>(facts, "open_functions");
  for (auto& [addresses, class_name, name, config, parent, params, trainable] :
       Get<std::vector<ModuleRow>>(facts, "modules")) {
    graph.modules.push_back({addresses, class_name, name, config, IdOf(parent), params, trainable});
  }
  for (auto& [node, addresses, name, trainable, module, dtype, dims] :
       Get<std::vector<VariableRow>>(facts, "variables")) {
    graph.variables.push_back(
        {node, addresses, name, trainable, IdOf(module), static_cast<DType>(dtype), dims});
  }
  graph.inputs = ValuesFrom(Get<std::vector<ValueRow>>(facts, "inputs"));
  graph.captured = ValuesFrom(Get<std::vector<ValueRow>>(facts, "captured"));
  for (auto& [path, node, index] : Get<std::vector<OutputRow>>(facts, "outputs")) {
    graph.outputs.push_back({path, node, index});
  }
  return graph;
}

// Lines by number, as they are met.
class Lines : public FrameSites {
 public:
  Lines() : FrameSites({}) {}
  LocationId Add(const capture::CallSite& site) override {
    const LocationId key = FrameSites::Add(site);
    count_ = std::max(count_, key + 1);
    return key;
  }
  std::vector<capture::CallSite> All() {
    std::vector<capture::CallSite> sites;
    for (LocationId key = 0; key < count_; ++key) sites.push_back(Resolve(key));
    return sites;
  }

 private:
  LocationId count_ = 0;
};

// What was found out before the walk, by function.
class KnownOrigins : public capture::BodyOriginProvider {
 public:
  std::map<std::string, std::shared_ptr<const capture::BodyOrigins>> by_function;

  std::shared_ptr<const capture::BodyOrigins> Of(const std::string& function) override {
    const auto found = by_function.find(function);
    return found == by_function.end() ? nullptr : found->second;
  }
};

nb::object StructureOfGraph(const nb::bytes& graph_def, const nb::dict& facts,
                            const nb::dict& origins) {
  const LiveGraph graph = GraphFrom(graph_def, facts);
  Lines lines;
  auto known = std::make_shared<KnownOrigins>();
  for (auto [function, answer] : origins) {
    known->by_function.emplace(nb::cast<std::string>(function),
                               OriginsFrom(nb::borrow(answer), lines));
  }
  const std::vector<capture::CallSite> sites = lines.All();
  Result<std::shared_ptr<const Trace>> trace = [&] {
    const nb::gil_scoped_release nogil;
    return library::StructureOf(graph, std::move(known), sites);
  }();
  return TraceToPython(Unwrap(std::move(trace)));
}

}  // namespace

void RegisterLiveStructure(nb::module_& m) {
  m.def("live_structure", &StructureOfGraph, "graph_def"_a, "facts"_a, "origins"_a,
        nb::sig("def live_structure(graph_def: bytes, facts: dict, origins: dict) -> Trace"));
}

}  // namespace flowscope::python
