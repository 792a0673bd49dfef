// Saving and loading traces.
#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "analyze/tables.h"
#include "bindings.h"
#include "errors.h"
#include "export/export.h"
#include "export/new_file.h"
#include "selectors.h"
#include "store/reader.h"
#include "store/sqlite.h"
#include "store/writer.h"
#include "tables.h"
#include "trace_binding.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

// Which values `save=` leaves: of the ops that ran, those that it selects. What was there before
// the run, sources, literals and variables, stays, as in a recording.
std::vector<bool> Selected(const Trace& trace, nb::handle save) {
  const bool text = nb::isinstance<nb::str>(save);
  if (text && nb::cast<std::string>(save) == "all") return {};
  const bool none = save.is_none() || (text && nb::cast<std::string>(save) == "none") ||
                    (PyList_Check(save.ptr()) && nb::len(save) == 0);
  std::vector<bool> selected(trace.num_ops());
  if (!none) {
    for (const OpId id : SelectOps(trace, ToSelector(save))) selected[id] = true;
  }
  std::vector<bool> keep(trace.tables().tensors.size(), true);
  for (TensorId id = 0; id < keep.size(); ++id) {
    const OpId producer = trace.tensor(id).producer;
    keep[id] = producer == kNoId || trace.op(producer).run_counter == 0 || selected[producer];
  }
  return keep;
}

// A layer tells its configuration when it is asked; the file cannot ask later.
std::vector<std::string> ConfigsOf(const TraceObject& object) {
  std::vector<std::string> configs;
  if (!object.config_source.is_valid()) return configs;
  const Trace& trace = *object.trace;
  for (ModuleId id = 0; id < trace.tables().modules.size(); ++id) {
    const StringId known = trace.module(id).config;
    configs.push_back(known != 0 ? std::string(trace.str(known))
                                 : nb::cast<std::string>(object.config_source(id)));
  }
  return configs;
}

// The bytes that the system knows the file by, which need not be text.
std::string PathText(nb::handle path) {
  const auto bytes = nb::cast<nb::bytes>(nb::module_::import_("os").attr("fsencode")(path));
  std::string text(bytes.c_str(), bytes.size());
  if (text.find('\0') != std::string::npos) {
    Check(InvalidArgument("no file has a NUL character in its path: " +
                          nb::cast<std::string>(nb::repr(path))));
  }
  return text;
}

bool Compresses(nb::handle compress) {
  if (compress.is_none()) return false;
  if (nb::isinstance<nb::str>(compress) && nb::cast<std::string>(compress) == "zstd") return true;
  Check(InvalidArgument("compress=" + nb::cast<std::string>(nb::repr(compress)) +
                        " is not known; expected None or 'zstd'"));
  return false;
}

void Save(const TraceHandle& self, nb::handle path, nb::handle save, nb::handle compress,
          bool overwrite) {
  store::SaveOptions options;
  options.keep = Selected(self.trace(), save);
  options.module_configs = ConfigsOf(*self.object);
  options.compress = Compresses(compress);
  options.overwrite = overwrite;
  const std::string text = PathText(path);
  Status status;
  {
    const nb::gil_scoped_release released;
    status = store::SaveTrace(self.trace(), text, options);
  }
  Check(status);
}

// What C++ has no writer for, pyarrow writes.
void ExportParquet(const Trace& trace, const std::vector<OpId>& ops, const std::string& path,
                   const exports::ExportOptions& options) {
  const bool of_ops = options.table == "ops" || options.table == "stats";
  if (!of_ops && ops.size() < trace.num_ops()) {
    Check(InvalidArgument("a selection of ops goes with the tables ops and stats, not with " +
                          options.table));
  }
  TableObject table = options.table == "ops"     ? MakeTable(OpTable(trace, ops))
                      : options.table == "stats" ? MakeTable(StatsTable(trace, ops))
                                                 : MakeTable(NamedTable(trace, options.table));
  exports::NewFile file = Unwrap(exports::NewFile::Create(path, options.overwrite));
  nb::module_::import_("flowscope._files").attr("write_parquet")(table, file.beside(), path);
  Check(file.PutIntoPlace());
}

