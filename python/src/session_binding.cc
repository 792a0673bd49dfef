#include <memory>

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "draws.h"
#include "errors.h"
#include "selectors.h"
#include "session.h"
#include "store/stream_writer.h"
#include "trace/function_name.h"
#include "trace_binding.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace flowscope::python {
namespace {

std::shared_ptr<EventSink> SinkFrom(const nb::dict& storage) {
  store::StreamOptions options;
  options.max_pending = nb::cast<int64_t>(storage["max_pending"]);
  options.overwrite = nb::cast<bool>(storage["overwrite"]);
  return Unwrap(store::StreamWriter::Create(nb::cast<std::string>(storage["path"]), options));
}

// Configurations of the modules as JSON, by number: a live trace asks the modules, a file cannot.
void SetStreamConfigs(Session& session, std::vector<std::string> configs) {
  auto* writer = dynamic_cast<store::StreamWriter*>(session.sink());
  if (writer != nullptr) writer->SetModuleConfigs(std::move(configs));
}

}  // namespace

capture::RecordOptions OptionsFrom(const nb::dict& values) {
  capture::RecordOptions options;
  const auto text = [&](const char* key) { return nb::cast<std::string>(values[key]); };
  options.name = text("name");
  options.root_kind = text("root_kind");
  options.root_class = text("root_class");
  options.keras_version = text("keras_version");
  options.keep_values = nb::cast<bool>(values["keep_values"]);
  options.code_context = nb::cast<bool>(values["code_context"]);
  options.raise_on_nan = nb::cast<bool>(values["raise_on_nan"]);
  options.save_budget = nb::cast<int64_t>(values["save_budget"]);
  const nb::object save = values["save"];
  if (!(nb::isinstance<nb::str>(save) && text("save") == "all")) options.save = ToSelector(save);
  const nb::object halt = values["halt"];
  if (!halt.is_none()) options.halt = ToSelector(halt);
  options.compare_compiled = nb::cast<bool>(values["compare_compiled"]);
  options.keep_steps = nb::cast<int>(values["keep_steps"]);
  options.interpret_random = text("random") == "interpret";
  const nb::object functions = values["functions"];
  const bool named = nb::isinstance<nb::str>(functions);
  if (named && text("functions") == "call") {
    options.functions = capture::FunctionMode::kCall;
  } else if (!named || text("functions") != "inside") {
    options.functions = capture::FunctionMode::kSelected;
    options.open_functions = ToSelector(functions);
  }
  options.draws = DrawsOf(values["draws"]);
  const nb::object storage = values["storage"];
  if (!storage.is_none()) {
    options.sink = SinkFrom(nb::cast<nb::dict>(storage));
    options.retain_in_memory = nb::cast<bool>(storage["retain_in_memory"]);
  }
  // Options are copied and dropped without the GIL; the object's references are not.
  const std::shared_ptr<nb::object> warn(new nb::object(values["warn"]), [](nb::object* held) {
    const nb::gil_scoped_acquire gil;
    delete held;
  });
  options.warn = [warn](const std::string& message) {
    const nb::gil_scoped_acquire gil;
    try {
      (*warn)(message);
    } catch (nb::python_error& error) {
      if (!PassOnInterrupt(error)) error.discard_as_unraisable("flowscope warning");
    }
  };
  return options;
}

namespace {

NamedHandles Collect(nb::handle object, const std::string& path,
                     std::vector<nb::object>& keep_alive) {
  NamedHandles found;
  CollectTensors(object, path, found, keep_alive);
  return found;
}

void DeclareInputs(Session& session, nb::handle object, const std::string& path) {
  std::vector<nb::object> keep_alive;
  for (const auto& [name, handle] : Collect(object, path, keep_alive)) {
    session.recorder().DeclareInput(handle, name);
  }
}

// `forms`: eager tensors of the array's content, its own dtype first.
void DeclareArrayInput(Session& session, const nb::list& forms, const std::string& path) {
  std::vector<TFE_TensorHandle*> handles;
  for (nb::handle form : forms) {
    if (TFE_TensorHandle* handle = HandleOf(form)) handles.push_back(handle);
  }
  session.recorder().DeclareArrayInput(handles, path);
}

// `structure`: as TraceInfo::output_structure has it.
void DeclareOutputs(Session& session, nb::handle object, std::string structure) {
  std::vector<nb::object> keep_alive;
  session.recorder().DeclareOutputs(Collect(object, "output", keep_alive));
  session.recorder().SetOutputStructure(std::move(structure));
}

// Why the run is to stop here; empty where it goes on.
std::string RecordCallback(Session& session, const std::string& type, nb::handle inputs,
                           nb::handle outputs) {
  const auto handles = [](nb::handle sequence) {
    std::vector<TFE_TensorHandle*> found;
    for (nb::handle item : sequence) {
      if (TFE_TensorHandle* handle = HandleOf(item)) found.push_back(handle);
    }
    return found;
  };
  return session.recorder().RecordCallback(type, handles(inputs), handles(outputs)).message();
}

RegionId OpenRegion(capture::Recorder& recorder, const std::string& kind, const std::string& name) {
  // Graphs of branches and loops have a number of the process in their names.
  if (kind == "tracing") return recorder.OpenRegion(RegionKind::kTracing, ReadableGraphName(name));
  return recorder.OpenRegion(kind == "backward" ? RegionKind::kBackward : RegionKind::kFunction,
                             name);
}

}  // namespace

