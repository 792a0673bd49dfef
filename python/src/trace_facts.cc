// What a Trace says of the recording as a whole.
#include "analyze/trace_facts.h"

#include <map>

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "records.h"
#include "trace_binding.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

// (parent's label or None, child's label, input index, edge class)
using Edge = std::tuple<std::optional<std::string>, std::string, uint32_t, std::string>;

std::optional<std::string> NotEmpty(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

template <typename Match>
std::vector<Op> OpsWhere(const TraceHandle& self, Match match) {
  std::vector<Op> ops;
  for (OpId id = 0; id < self.trace().num_ops(); ++id) {
    if (match(self.trace().op(id))) ops.emplace_back(self.object, id);
  }
  return ops;
}

std::vector<Op> InputsOf(const TraceHandle& self) {
  return OpsWhere(self, [](const OpRecord& op) { return op.kind == OpKind::kInput; });
}

std::vector<Op> SourcesOf(const TraceHandle& self) {
  return OpsWhere(self, [](const OpRecord& op) { return IsSourceOp(op.kind); });
}

std::vector<Op> OutputsOf(const TraceHandle& self) {
  std::vector<uint32_t> ids;
  for (const NamedTensor& output : self.trace().tables().outputs) {
    if (output.tensor == kNoId) continue;
    const OpId producer = self.trace().tensor(output.tensor).producer;
    if (producer != kNoId) ids.push_back(producer);
  }
  RemoveRepeats(ids);
  return MakeRecords<Op>(self.object, ids);
}

nb::list CompiledDifferencesOf(const TraceHandle& self) {
  nb::list rows;
  for (const CompiledDifference& difference : self.trace().tables().compiled_differences) {
    nb::dict row;
    row["call"] = self.trace().OpLabel(difference.call);
    row["output"] = difference.output;
    row["num_elements"] = difference.num_elements;
    row["num_different"] = difference.num_different;
    row["max_abs"] = difference.max_abs;
    row["max_rel"] = difference.max_rel;
    rows.append(row);
  }
  return rows;
}

std::vector<Edge> EdgesOf(const TraceHandle& self) {
  const Trace& trace = self.trace();
  std::vector<Edge> edges;
  edges.reserve(trace.tables().edges.size());
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const std::string child = trace.OpLabel(id);
    uint32_t index = 0;
    for (const EdgeRecord& edge : trace.inputs(id)) {
      const OpId parent = edge.tensor == kNoId ? kNoId : trace.tensor(edge.tensor).producer;
      std::optional<std::string> label;
      if (parent != kNoId) label = trace.OpLabel(parent);
      edges.emplace_back(std::move(label), child, index++,
                         std::string(EdgeClassName(edge.edge_class)));
    }
  }
  return edges;
}

int64_t CountExecuted(const Trace& trace) {
  int64_t count = 0;
  for (const OpRecord& op : trace.tables().ops) count += op.run_counter != 0 ? 1 : 0;
  return count;
}

std::map<std::string, int64_t> OpCounts(const TraceHandle& self) {
  std::map<std::string, int64_t> counts;
  for (const OpRecord& op : self.trace().tables().ops) {
    if (op.run_counter != 0) ++counts[std::string(self.trace().str(op.type))];
  }
  return counts;
}

nb::list OpaqueOps(const Trace& trace) {
  nb::list opaque;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    if (trace.op(id).opaque_reason == 0) continue;
    nb::dict entry;
    entry["label"] = trace.OpLabel(id);
    entry["type"] = std::string(trace.str(trace.op(id).type));
    entry["reason"] = std::string(trace.str(trace.op(id).opaque_reason));
    opaque.append(entry);
  }
  return opaque;
}

nb::dict CompletenessOf(const TraceHandle& self) {
  const Trace& trace = self.trace();
  const auto counts = trace.CountEdges();
  nb::dict edges;
  for (int i = 0; i < kNumEdgeClasses; ++i) {
    const std::string name(EdgeClassName(static_cast<EdgeClass>(i)));
    edges[nb::cast(name)] = counts[static_cast<size_t>(i)];
  }
  nb::dict facts;
  facts["recorder"] = trace.info().recorder;
  facts["asynchronous"] = trace.info().asynchronous;
  facts["executed"] = CountExecuted(trace);
  facts["edges"] = edges;
  facts["unexplained"] = counts[static_cast<size_t>(EdgeClass::kUnexplained)];
  facts["opaque"] = OpaqueOps(trace);
  facts["possible_origins"] = trace.tables().origins.size();
  facts["notes"] = trace.info().notes;
  return facts;
}

