// A serialized SavedModel, taken apart into what running it needs. TensorFlow is not asked anything
// here, and nothing is copied: all views point into the bytes that were read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/payload.h"
#include "base/status.h"
#include "interp/function_def.h"

namespace flowscope::savedmodel {

// What a signature says of one of its tensors.
struct TensorInfo {
  std::string_view name;  // in the main graph: "node:0"; of an op: "node"
  DType dtype = DType::kInvalid;
  std::optional<Dims> dims;  // -1 for an unknown dimension; nullopt for an unknown rank
  bool composite = false;    // sparse or ragged: `name` is empty
};

using TensorInfos = std::map<std::string_view, TensorInfo>;

struct Signature {
  TensorInfos inputs;
  TensorInfos outputs;
  std::string_view method;
};

struct Asset {
  std::string_view tensor;    // of the main graph, fed with the file's path
  std::string_view filename;  // below the folder "assets"
};

struct Saver {
  std::string_view filename_tensor;
  std::string_view restore_op;
};

enum class ObjectKind : uint8_t {
  kOther,
  kUser,      // a module, a list, a dictionary: anything with attributes
  kFunction,  // with or without a signature of its own
  kVariable,
  kResource,
};

struct SavedVariable {
  std::string_view name;
  DType dtype = DType::kInvalid;
  std::optional<Dims> dims;
  bool trainable = false;
};

// One node of the graph of Python objects that were saved.
struct SavedObject {
  ObjectKind kind = ObjectKind::kOther;
  std::vector<std::pair<std::string_view, uint32_t>> children;  // attribute, number of the object
  std::string_view identifier;                                  // kUser
  std::string_view metadata;                                    // kUser
  SavedVariable variable;                                       // kVariable
};

struct MetaGraph {
  std::vector<std::string_view> tags;
  std::string_view tensorflow_version;
  std::vector<interp::NodeDef> nodes;
  std::vector<std::string_view> functions;  // serialized FunctionDefs
  std::map<std::string_view, Signature> signatures;
  std::map<std::string_view, std::string_view> main_ops;  // collection, its first node
  std::vector<Asset> assets;
  Saver saver;
  std::vector<SavedObject> objects;  // the first one is the root; empty in TensorFlow 1 files
};

// `bytes` must outlive what is returned. Corruption where they are no SavedModel.
Result<std::vector<MetaGraph>> ParseSavedModel(std::string_view bytes);

// The nodes and functions of a serialized GraphDef, with nothing else filled in. `bytes` must
// outlive what is returned. Corruption where they are none.
Result<MetaGraph> ParseGraph(std::string_view bytes);

// The node that a reference of a graph names: "node", "node:1", "^node".
std::string_view NodeOf(std::string_view reference);

// The op that prepares tables and the like after variables are there; empty where there is none.
std::string_view InitOp(const MetaGraph& graph);

}  // namespace flowscope::savedmodel
