// What the parts of a SavedModel are called: attribute paths in the saved object graph, and the
// names of layers in those of variables.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "savedmodel/meta_graph.h"
#include "savedmodel/scopes.h"

namespace flowscope::savedmodel {

struct ModelModule {
  std::string address;  // "self" for the model itself, which is the first one
  std::string name;
  std::string class_name;  // as the file tells it: "Module" for any object with variables
  uint32_t parent = kNoScope;
  uint32_t object = kNoScope;  // where an object is the module
  int64_t num_params = 0;      // with its children's
  int64_t num_trainable = 0;
};

// A variable of the model.
struct ModelVariable {
  std::vector<std::string> addresses;  // the chosen one first
  std::string name;                    // as it was created
  bool trainable = false;
  uint32_t module = kNoScope;
};

// The objects of variables, by what a variable is asked for: the node that makes its handle.
using VariableObjects = std::map<std::string, uint32_t, std::less<>>;

class ModelNames {
 public:
  explicit ModelNames(const MetaGraph& graph);
  // Of any graph of objects, whose first one is the root, and of the functions that it runs, with
  // the names of the variables that those are given. `objects` must outlive it.
  ModelNames(std::span<const SavedObject> objects, const VariableObjects& variables,
             const std::vector<interp::FunctionDef>& bodies, VariableArguments arguments);

  // Of a variable without an object of its own what is asked for is the name.
  ModelVariable VariableOf(std::string_view node) const;

  // Parents stand before their children. Those of the scopes are the first ones, in their order.
  const std::vector<ModelModule>& modules() const { return modules_; }
  const Scopes& scopes() const { return scopes_; }

 private:
  struct Known {
    std::vector<std::string> paths;  // shortest first
    const SavedVariable* variable = nullptr;
    uint32_t object = 0;
  };
  using ByNode = std::map<std::string, Known, std::less<>>;

  static ByNode VariablesOf(std::span<const SavedObject> objects, const VariableObjects& variables);
  static std::set<std::string> NamesOf(const ByNode& variables);
  void AddScopeModules();
  void AddObjectModules(std::span<const SavedObject> objects);
  static std::set<std::string_view> CopiesOf(const ByNode& variables);
  void CountParams();
  uint32_t OwnerOf(const Known& known) const;

  ByNode by_node_;
  Scopes scopes_;
  std::vector<ModelModule> modules_;
  std::map<std::string, uint32_t, std::less<>> module_by_address_;
};

}  // namespace flowscope::savedmodel
