#include "savedmodel/saved_model.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>

#include "base/edit_distance.h"
#include "savedmodel/plain_host.h"
#include "savedmodel/tensors.h"
#include "savedmodel/variable_copies.h"

namespace flowscope::savedmodel {
namespace {

// A number that no other load of this process has.
uint64_t NextLoad() {
  static std::atomic<uint64_t> next = 1;
  return next++;
}

// A name that reads as the saved one: its number gives way to one of ours, which is longer than
// those that TensorFlow gives.
std::string NewName(std::string_view name) {
  static std::atomic<uint64_t> next = 1'000'000'000;
  const size_t end = name.find_last_not_of("0123456789");
  const bool numbered =
      end != std::string_view::npos && end > 0 && end + 1 < name.size() && name[end] == '_';
  return std::string(numbered ? name.substr(0, end) : name) + "_" + std::to_string(next++);
}

Status AddTo(TFE_Context* context, const std::string& definition, std::string_view name) {
  const tf::StatusPtr status = tf::NewStatus();
  tf::Api().TFE_ContextAddFunctionDef(context, definition.data(), definition.size(), status.get());
  return tf::FromTf(status.get(), "function '" + std::string(name) + "' of the SavedModel");
}

std::string DescribeTensor(std::string_view name, const TensorInfo& info) {
  std::string text = std::string(name) + ": " + std::string(DTypeName(info.dtype));
  if (!info.dims) return text + " of any shape";
  text += " (";
  for (size_t i = 0; i < info.dims->size(); ++i) {
    const int64_t dim = (*info.dims)[i];
    text += (i == 0 ? "" : ", ") + (dim < 0 ? std::string("?") : std::to_string(dim));
  }
  return text + ")";
}

std::string DescribeHandle(std::string_view name, DType dtype, const Dims& dims) {
  TensorInfo info;
  info.dtype = dtype;
  info.dims = dims;
  return DescribeTensor(name, info);
}

bool Fits(const TensorInfo& info, const Dims& dims) {
  if (!info.dims) return true;
  if (info.dims->size() != dims.size()) return false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if ((*info.dims)[i] >= 0 && (*info.dims)[i] != dims[i]) return false;
  }
  return true;
}

Status CheckInput(std::string_view name, TFE_TensorHandle* handle, const TensorInfo& info) {
  const auto dtype = static_cast<DType>(tf::Api().TFE_TensorHandleDataType(handle));
  const Result<Dims> dims = tf::HandleDims(handle);
  if (!dims.ok()) return dims.status();
  if (dtype == info.dtype && Fits(info, *dims)) return Status::Ok();
  return InvalidArgument("input '" + std::string(name) + "' does not fit: it was given " +
                         DescribeHandle(name, dtype, *dims));
}

}  // namespace

std::string DescribeTensors(const TensorInfos& infos) {
  std::string text;
  for (const auto& [name, info] : infos) {
    text += (text.empty() ? "" : ", ") + DescribeTensor(name, info);
  }
  return text.empty() ? "nothing" : text;
}

Result<std::unique_ptr<SavedModel>> SavedModel::Load(TFE_Context* context, const std::string& dir) {
  std::unique_ptr<SavedModel> model(new SavedModel);
  Result<std::unique_ptr<SavedModelFile>> file = SavedModelFile::Open(dir);
  if (!file.ok()) return file.status();
  model->file_ = std::move(file).value();
  model->context_ = context;
  model->names_ = std::make_unique<ModelNames>(model->file_->graph());
  FLOWSCOPE_RETURN_IF_ERROR(model->AddFunctions());
  Result<std::unique_ptr<MainGraph>> main =
      MainGraph::Build(model->file_->graph(), model->rewrite_, context);
  if (!main.ok()) {
    return Corruption(dir + "/saved_model.pb is damaged: " + main.status().message());
  }
  model->main_ = std::move(main).value();
  FLOWSCOPE_RETURN_IF_ERROR(model->Restore());
  FLOWSCOPE_RETURN_IF_ERROR(model->Initialize());
  return model;
}

