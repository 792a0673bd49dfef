// Trace: tables, keys and text. What is counted or computed stands in trace_facts.cc,
// trace_values.cc and trace_analysis.cc.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "accessor.h"
#include "analyze/summary.h"
#include "bindings.h"
#include "errors.h"
#include "record_values.h"
#include "records.h"
#include "selectors.h"
#include "tables.h"
#include "trace_binding.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

constexpr const char* kOutput = "_output";

constexpr RecordKind kKinds[] = {RecordKind::kOp,       RecordKind::kLayer,
                                 RecordKind::kModule,   RecordKind::kModuleCall,
                                 RecordKind::kVariable, RecordKind::kRegion};

nb::object AtPosition(const TraceHandle& self, int64_t index) {
  return MakeRecord(self.object, RecordKind::kOp,
                    CheckedIndex(index, self.trace().num_ops(), "ops"));
}

nb::object AtName(const TraceHandle& self, const std::string& key) {
  return MakeEntity(self.object, Unwrap(self.object->lookup().Find(key)));
}

std::vector<Op> AtSlice(const TraceHandle& self, const nb::slice& slice) {
  std::vector<Op> ops;
  const auto [start, stop, step, length] = slice.compute(self.trace().num_ops());
  for (size_t i = 0; i < length; ++i) {
    const Py_ssize_t at = start + static_cast<Py_ssize_t>(i) * step;
    ops.emplace_back(self.object, static_cast<OpId>(at));
  }
  return ops;
}

// Whatever is no position, slice or text.
nb::object AtOther(const TraceHandle&, const nb::object& key) {
  Check(InvalidArgument(fmt::format(
      "a {} is no key of a trace: give a position, a slice, or an address, label or alias as text, "
      "such as that of a layer in the model",
      nb::cast<std::string>(nb::str(nb::inst_name(key))))));
  return nb::none();
}

template <typename... Records>
bool IsOwnRecord(const TraceHandle& self, const nb::object& key) {
  return ((nb::isinstance<Records>(key) && nb::cast<const Records&>(key).owner == self.object) ||
          ...);
}

bool Contains(const TraceHandle& self, const nb::object& key) {
  if (IsOwnRecord<Op, Layer, Module, ModuleCall, Variable, Region>(self, key)) return true;
  if (!nb::isinstance<nb::str>(key)) return false;
  const std::string name = nb::cast<std::string>(key);
  for (const RecordKind kind : kKinds) {
    if (HasName(*self.object, kind, name)) return true;
  }
  return false;
}

nb::object Iterate(const TraceHandle& self) {
  return nb::iter(nb::cast(Accessor{self.object, RecordKind::kOp}));
}

std::string SummaryText(const TraceHandle& self, const SummaryOptions& options) {
  Result<std::string> text = std::string();
  {
    const nb::gil_scoped_release released;
    text = Summarize(self.trace(), options);
  }
  return Unwrap(std::move(text));
}

std::string Summary(const TraceHandle& self, std::string level, std::string view,
                    std::optional<int64_t> max_rows, std::optional<int64_t> depth,
                    bool fold_repeats) {
  SummaryOptions options;
  options.level = std::move(level);
  options.view = std::move(view);
  options.max_rows = max_rows.value_or(0);
  options.depth = depth.value_or(0);
  options.fold_repeats = fold_repeats;
  if (options.max_rows < 0 || options.depth < 0) {
    Check(InvalidArgument("max_rows and depth count rows and levels: None or 0 shows all"));
  }
  return SummaryText(self, options);
}

std::vector<Op> FindSites(const TraceHandle& self, nb::handle selector) {
  return MakeRecords<Op>(self.object, SelectOps(self.trace(), ToSelector(selector)));
}

void DefAccessors(nb::class_<TraceHandle>& type) {
  const auto def = [&type](const char* name, RecordKind kind, const char* doc) {
    type.def_prop_ro(
        name, [kind](const TraceHandle& self) { return Accessor{self.object, kind}; }, doc);
  };
  def("ops", RecordKind::kOp, "Every op and source, in the order in which they started.");
  def("layers", RecordKind::kLayer, "Every place in the code, with its passes.");
  def("modules", RecordKind::kModule, "Every module, those that did not run too.");
  def("module_calls", RecordKind::kModuleCall, "Every call of a module.");
  def("variables", RecordKind::kVariable, "Every variable, with its history.");
  def("regions", RecordKind::kRegion, "Function calls, iterations and branches.");
}

void DefContainer(nb::class_<TraceHandle>& type) {
  type.def("__len__", [](const TraceHandle& self) { return self.trace().num_ops(); })
      .def("__getitem__", &AtPosition, nb::arg("key"),
           nb::sig("def __getitem__(self, key: int, /) -> Op"))
      .def("__getitem__", &AtName, nb::arg("key"),
           nb::sig("def __getitem__(self, key: str, /) -> typing.Any"))
      .def("__getitem__", &AtSlice, nb::arg("key"),
           nb::sig("def __getitem__(self, key: slice, /) -> list[Op]"))
      .def("__getitem__", &AtOther, nb::arg("key").none(),
           nb::sig("def __getitem__(self, key: object, /) -> typing.Any"))
      .def("__contains__", &Contains, nb::arg("key").none(),
           nb::sig("def __contains__(self, key: object, /) -> bool"),
           "True for an exact label, address, alias or path, and for a record of this trace.")
      .def("__iter__", &Iterate, nb::sig("def __iter__(self) -> collections.abc.Iterator[Op]"))
      .def("_ipython_key_completions_",
           [](const TraceHandle& self) { return self.object->lookup().Keys(); });
}

