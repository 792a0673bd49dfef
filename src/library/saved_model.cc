#include "flowscope/saved_model.h"

#include "library/record_saved_model.h"
#include "library/runtime.h"
#include "library/structure.h"
#include "savedmodel/legacy.h"
#include "savedmodel/tensors.h"
#include "store/stream_writer.h"

namespace flowscope::api {
namespace {

std::vector<TensorSpec> ToSpecs(const savedmodel::TensorInfos& infos) {
  std::vector<TensorSpec> specs;
  for (const auto& [name, info] : infos) {
    specs.push_back({std::string(name), info.dtype, info.dims});
  }
  return specs;
}

SignatureSpec ToSpec(const savedmodel::MetaGraph& graph, std::string_view key) {
  const savedmodel::Signature& signature = graph.signatures.at(key);
  return {std::string(key), ToSpecs(signature.inputs), ToSpecs(signature.outputs)};
}

// TensorFlow's own text for a kernel that is not there does not say why.
Status Explained(const Status& status) {
  if (status.message().find("no registered kernels") == std::string::npos) return status;
  const bool is_python = status.message().find("PyFunc") != std::string::npos;
  return {
      status.code(),
      status.message() + (is_python ? "\ntf.py_function and tf.numpy_function run Python, which "
                                      "is not in this process: record the model from Python"
                                    : "\nthis TensorFlow has no kernel of that op")};
}

struct Handles {
  std::vector<tf::HandlePtr> owned;
  savedmodel::NamedHandles named;
};

Status MakeHandles(const std::map<std::string, Payload>& inputs, Handles& handles) {
  for (const auto& [name, value] : inputs) {
    Result<tf::HandlePtr> handle = savedmodel::TensorFromPayload(value);
    if (!handle.ok()) return handle.status();
    handles.named.emplace_back(name, handle->get());
    handles.owned.push_back(std::move(handle).value());
  }
  return Status::Ok();
}

capture::RecordOptions ToCapture(const RecordOptions& options) {
  capture::RecordOptions recorded;
  recorded.name = options.name;
  recorded.root_kind = "saved_model";
  recorded.use_hook = false;
  recorded.code_context = false;
  recorded.keep_values = options.keep_values;
  recorded.raise_on_nan = options.raise_on_nan;
  recorded.save_budget = options.save_budget;
  recorded.functions =
      options.open_functions ? capture::FunctionMode::kInside : capture::FunctionMode::kCall;
  return recorded;
}

// Null where nothing is to be written.
Result<std::shared_ptr<store::StreamWriter>> OpenStream(const RecordOptions& options) {
  if (options.stream_to.empty()) return std::shared_ptr<store::StreamWriter>();
  store::StreamOptions how;
  how.compress = options.stream.compress;
  how.overwrite = options.stream.overwrite;
  return store::StreamWriter::Create(options.stream_to, how);
}

}  // namespace

struct SavedModel::State {
  std::unique_ptr<savedmodel::SavedModelFile> file;
  std::unique_ptr<savedmodel::SavedModel> model;  // once it has been recorded
};

SavedModel::SavedModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
SavedModel::~SavedModel() = default;
SavedModel::SavedModel(SavedModel&& other) noexcept = default;
SavedModel& SavedModel::operator=(SavedModel&& other) noexcept = default;

Result<SavedModel> SavedModel::Open(const std::string& dir) {
  Result<std::unique_ptr<savedmodel::SavedModelFile>> file = savedmodel::SavedModelFile::Open(dir);
  if (!file.ok()) return file.status();
  auto state = std::make_unique<State>();
  state->file = std::move(file).value();
  return SavedModel(std::move(state));
}

std::vector<SignatureSpec> SavedModel::signatures() const {
  std::vector<SignatureSpec> specs;
  for (const std::string_view key : state_->file->SignatureKeys()) {
    specs.push_back(ToSpec(state_->file->graph(), key));
  }
  return specs;
}

std::string SavedModel::tensorflow_version() const {
  return std::string(state_->file->graph().tensorflow_version);
}

Result<SignatureSpec> SavedModel::FindSignature(const std::string& name) const {
  const Result<std::string_view> key = state_->file->FindSignature(name);
  if (!key.ok()) return key.status();
  return ToSpec(state_->file->graph(), *key);
}

Result<Recording> SavedModel::Record(const std::map<std::string, Payload>& inputs,
                                     const RecordOptions& options) {
  const Result<std::string_view> key = state_->file->FindSignature(options.signature);
  if (!key.ok()) return key.status();
  if (state_->model == nullptr) {
    Result<TFE_Context*> context = library::ProcessContext();
    if (!context.ok()) return context.status();
    const savedmodel::MetaGraph& graph = state_->file->graph();
    const std::string why_not = savedmodel::WhyNotNodeByNode(graph, graph.signatures.at(*key));
    if (!why_not.empty()) {
      return Unsupported(why_not +
                         ", which only a session of TensorFlow runs: record it from Python, where "
                         "it is one op, or ask for its structure alone");
    }
    Result<std::unique_ptr<savedmodel::SavedModel>> loaded =
        savedmodel::SavedModel::Load(*context, state_->file->dir());
    if (!loaded.ok()) return loaded.status();
    state_->model = std::move(loaded).value();
  }
  Handles handles;
  FLOWSCOPE_RETURN_IF_ERROR(MakeHandles(inputs, handles));
  FLOWSCOPE_RETURN_IF_ERROR(state_->model->CheckInputs(*key, handles.named));
  Result<std::shared_ptr<store::StreamWriter>> writer = OpenStream(options);
  if (!writer.ok()) return writer.status();
  capture::RecordOptions recorded = ToCapture(options);
  recorded.sink = *writer;
  Result<library::RecordedCall> call =
      library::RecordCall(*state_->model, *key, handles.named, std::move(recorded));
  if (!call.ok()) return call.status();
  return Recording{Trace(call->trace), Explained(call->status),
                   *writer == nullptr ? Status::Ok() : (*writer)->status()};
}

Result<Trace> SavedModel::Structure(const std::string& signature) const {
  const Result<std::string_view> key = state_->file->FindSignature(signature);
  if (!key.ok()) return key.status();
  const Result<TFE_Context*> context = library::ProcessContext();
  if (!context.ok()) return context.status();
  Result<std::shared_ptr<const flowscope::Trace>> structure =
      library::StructureOf(*state_->file, *key, library::FolderName(state_->file->dir()));
  if (!structure.ok()) return structure.status();
  return Trace(std::move(structure).value());
}

std::string ToString(const TensorSpec& spec) {
  savedmodel::TensorInfos infos;
  infos[spec.name] = {{}, spec.dtype, spec.dims, false};
  return savedmodel::DescribeTensors(infos);
}

}  // namespace flowscope::api