void RegisterSession(nb::module_& m) {
  nb::class_<Session>(m, "Session")
      .def(
          "__init__",
          [](Session* self, const nb::dict& options, std::vector<std::string> prefixes,
             bool callbacks, nb::object new_module, nb::object executing_eagerly,
             nb::object bodies) {
            new (self)
                Session(OptionsFrom(options), std::move(prefixes), callbacks, std::move(new_module),
                        std::move(executing_eagerly), std::move(bodies));
          },
          "options"_a, "library_prefixes"_a, "callbacks"_a, "new_module"_a.none(),
          "executing_eagerly"_a, "bodies"_a = nb::none())
      .def("start", &Session::Start)
      .def(
          "stop",
          [](Session& self, const std::string& error) { return TraceToPython(self.Stop(error)); },
          "error"_a, nb::sig("def stop(self, error: str) -> Trace"))
      .def("declare_module",
           [](Session& self, nb::object module, const std::vector<std::string>& addresses,
              const std::string& class_name, const std::string& name, const std::string& config,
              int64_t parent, int64_t num_params, int64_t num_trainable) {
             return self.DeclareModule(std::move(module), addresses, class_name, name, config,
                                       parent < 0 ? kNoId : static_cast<ModuleId>(parent),
                                       num_params, num_trainable);
           })
      .def("module_id", &Session::KnownId, "Number of a module that is known, else -1.")
      .def("alias_module", &Session::AliasModule)
      .def("update_params",
           [](Session& self, const std::vector<std::pair<int64_t, int64_t>>& params) {
             for (size_t i = 0; i < params.size(); ++i) {
               self.recorder().UpdateParams(static_cast<ModuleId>(i), params[i].first,
                                            params[i].second);
             }
           })
      .def_prop_ro("num_unnamed_variables",
                   [](Session& self) { return self.recorder().num_unnamed_variables(); })
      .def("declare_inputs", &DeclareInputs, "value"_a.none(), "path"_a)
      .def("declare_array_input", &DeclareArrayInput)
      .def("declare_outputs", &DeclareOutputs, "value"_a.none(), "structure"_a)
      .def("set_stream_configs", &SetStreamConfigs)
      .def("add_note",
           [](Session& self, const std::string& note) { self.recorder().AddNote(note); })
      .def("open_region",
           [](Session& self, const std::string& kind, const std::string& name) {
             return OpenRegion(self.recorder(), kind, name);
           })
      .def("open_step", [](Session& self, const std::string& name, uint32_t index,
                           bool bounded) { return self.recorder().OpenStep(name, index, bounded); })
      .def("close_step",
           [](Session& self, RegionId step) {
             const nb::gil_scoped_release released;  // handles of earlier steps go here
             self.recorder().CloseStep(step);
           })
      .def_prop_ro(
          "refused",
          [](Session& self) {
            return self.recording() ? self.recorder().refused() : std::string();
          },
          "Why an option cannot be had with this run; empty where it can.")
      .def("close_region",
           [](Session& self, RegionId region) { self.recorder().CloseRegion(region); })
      .def("record_callback", &RecordCallback)
      .def_prop_ro("recording", &Session::recording)
      .def_prop_ro("bodies", &Session::bodies)
      .def_prop_ro(
          "num_selected",
          [](Session& self) { return self.recording() ? self.recorder().num_selected() : 0; },
          "Ops that save= has matched so far.")
      .def_prop_ro("stopped_by_nonfinite",
                   [](Session& self) {
                     return self.recording() && self.recorder().stopped_at() != kNoId &&
                            !self.recorder().halted();
                   })
      .def_prop_ro("halted",
                   [](Session& self) { return self.recording() && self.recorder().halted(); });
  m.def("current_session", [] { return Session::Current(); }, nb::rv_policy::reference);
}

}  // namespace flowscope::python
