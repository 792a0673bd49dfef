// The columns of every table, each record's fields named once: what is created, written, read and
// hashed follows from these lists. A field that is added to a record and not named here fails the
// build at the end of this file.
#pragma once

#include <cstddef>
#include <type_traits>

#include "trace/trace.h"

namespace flowscope::store {

// A record of that type, constant when it is written.
template <typename R, typename Record>
concept Row = std::is_same_v<std::remove_const_t<R>, Record>;

// VisitFields(record, fields) calls `fields(name, field)` for each field in order.
template <Row<OpRecord> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("type", r.type);
  fields("name", r.name);
  fields("kind", r.kind);
  fields("run_counter", r.run_counter);
  fields("site", r.site);
  fields("pass", r.pass);
  fields("region", r.region);
  fields("module_call", r.module_call);
  fields("location", r.location);
  fields("device", r.device);
  fields("attrs", r.attrs);
  fields("inputs", r.inputs);
  fields("outputs", r.outputs);
  fields("thread", r.thread);
  fields("start_ns", r.start_ns);
  fields("duration_ns", r.duration_ns);
  fields("error", r.error);
  fields("opaque_reason", r.opaque_reason);
}

template <Row<EdgeRecord> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("tensor", r.tensor);
  fields("edge_class", r.edge_class);
  fields("handle", r.handle);
}

template <Row<TensorRecord> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("producer", r.producer);
  fields("output_index", r.output_index);
  fields("dtype", r.dtype);
  fields("shape", r.dims);
  fields("shape_known", r.shape_known);
  fields("nbytes", r.nbytes);
  fields("state", r.state);
  fields("handle", r.handle);
}

template <Row<SiteRecord> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("type", r.type);
  fields("region_path", r.region_path);
  fields("module_address", r.module_address);
  fields("nth", r.nth);
  fields("type_index", r.type_index);
  fields("ordinal", r.ordinal);
  fields("num_passes", r.num_passes);
}

template <Row<ModuleRecord> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("address", r.address);
  fields("addresses", r.addresses);
  fields("class_name", r.class_name);
  fields("name", r.name);
  fields("config", r.config);
  fields("parent", r.parent);
  fields("variables", r.variables);
  fields("num_params", r.num_params);
  fields("num_trainable_params", r.num_trainable_params);
}

template <Row<ModuleCallRecord> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("module", r.module);
  fields("call_index", r.call_index);
  fields("parent", r.parent);
  fields("region", r.region);
  fields("first_op", r.first_op);
  fields("end_op", r.end_op);
  fields("inputs", r.inputs);
  fields("outputs", r.outputs);
  fields("training", r.training);
  fields("kwargs", r.kwargs);
  fields("method", r.method);
  fields("start_ns", r.start_ns);
  fields("duration_ns", r.duration_ns);
  fields("failed", r.failed);
}

template <Row<RegionRecord> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("kind", r.kind);
  fields("parent", r.parent);
  fields("name", r.name);
  fields("number", r.index);
  fields("op", r.op);
  fields("predicate", r.predicate);
}

template <Row<LocationRecord> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("file", r.file);
  fields("line", r.line);
  fields("function", r.function);
  fields("text", r.text);
}

template <Row<VariableRecord> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("address", r.address);
  fields("addresses", r.addresses);
  fields("name", r.name);
  fields("key", r.key);
  fields("dtype", r.dtype);
  fields("shape", r.dims);
  fields("shape_known", r.shape_known);
  fields("module", r.module);
  fields("trainable", r.trainable);
}

template <Row<VersionRecord> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("variable", r.variable);
  fields("number", r.index);
  fields("value", r.value);
  fields("writer", r.writer);
}

template <Row<AccessRecord> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("op", r.op);
  fields("variable", r.variable);
  fields("version", r.version);
  fields("is_write", r.write);
}

template <Row<OriginRecord> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("op", r.op);
  fields("possible_origin", r.possible_origin);
}

template <Row<NamedTensor> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("path", r.path);
  fields("tensor", r.tensor);
}

template <Row<GradientRecord> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("op", r.op);
  fields("module", r.module);
}

template <Row<CompiledDifference> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("call", r.call);
  fields("output", r.output);
  fields("num_elements", r.num_elements);
  fields("num_different", r.num_different);
  fields("max_abs", r.max_abs);
  fields("max_rel", r.max_rel);
}

template <Row<FunctionRecord> R, typename Fields>
constexpr void VisitFields(R& r, Fields&& fields) {
  fields("name", r.name);
  fields("definition", r.definition);
}

// `table(name, rows)` for each table of records.
template <typename Tables, typename Visit>
constexpr void VisitTables(Tables& t, Visit&& table) {
  table("ops", t.ops);
  table("edges", t.edges);
  table("tensors", t.tensors);
  table("sites", t.sites);
  table("modules", t.modules);
  table("module_calls", t.module_calls);
  table("regions", t.regions);
  table("locations", t.locations);
  table("variables", t.variables);
  table("versions", t.versions);
  table("accesses", t.accesses);
  table("origins", t.origins);
  table("named_tensors", t.named_tensors);
  table("outputs", t.outputs);
  table("gradients", t.gradients);
  table("compiled_differences", t.compiled_differences);
  table("functions", t.functions);
}

// `field(key, value)` for what is told once of a trace.
template <typename Info, typename Visit>
constexpr void VisitInfo(Info& info, Visit&& field) {
  field("name", info.name);
  field("root_kind", info.root_kind);
  field("root_class", info.root_class);
  field("recorder", info.recorder);
  field("tensorflow_version", info.tensorflow_version);
  field("keras_version", info.keras_version);
  field("started_at", info.started_at);
  field("degraded", info.degraded);
  field("error", info.error);
  field("output_structure", info.output_structure);
  field("duration_ns", info.duration_ns);
  field("halted", info.halted);
  field("interrupted", info.interrupted);
  field("asynchronous", info.asynchronous);
  field("num_executed", info.num_executed);
}

namespace fields_check {

struct Anything {
  template <typename T>
  operator T() const;  // NOLINT: only named, never run
};

// Fields of an aggregate: the most initialisers that it takes.
template <typename T, typename... A>
constexpr size_t Count() {
  if constexpr (requires { T{A{}..., Anything{}}; }) {
    return Count<T, A..., Anything>();
  } else {
    return sizeof...(A);
  }
}

template <typename T>
constexpr size_t Visited() {
  T record{};
  size_t count = 0;
  VisitFields(record, [&count](const char*, const auto&) { ++count; });
  return count;
}

template <typename... T>
constexpr bool AllNamed() {
  return ((Count<T>() == Visited<T>()) && ...);
}

static_assert(
    AllNamed<OpRecord, EdgeRecord, TensorRecord, SiteRecord, ModuleRecord, ModuleCallRecord,
             RegionRecord, LocationRecord, VariableRecord, VersionRecord, AccessRecord,
             OriginRecord, NamedTensor, GradientRecord, CompiledDifference, FunctionRecord>(),
    "a record has a field that VisitFields does not name: it would be lost on disk");
static_assert(Count<TraceInfo>() == 16,
              "a fact of TraceInfo is not named in VisitInfo (notes is "
              "a table of its own): it would be lost on disk");

}  // namespace fields_check

}  // namespace flowscope::store