void DefText(nb::class_<TraceHandle>& type) {
  type.def("__repr__", [](const TraceHandle& self) { return OneLine(self.trace()); })
      .def("__str__", [](const TraceHandle& self) { return SummaryText(self, {}); })
      .def("summary", &Summary, nb::arg("level") = "auto", nb::arg("view") = "overview",
           nb::arg("max_rows") = SummaryOptions().max_rows, nb::arg("depth") = nb::none(),
           nb::arg("fold_repeats") = true,
           "The run as text. level: auto, module, op; view: overview, compute; max_rows and depth: "
           "None for all.")
      .def(
          "to_pandas",
          [](const TraceHandle& self, const std::string& kind) {
            return ToPandas(NamedTable(self.trace(), kind));
          },
          nb::arg("kind") = "ops", nb::sig("def to_pandas(self, kind: str = 'ops') -> typing.Any"),
          "A pandas.DataFrame of ops, layers, modules, module_calls, variables or regions.")
      .def(
          "to_arrow",
          [](const TraceHandle& self, const std::string& kind) {
            return MakeTable(NamedTable(self.trace(), kind));
          },
          nb::arg("kind") = "ops",
          "The same for whatever reads the Arrow PyCapsule interface: pyarrow, polars, duckdb.")
      .def("find_sites", &FindSites, nb::arg("sites").none(),
           nb::sig("def find_sites(self, sites: typing.Any) -> list[Op]"),
           "Ops that a selector, address, label or glob means, in order of execution.");
}

nb::object OutputOf(nb::handle self) {
  nb::object live = nb::getattr(self, kOutput, nb::none());
  if (!live.is_none()) return live;
  if (nb::cast<const TraceHandle&>(self).trace().info().output_structure.empty()) return live;
  return nb::module_::import_("flowscope._outputs").attr("rebuild")(self);
}

// None where the tensor is a handle, or the recording does not know where it came from.
nb::object ReadOutput(const TraceHandle& self, const std::string& path) {
  const Trace& trace = self.trace();
  for (const NamedTensor& output : trace.tables().outputs) {
    if (trace.str(output.path) != path) continue;
    const bool has_value =
        output.tensor != kNoId && trace.tensor(output.tensor).state != PayloadState::kNoValue;
    if (!has_value) return nb::none();
    return ValueOf(trace, output.tensor, path);
  }
  Check(Corruption("the trace has no " + path + ", which the structure of its output names"));
  return nb::none();
}

void DefOutput(nb::class_<TraceHandle>& type) {
  type.def_prop_ro(
          "output", &OutputOf, nb::sig("def output(self) -> typing.Any"),
          "What the recorded call returned. Of a trace from a file: the same structure with NumPy\n"
          "arrays in place of tensors, fs.Parts for ragged, sparse and other composites, and\n"
          "fs.Described for what is no value.")
      .def_prop_ro("_output_structure",
                   [](const TraceHandle& self) { return self.trace().info().output_structure; })
      .def("_read_output", &ReadOutput, nb::arg("path"),
           nb::sig("def _read_output(self, path: str) -> numpy.ndarray | None"))
      .def(
          "_set_output",
          [](nb::handle self, nb::handle output) { nb::setattr(self, kOutput, output); },
          nb::arg("output").none())
      .def("_set_config_source", [](TraceHandle& self, nb::object source) {
        self.object->config_source = std::move(source);
      });
}

// A trace holds handles, and to let go of the last one of an iterator waits for threads that run
// Python: no GIL is held meanwhile, whoever drops the trace.
std::shared_ptr<const Trace> DroppedWithoutGil(std::shared_ptr<const Trace> trace) {
  const Trace* borrowed = trace.get();
  return {borrowed, [kept = std::move(trace)](const Trace*) mutable {
            if (Py_IsInitialized() == 0 || PyGILState_Check() == 0) return kept.reset();
            const nb::gil_scoped_release released;
            kept.reset();
          }};
}

}  // namespace

nb::object TraceToPython(std::shared_ptr<const Trace> trace) {
  return nb::cast(TraceHandle{std::make_shared<TraceObject>(DroppedWithoutGil(std::move(trace)))});
}

TracePtr TraceFromPython(nb::handle object) {
  if (!nb::isinstance<TraceHandle>(object)) return nullptr;
  return nb::cast<const TraceHandle&>(object).object;
}

void RegisterTrace(nb::module_& m) {
  RegisterNonFinite(m);
  RegisterValidationReport(m);
  nb::class_<TraceHandle> type(
      m, "Trace", nb::dynamic_attr(), nb::is_weak_referenceable(),
      "One recorded run.\n\n"
      "    >>> trace = fs.trace(model, x)\n"
      "    >>> print(trace)                     # layers, then what was counted\n"
      "    >>> trace[\"dense\"].out               # by address, label, alias or part of one\n"
      "    >>> trace.find_sites(fs.func(\"relu\"))\n"
      "    >>> trace.first_nonfinite()");
  DefAccessors(type);
  DefContainer(type);
  DefText(type);
  DefOutput(type);
  DefTraceFacts(type);
  DefTraceValues(type);
  DefTraceAnalysis(type);
  DefTraceStatus(type);
  DefTraceStore(type);
}

}  // namespace flowscope::python
