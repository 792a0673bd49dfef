// A SavedModel as Python runs it: the engine's own, in Python's TensorFlow context.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "eager_tensor.h"
#include "errors.h"
#include "library/record_saved_model.h"
#include "library/structure.h"
#include "savedmodel/legacy.h"
#include "session.h"
#include "trace_binding.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace flowscope::python {
namespace {

// Name, dtype as TensorFlow numbers it, shape (None: any; -1: any size).
using Spec = std::tuple<std::string, int, std::optional<Dims>>;

std::vector<Spec> ToSpecs(const savedmodel::TensorInfos& infos) {
  std::vector<Spec> specs;
  for (const auto& [name, info] : infos) {
    specs.emplace_back(name, static_cast<int>(info.dtype), info.dims);
  }
  return specs;
}

class PySavedModel {
 public:
  explicit PySavedModel(const std::string& dir)
      : file_(Unwrap(savedmodel::SavedModelFile::Open(dir))) {}

  std::string FindSignature(const std::string& key) const {
    return std::string(Unwrap(file_->FindSignature(key)));
  }
  std::vector<Spec> Inputs(const std::string& signature) const {
    return ToSpecs(file_->graph().signatures.at(FindSignature(signature)).inputs);
  }

  std::string WhyNotNodeByNode(const std::string& signature) const {
    return savedmodel::WhyNotNodeByNode(file_->graph(), file_->graph().signatures.at(signature));
  }

  // Variables and tables are restored at the first record.
  void Load(nb::handle context) {
    if (model_ != nullptr) return;
    TFE_Context* raw = ContextOf(context);
    const nb::gil_scoped_release nogil;
    auto loaded = savedmodel::SavedModel::Load(raw, file_->dir());
    const nb::gil_scoped_acquire gil;
    model_ = Unwrap(std::move(loaded));
  }

  // Frees variables and tables now, while TensorFlow's context is known to live.
  void Close() {
    const nb::gil_scoped_release nogil;
    model_.reset();
  }

  nb::object Structure(const std::string& signature, const std::string& name) const {
    return TraceToPython(
        Unwrap(library::StructureOf(*file_, FindSignature(signature),
                                    name.empty() ? library::FolderName(file_->dir()) : name)));
  }

  nb::tuple Record(const std::string& signature, const nb::dict& inputs, const nb::dict& options,
                   const std::string& note) {
    savedmodel::NamedHandles handles;
    for (auto [name, tensor] : inputs) {
      TFE_TensorHandle* handle = HandleOf(tensor);
      if (handle == nullptr) Check(InvalidArgument("an input is no eager tensor"));
      handles.emplace_back(nb::cast<std::string>(name), handle);
    }
    capture::RecordOptions recorded = OptionsFrom(options);
    Result<library::RecordedCall> call = [&] {
      const nb::gil_scoped_release nogil;
      return library::RecordCall(*model_, signature, handles, std::move(recorded), note);
    }();
    Check(call.status());
    nb::dict outputs;
    for (auto& [name, handle] : call->outputs) {
      outputs[name.c_str()] = EagerTensorFrom(handle.release());
    }
    const nb::object error = MessageText(call->status.ok() ? "" : call->status.message());
    return nb::make_tuple(TraceToPython(std::move(call->trace)), outputs, error,
                          call->stopped_by_nonfinite);
  }

 private:
  std::unique_ptr<savedmodel::SavedModelFile> file_;
  std::unique_ptr<savedmodel::SavedModel> model_;
};

}  // namespace

void RegisterSavedModel(nb::module_& m) {
  nb::class_<PySavedModel>(m, "SavedModel")
      .def(nb::init<const std::string&>(), "dir"_a)
      .def("find_signature", &PySavedModel::FindSignature, "key"_a)
      .def("inputs", &PySavedModel::Inputs, "signature"_a)
      .def("why_not_node_by_node", &PySavedModel::WhyNotNodeByNode, "signature"_a)
      .def("load", &PySavedModel::Load, "context"_a)
      .def("close", &PySavedModel::Close)
      .def("structure", &PySavedModel::Structure, "signature"_a, "name"_a,
           nb::sig("def structure(self, signature: str, name: str) -> Trace"))
      .def("record", &PySavedModel::Record, "signature"_a, "inputs"_a, "options"_a, "note"_a,
           nb::sig("def record(self, signature: str, inputs: dict, options: dict, note: str) -> "
                   "tuple[Trace, dict, str, bool]"));
}

}  // namespace flowscope::python