void DefInfo(nb::class_<TraceHandle>& type) {
  const auto text = [&type](const char* name, std::string TraceInfo::* field, const char* doc) {
    type.def_prop_ro(
        name, [field](const TraceHandle& self) { return self.trace().info().*field; }, doc);
  };
  text("name", &TraceInfo::name, "");
  text("root_kind", &TraceInfo::root_kind,
       "keras, tf_module, function, concrete_function, saved_model or block.");
  text("root_class", &TraceInfo::root_class, "Class of what was recorded.");
  text("recorder", &TraceInfo::recorder, "What recorded: hook or callbacks.");
  text("tensorflow_version", &TraceInfo::tensorflow_version, "");
  text("keras_version", &TraceInfo::keras_version, "");
  text("started_at", &TraceInfo::started_at, "ISO 8601, UTC.");
  type.def_prop_ro(
          "duration",
          [](const TraceHandle& self) { return Seconds(self.trace().info().duration_ns); },
          "Seconds.")
      .def_prop_ro(
          "degraded",
          [](const TraceHandle& self) { return NotEmpty(self.trace().info().degraded); },
          "Why later values became statistics; None where none did.")
      .def_prop_ro(
          "error", [](const TraceHandle& self) { return NotEmpty(self.trace().info().error); },
          "What the model raised; None where it did not.")
      .def_prop_ro("halted", [](const TraceHandle& self) { return self.trace().info().halted; })
      .def_prop_ro("interrupted",
                   [](const TraceHandle& self) { return self.trace().info().interrupted; })
      .def_prop_ro(
          "notes", [](const TraceHandle& self) { return self.trace().info().notes; },
          "What this recording could not see, one sentence each.")
      .def_prop_ro("compiled_differences", &CompiledDifferencesOf,
                   nb::sig("def compiled_differences(self) -> list[dict[str, typing.Any]]"),
                   "With compare_compiled=True, for each output of each call that was opened: how "
                   "far the compiled function's value is from it. Keys: call, output, "
                   "num_elements, num_different (bits), max_abs, max_rel.")
      .def_prop_ro("completeness", &CompletenessOf,
                   nb::sig("def completeness(self) -> dict[str, typing.Any]"),
                   "Inputs counted by where they come from, and what is not told: unexplained "
                   "inputs, opaque ops, notes.");
}

void DefCounts(nb::class_<TraceHandle>& type) {
  type.def_prop_ro(
          "num_ops", [](const TraceHandle& self) { return CountExecuted(self.trace()); },
          "Executed ops; sources are not counted.")
      .def_prop_ro("num_layers",
                   [](const TraceHandle& self) { return self.trace().tables().sites.size(); })
      .def_prop_ro("num_modules",
                   [](const TraceHandle& self) { return self.trace().tables().modules.size(); })
      .def_prop_ro(
          "num_params", [](const TraceHandle& self) { return CountParams(self.trace()).total; },
          "None where a variable's shape is unknown.")
      .def_prop_ro("num_trainable_params",
                   [](const TraceHandle& self) { return CountParams(self.trace()).trainable; })
      .def_prop_ro(
          "total_activation_memory",
          [](const TraceHandle& self) {
            return CountMemory(self.trace(), CostIndex(self.trace())).nbytes;
          },
          "Bytes of what ops computed: sources and variable accesses are not counted.")
      .def("op_counts", &OpCounts, "Executed ops by type.");
}

}  // namespace

bool IsSourceOp(OpKind kind) {
  switch (kind) {
    case OpKind::kInput:
    case OpKind::kConstant:
    case OpKind::kLiteralProducer:
    case OpKind::kRandom:
    case OpKind::kIterator:
    case OpKind::kFromPython:
    case OpKind::kVariableRead:
      return true;
    default:
      return false;
  }
}

void DefTraceFacts(nb::class_<TraceHandle>& type) {
  DefInfo(type);
  DefCounts(type);
  type.def_prop_ro("inputs", &InputsOf, "Arguments of the recorded call, as ops of kind input.")
      .def_prop_ro("outputs", &OutputsOf, "Ops that made what the recorded call returned.")
      .def_prop_ro("sources", &SourcesOf,
                   "Inputs, constants, literal producers, random ops, iterator elements, values "
                   "from Python and variable reads.")
      .def_prop_ro("edges", &EdgesOf,
                   "(parent's label, child's label, input index, edge class); the parent is None "
                   "for literals and handles.");
}

}  // namespace flowscope::python