// Tables and variables are global by container and name: nobody else would free them.
SavedModel::~SavedModel() {
  if (main_ == nullptr) return;
  for (TFE_TensorHandle* resource : main_->Resources()) {
    const tf::StatusPtr status = tf::NewStatus();
    const tf::OpPtr op(tf::Api().TFE_NewOp(context_, "DestroyResourceOp", status.get()));
    if (op == nullptr) continue;
    static constexpr std::string_view kTrue("\x28\x01", 2);  // an AttrValue
    tf::Api().TFE_OpAddInput(op.get(), resource, status.get());
    tf::Api().TFE_OpSetAttrValueProto(op.get(), "ignore_lookup_error", kTrue.data(), kTrue.size(),
                                      status.get());
    int count = 0;
    TFE_TensorHandle* none = nullptr;
    if (tf::Api().TF_GetCode(status.get()) == 0) {
      tf::Api().TFE_Execute(op.get(), &none, &count, status.get());
    }
  }
}

Status SavedModel::AddFunctions() {
  rewrite_.container = "flowscope-load-" + std::to_string(NextLoad());
  std::vector<std::string_view> names;
  for (const std::string_view bytes : file_->graph().functions) {
    const Result<interp::FunctionDef> function = interp::ParseFunctionDef(bytes);
    if (!function.ok()) {
      return Corruption(file_->dir() +
                        "/saved_model.pb is damaged: " + function.status().message());
    }
    // The name is a part of the bytes that the file holds.
    const std::string& name = function->signature.name;
    const size_t at = bytes.find(name);
    if (name.empty() || at == std::string_view::npos) {
      return Corruption(file_->dir() + "/saved_model.pb is damaged: a function without a name");
    }
    names.push_back(bytes.substr(at, name.size()));
    rewrite_.functions.emplace(names.back(), NewName(name));
  }
  if (tf::Api().TFE_ContextAddFunctionDef == nullptr) {
    return Unavailable("this TensorFlow takes no function definitions");
  }
  for (size_t i = 0; i < names.size(); ++i) {
    Result<std::string> definition = RewriteFunction(file_->graph().functions[i], rewrite_);
    if (!definition.ok()) return definition.status();
    FLOWSCOPE_RETURN_IF_ERROR(AddTo(context_, *definition, names[i]));
  }
  for (const Asset& asset : file_->graph().assets) {
    const auto path = std::filesystem::path(file_->dir()) / "assets" / std::string(asset.filename);
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      return NotFound("the SavedModel needs the file " + path.string() + ", which is missing");
    }
    Result<tf::HandlePtr> text = TextTensor(path.string());
    if (!text.ok()) return text.status();
    assets_.emplace_back(asset.tensor, std::move(text).value());
  }
  return Status::Ok();
}

std::vector<Feed> SavedModel::AssetFeeds() const {
  std::vector<Feed> feeds;
  for (const auto& [tensor, handle] : assets_) feeds.emplace_back(tensor, handle.get());
  return feeds;
}

Status SavedModel::Restore() {
  const Saver& saver = file_->graph().saver;
  if (saver.restore_op.empty()) return Status::Ok();
  const auto prefix = std::filesystem::path(file_->dir()) / "variables" / "variables";
  std::error_code error;
  if (!std::filesystem::exists(prefix.string() + ".index", error)) {
    // A model without variables may come without the folder.
    if (main_->ResourcesOf({std::string(saver.restore_op)}).empty()) return Status::Ok();
    return NotFound("the variables of the SavedModel are missing: there is no " + prefix.string() +
                    ".index");
  }
  Result<tf::HandlePtr> path = TextTensor(prefix.string());
  if (!path.ok()) return path.status();
  std::vector<Feed> feeds = AssetFeeds();
  feeds.emplace_back(saver.filename_tensor, path->get());
  PlainHost plain;
  const Result<interp::HeldHandles> restored =
      main_->Run(feeds, {std::string(saver.restore_op)}, plain);
  Status done = restored.ok() ? RestoreOriginals() : restored.status();
  if (done.ok()) return done;
  return {done.code(),
          "the variables of " + file_->dir() + " cannot be restored: " + done.message()};
}

