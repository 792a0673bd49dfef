// A SavedModel, ready to run: its functions are in the context under names of their own, variables
// are restored, tables are filled. No loader of TensorFlow's takes part.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/payload.h"
#include "interp/host.h"
#include "savedmodel/main_graph.h"
#include "savedmodel/meta_graph.h"
#include "savedmodel/rewrite.h"
#include "savedmodel/variable_names.h"

namespace flowscope::savedmodel {

// The folder's saved_model.pb, parsed. Errors name the file and what was expected.
class SavedModelFile {
 public:
  static Result<std::unique_ptr<SavedModelFile>> Open(const std::string& dir);

  const std::string& dir() const { return dir_; }
  // The graph with the tag "serve", else the only one.
  const MetaGraph& graph() const { return graphs_[chosen_]; }
  // Keys that users may ask for, without those with "__".
  std::vector<std::string_view> SignatureKeys() const;
  // NotFound, listing the keys, where there is none; an empty key is the default or the only one.
  Result<std::string_view> FindSignature(std::string_view key) const;

 private:
  SavedModelFile() = default;

  std::string dir_;
  std::string bytes_;  // what the graphs point into
  std::vector<MetaGraph> graphs_;
  size_t chosen_ = 0;
};

struct UsedVariable {
  ModelVariable variable;
  TFE_TensorHandle* handle = nullptr;  // borrowed from the model
};

using NamedHandles = std::vector<std::pair<std::string, TFE_TensorHandle*>>;

// One value for each output of a signature, by name.
struct CallResult {
  std::vector<std::pair<std::string, interp::HeldHandle>> outputs;
};

class SavedModel {
 public:
  // Loads into `context`, which must outlive the model, and runs the restore and init ops.
  static Result<std::unique_ptr<SavedModel>> Load(TFE_Context* context, const std::string& dir);
  ~SavedModel();
  SavedModel(const SavedModel&) = delete;
  SavedModel& operator=(const SavedModel&) = delete;

  const SavedModelFile& file() const { return *file_; }
  const ModelNames& names() const { return *names_; }
  // What its functions are called in the context.
  const Rewrite& rewrite() const { return rewrite_; }

  // Variables that the signature uses.
  Result<std::vector<UsedVariable>> Variables(std::string_view signature);

  // InvalidArgument, listing what the signature takes, where the inputs do not fit it.
  Status CheckInputs(std::string_view signature, const NamedHandles& inputs) const;

  // Runs the signature; every op goes through `host`. The inputs must have been checked.
  Result<CallResult> Call(std::string_view signature, const NamedHandles& inputs,
                          interp::Host& host);

 private:
  SavedModel() = default;
  Status AddFunctions();
  Status Restore();
  Status RestoreOriginals();
  Status Initialize();
  std::vector<Feed> AssetFeeds() const;
  std::vector<std::string> Fetches(std::string_view signature) const;

  TFE_Context* context_ = nullptr;
  std::unique_ptr<SavedModelFile> file_;
  Rewrite rewrite_;
  std::unique_ptr<ModelNames> names_;
  std::unique_ptr<MainGraph> main_;
  std::vector<std::pair<std::string, tf::HandlePtr>> assets_;
};

// "x: float32 (?, 3), k: float32 ()"
std::string DescribeTensors(const TensorInfos& infos);

}  // namespace flowscope::savedmodel
