#include "body_origins.h"

#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "errors.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

using Paths = std::vector<std::pair<std::string, uint32_t>>;
// module number or -1, region kind, region name, parent, method, training, kwargs, inputs, outputs
using CallRow = std::tuple<int64_t, std::string, std::string, int64_t, std::string, std::string,
                           std::string, Paths, Paths>;
// node, call, line, call that it is the gradient of (each -1: none), whether of a backward pass
using NodeRow = std::tuple<std::string, int64_t, int64_t, int64_t, bool>;
// node (empty: argument), output index or argument number
using GivenRow = std::pair<std::string, uint32_t>;
// node that comes after it (empty: the end), call
using SilentRow = std::pair<std::string, uint32_t>;
// file, line, function
using SiteRow = std::tuple<std::string, uint32_t, std::string>;

uint32_t IdOf(int64_t number) { return number < 0 ? kNoId : static_cast<uint32_t>(number); }

capture::BodyCall CallFrom(const CallRow& row) {
  const auto& [module, kind, name, parent, method, training, kwargs, inputs, outputs] = row;
  capture::BodyCall call;
  call.module = IdOf(module);
  call.region_kind = kind == "backward" ? RegionKind::kBackward : RegionKind::kFunction;
  call.name = name;
  call.parent = IdOf(parent);
  call.method = method;
  call.training = training;
  call.kwargs = kwargs;
  call.inputs = inputs;
  call.outputs = outputs;
  return call;
}

void AddValues(const std::vector<GivenRow>& rows, capture::BodyOrigins& origins) {
  for (const auto& [node, index] : rows) {
    auto& of = node.empty() ? origins.values_of_arguments : origins.values_of_node[node];
    of.emplace_back(index, origins.num_values++);
  }
}

std::vector<LocationId> AddSites(const std::vector<SiteRow>& rows,
                                 capture::CallSiteProvider& sites) {
  std::vector<LocationId> keys;
  for (const auto& [file, line, function] : rows) {
    capture::CallSite site;
    site.file = file;
    site.line = line;
    site.function = function;
    keys.push_back(sites.Add(site));
  }
  return keys;
}

}  // namespace

std::shared_ptr<const capture::BodyOrigins> OriginsFrom(const nb::object& answer,
                                                        capture::CallSiteProvider& sites) {
  if (nb::isinstance<FoundOrigins>(answer)) return nb::cast<const FoundOrigins&>(answer).origins;
  const auto [calls, nodes, values, lines, silent] =
      nb::cast<std::tuple<std::vector<CallRow>, std::vector<NodeRow>, std::vector<GivenRow>,
                          std::vector<SiteRow>, std::vector<SilentRow>>>(answer);
  auto origins = std::make_shared<capture::BodyOrigins>();
  for (const CallRow& row : calls) origins->calls.push_back(CallFrom(row));
  AddValues(values, *origins);
  for (const auto& [node, call] : silent) origins->silent_calls[node].push_back(call);
  const std::vector<LocationId> keys = AddSites(lines, sites);
  for (const auto& [name, call, line, gradient_of, backward] : nodes) {
    origins->nodes[name] = {IdOf(call), line < 0 ? kNoId : keys.at(static_cast<size_t>(line)),
                            IdOf(gradient_of), backward};
  }
  return origins;
}

PythonBodyOrigins::PythonBodyOrigins(nb::object describe,
                                     std::shared_ptr<capture::CallSiteProvider> sites)
    : describe_(std::move(describe)), sites_(std::move(sites)) {}

PythonBodyOrigins::~PythonBodyOrigins() {
  if (!Py_IsInitialized()) {
    describe_.release();
    return;
  }
  const nb::gil_scoped_acquire gil;
  describe_.reset();
}

std::shared_ptr<const capture::BodyOrigins> PythonBodyOrigins::Of(const std::string& function) {
  const nb::gil_scoped_acquire gil;
  try {
    const nb::object answer = describe_(function);
    return answer.is_none() ? nullptr : OriginsFrom(answer, *sites_);
  } catch (nb::python_error& error) {
    if (!PassOnInterrupt(error)) {
      error.discard_as_unraisable("flowscope: who asked for the ops of a function");
    }
  } catch (const std::exception&) {
    return nullptr;
  }
  return nullptr;
}

}  // namespace flowscope::python
