#include <algorithm>
#include <filesystem>

#include "base/edit_distance.h"
#include "savedmodel/read_file.h"
#include "savedmodel/saved_model.h"

namespace flowscope::savedmodel {
namespace {

constexpr std::string_view kFile = "saved_model.pb";

// What is there instead of a SavedModel, in words.
Status WhatIsThere(const std::filesystem::path& dir) {
  std::error_code error;
  if (!std::filesystem::exists(dir, error)) {
    if (error) return IoError(dir.string() + " cannot be read: " + error.message());
    return NotFound(dir.string() + " does not exist");
  }
  if (!std::filesystem::is_directory(dir, error)) {
    return InvalidArgument(dir.string() +
                           " is a file; expected the folder of a SavedModel, which "
                           "holds " +
                           std::string(kFile));
  }
  // A folder that nobody may look into has no file that anybody sees.
  (void)std::filesystem::exists(dir / kFile, error);
  if (error) return IoError(dir.string() + " cannot be looked into: " + error.message());
  const char* hint = std::filesystem::exists(dir / "saved_model.pbtxt", error)
                         ? "; it has a saved_model.pbtxt, which is not read: save it in binary form"
                         : "";
  return NotFound(dir.string() + " is no SavedModel: it has no " + std::string(kFile) + hint);
}

size_t ChooseGraph(const std::vector<MetaGraph>& graphs) {
  const auto serves = [](const MetaGraph& graph) {
    return std::ranges::find(graph.tags, "serve") != graph.tags.end();
  };
  const auto found = std::ranges::find_if(graphs, serves);
  return found == graphs.end() ? 0 : static_cast<size_t>(found - graphs.begin());
}

std::string Joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    text.append(text.empty() ? "" : ", ").append(name);
  }
  return text;
}

}  // namespace

Result<std::unique_ptr<SavedModelFile>> SavedModelFile::Open(const std::string& dir) {
  const std::filesystem::path path = std::filesystem::path(dir) / kFile;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return WhatIsThere(dir);
  Result<std::string> bytes = ReadFile(path.string());
  if (!bytes.ok()) return bytes.status();
  std::unique_ptr<SavedModelFile> file(new SavedModelFile);
  file->dir_ = dir;
  file->bytes_ = std::move(bytes).value();
  Result<std::vector<MetaGraph>> graphs = ParseSavedModel(file->bytes_);
  if (!graphs.ok()) {
    return Corruption(path.string() + " is damaged: " + graphs.status().message() +
                      "; copy it again from where it was saved");
  }
  file->graphs_ = std::move(graphs).value();
  file->chosen_ = ChooseGraph(file->graphs_);
  return file;
}

std::vector<std::string_view> SavedModelFile::SignatureKeys() const {
  std::vector<std::string_view> keys;
  for (const auto& [key, signature] : graph().signatures) {
    if (!key.starts_with("__")) keys.push_back(key);
  }
  return keys;
}

Result<std::string_view> SavedModelFile::FindSignature(std::string_view key) const {
  const std::vector<std::string_view> keys = SignatureKeys();
  if (keys.empty()) {
    return Unsupported(dir_ + " has no signature to run; save it with signatures=");
  }
  const std::string_view wanted = key.empty() ? "serving_default" : key;
  const auto found = std::ranges::find(keys, wanted);
  if (found != keys.end()) return *found;
  if (key.empty() && keys.size() == 1) return keys.front();
  const std::vector<std::string> near = Nearest(key, keys, 1);
  return NotFound(dir_ + " has no signature '" + std::string(wanted) + "'" +
                  (near.empty() ? "" : ", did you mean '" + near.front() + "'?") +
                  "; its signatures are " + Joined(keys));
}

}  // namespace flowscope::savedmodel
