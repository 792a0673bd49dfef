// Saving and loading traces.
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "errors.h"
#include "selectors.h"
#include "store/reader.h"
#include "store/sqlite.h"
#include "store/writer.h"
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

std::string PathText(nb::handle path) {
  return nb::cast<std::string>(nb::module_::import_("os").attr("fsdecode")(path));
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
           "what stands under the name is whole.");
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