// Variables that the saver does not know, of which it restores a copy.
Status SavedModel::RestoreOriginals() {
  const std::vector<std::string_view> known =
      main_->ResourcesOf({std::string(file_->graph().saver.restore_op)});
  const std::set<std::string_view> restored(known.begin(), known.end());
  for (const auto& [copy, original] : VariableCopies(file_->graph())) {
    if (!restored.contains(copy) || restored.contains(original)) continue;
    const std::string_view* dtype = interp::FindAttr(main_->Find(copy)->attrs, "dtype");
    Result<TFE_TensorHandle*> from = main_->Resource(copy);
    Result<TFE_TensorHandle*> to = main_->Resource(original);
    if (!from.ok()) return from.status();
    if (!to.ok()) return to.status();
    if (dtype == nullptr) continue;
    FLOWSCOPE_RETURN_IF_ERROR(CopyVariable(context_, *from, *to, *dtype));
  }
  return Status::Ok();
}

Status SavedModel::Initialize() {
  const std::string_view op = InitOp(file_->graph());
  if (op.empty()) return Status::Ok();
  PlainHost plain;
  const Result<interp::HeldHandles> done = main_->Run(AssetFeeds(), {std::string(op)}, plain);
  if (done.ok()) return Status::Ok();
  return {done.status().code(),
          "the tables of " + file_->dir() + " cannot be filled: " + done.status().message()};
}

std::vector<std::string> SavedModel::Fetches(std::string_view signature) const {
  std::vector<std::string> fetches;
  const auto found = file_->graph().signatures.find(signature);
  if (found == file_->graph().signatures.end()) return fetches;
  for (const auto& [name, info] : found->second.outputs) fetches.emplace_back(info.name);
  return fetches;
}

Result<std::vector<UsedVariable>> SavedModel::Variables(std::string_view signature) {
  std::vector<UsedVariable> variables;
  for (const std::string_view node : main_->ResourcesOf(Fetches(signature))) {
    if (main_->Find(node)->def->op != "VarHandleOp") continue;
    Result<TFE_TensorHandle*> handle = main_->Resource(node);
    if (!handle.ok()) return handle.status();
    variables.push_back({names_->VariableOf(node), *handle});
  }
  return variables;
}

Status SavedModel::CheckInputs(std::string_view signature, const NamedHandles& inputs) const {
  const auto found = file_->graph().signatures.find(signature);
  if (found == file_->graph().signatures.end()) {
    return NotFound("no signature '" + std::string(signature) + "'");
  }
  const TensorInfos& infos = found->second.inputs;
  const std::string takes =
      "; signature '" + std::string(signature) + "' takes " + DescribeTensors(infos);
  std::vector<std::string_view> known;
  for (const auto& [name, info] : infos) known.push_back(name);
  for (const auto& [name, handle] : inputs) {
    if (infos.contains(name)) continue;
    const std::vector<std::string> near = Nearest(name, known, 1);
    return InvalidArgument("there is no input '" + name + "'" +
                           (near.empty() ? "" : ", did you mean '" + near.front() + "'?") + takes);
  }
  for (const auto& [name, info] : infos) {
    if (info.composite) {
      return Unsupported("input '" + std::string(name) +
                         "' is a sparse or ragged tensor, which cannot be given here" + takes);
    }
    const auto given = std::ranges::find(inputs, name, &NamedHandles::value_type::first);
    if (given == inputs.end()) {
      return InvalidArgument("no value for input '" + std::string(name) + "'" + takes);
    }
    const Status fits = CheckInput(name, given->second, info);
    if (!fits.ok()) return {fits.code(), fits.message() + takes};
  }
  return Status::Ok();
}

Result<CallResult> SavedModel::Call(std::string_view signature, const NamedHandles& inputs,
                                    interp::Host& host) {
  const Signature& called = file_->graph().signatures.at(signature);
  std::vector<Feed> feeds = AssetFeeds();
  for (const auto& [name, handle] : inputs) {
    feeds.emplace_back(called.inputs.at(name).name, handle);
  }
  Result<interp::HeldHandles> values = main_->Run(feeds, Fetches(signature), host);
  if (!values.ok()) return values.status();
  CallResult result;
  size_t i = 0;
  for (const auto& [name, info] : called.outputs) {
    if ((*values)[i] == nullptr) {
      return Unsupported("output '" + std::string(name) + "' of signature '" +
                         std::string(signature) + "' is no tensor");
    }
    result.outputs.emplace_back(name, std::move((*values)[i++]));
  }
  return result;
}

}  // namespace flowscope::savedmodel