void WarnOfLost(const exports::Exported& exported, const std::string& path) {
  if (exported.not_kept == 0) return;
  const std::string text = "flowscope: " + std::to_string(exported.not_kept) +
                           " values of the selected ops were not kept and are not in " + path;
  nb::module_::import_("warnings").attr("warn")(text, nb::arg("stacklevel") = 2);
}

void Export(const TraceHandle& self, nb::handle path, nb::handle sites,
            const std::optional<std::string>& format, const std::string& table, bool overwrite) {
  const Trace& trace = self.trace();
  const exports::ExportOptions options{format.value_or(""), table, overwrite};
  const std::string text = PathText(path);
  const bool parquet = Unwrap(exports::FormatOf(text, options)) == "parquet";
  const std::vector<OpId> ops =
      sites.is_none() ? AllOps(trace) : SelectOps(trace, ToSelector(sites));
  if (parquet) return ExportParquet(trace, ops, text, options);
  Result<exports::Exported> exported = exports::Exported();
  {
    const nb::gil_scoped_release released;
    exported = exports::Export(trace, ops, text, options);
  }
  WarnOfLost(Unwrap(std::move(exported)), text);
}

void Repair(nb::handle path) {
  const std::string text = PathText(path);
  Status status;
  {
    const nb::gil_scoped_release released;
    status = store::RepairTrace(text);
  }
  Check(status);
}

nb::object Load(nb::handle path) {
  const std::string text = PathText(path);
  Result<std::shared_ptr<const Trace>> trace = std::shared_ptr<const Trace>();
  {
    const nb::gil_scoped_release released;
    trace = store::OpenTrace(text);
  }
  return TraceToPython(Unwrap(std::move(trace)));
}

}  // namespace

void DefTraceStore(nb::class_<TraceHandle>& type) {
  type.def("save", &Save, nb::arg("path"), nb::arg("save").none() = "all",
           nb::arg("compress") = nb::none(), nb::arg("overwrite") = false,
           nb::sig("def save(self, path: str | os.PathLike[str], save: typing.Any = 'all', "
                   "compress: str | None = None, overwrite: bool = False) -> None"),
           "Write the trace to NAME.flow, a folder, or NAME.flow.zip, one file.\n\n"
           "save: which ops keep their value in the file, as in fs.trace. compress: 'zstd' for "
           "smaller values that are unpacked when they are read. overwrite: replace a trace that "
           "is there; anything else is never touched. The folder is written beside and renamed: "
           "what stands under the name is whole.")
      .def("export", &Export, nb::arg("path"), nb::arg("sites").none() = nb::none(),
           nb::arg("format").none() = nb::none(), nb::arg("table") = "ops",
           nb::arg("overwrite") = false,
           nb::sig("def export(self, path: str | os.PathLike[str], sites: typing.Any = None, "
                   "format: str | None = None, table: str = 'ops', overwrite: bool = False) -> "
                   "None"),
           "Write values or a table for other programs.\n\n"
           "format: 'npz' or 'safetensors' for the outputs of ops, each under its label, of a\n"
           "second output LABEL.1 and so on; 'csv' or 'parquet' (with pyarrow) for a table; None:\n"
           "by the end of the path. sites: which ops, as in find_sites; None: all. table: what\n"
           "to_pandas takes, or 'stats' or 'timeline'. An existing file is replaced with\n"
           "overwrite=True only; what stands under the name is whole.\n\n"
           "    >>> trace.export(\"values.npz\", fs.func(\"matmul\"), overwrite=True)\n"
           "    >>> list(np.load(\"values.npz\"))[0]\n"
           "    'matmul_1_3:1'");
}

void RegisterStore(nb::module_& m) {
  m.def("load", &Load, nb::arg("path"), nb::sig("def load(path: str | os.PathLike[str]) -> Trace"),
        "Open a saved trace. Needs neither TensorFlow nor Keras.");
  m.def("repair", &Repair, nb::arg("path"),
        nb::sig("def repair(path: str | os.PathLike[str]) -> None"),
        "Finish a folder whose recording was cut off.");
  m.def(
      "sqlite_version", [] { return std::string(store::Database::Version()); },
      "Version of the SQLite inside this module; TensorFlow brings another one.");
}

}  // namespace flowscope::python
