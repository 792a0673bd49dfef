// The layers of a saved Keras model, told from the names of nodes.
//
// Keras opens a scope with the layer's name around every call ("model/conv1/convolution") and names
// variables so too. Traced again for export, scopes get a number at their end ("model_1/conv1_1"),
// since the variables' names are taken. What has variables is known by them; a scope right below a
// module that holds other modules is a layer without variables, unless it is a part of an op.
//
// A function without the model's own scope, as that of an endpoint that is model.call, has layers
// where the variables which its outermost scopes take are those of a layer of that name.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interp/function_def.h"
#include "savedmodel/variable_arguments.h"

namespace flowscope::savedmodel {

inline constexpr uint32_t kNoScope = UINT32_MAX;

struct ScopeModule {
  std::string address;  // "encoder.dense"; "self" for the model itself
  std::string name;     // "dense"
  uint32_t parent = kNoScope;
};

// Calls of modules in one function body. A second scope of one layer is a second call.
struct ScopeCalls {
  struct Call {
    uint32_t module = kNoScope;
    uint32_t parent = kNoScope;  // in `calls`
  };
  std::vector<Call> calls;
  std::unordered_map<std::string, uint32_t> call_of_node;  // the innermost
};

class Scopes {
 public:
  Scopes() = default;
  // Names of variables as they were created: "model/dense/kernel", or "dense/kernel" where the
  // layer is older than the model. No modules where no variable is known by a scope of the bodies.
  Scopes(const std::set<std::string>& variable_names,
         const std::vector<interp::FunctionDef>& bodies, const VariableArguments& arguments = {});

  // The model itself is the first one. Parents stand before their children.
  const std::vector<ScopeModule>& modules() const { return modules_; }

  ScopeCalls CallsOf(const interp::FunctionDef& function) const;

  // The module whose variable has this name; kNoScope where none has.
  uint32_t OwnerOf(std::string_view variable_name) const;
  // "dense.kernel"; empty where nothing is known.
  std::string AddressOf(std::string_view variable_name) const;

 private:
  // An outermost scope of a function, and the variables that its nodes take.
  struct Outermost {
    size_t num_nodes = 0;  // those that stand in a scope below it
    std::set<std::string> reads;
  };
  using OutermostScopes = std::map<std::string, Outermost, std::less<>>;
  using ByFunction = std::map<std::string, OutermostScopes, std::less<>>;

  static ByFunction OutermostOf(const std::vector<interp::FunctionDef>& bodies,
                                const VariableArguments& arguments);
  void FindRoot(const ByFunction& functions, const std::set<std::string>& layers);
  static bool ReadsMore(const std::set<std::string>& reads, const ByFunction& functions);
  static bool IsLayer(std::string_view scope, const ByFunction& functions);
  void FindRootName(const ByFunction& functions);
  void FindBelowRoot(const std::vector<interp::FunctionDef>& bodies);
  void AddVariables(const std::set<std::string>& names);
  void FindLayers(const ByFunction& functions);
  uint32_t LayerOf(std::string_view scope, const std::set<std::string>& reads) const;
  bool Holds(uint32_t module, uint32_t other) const;
  // Whether a scope right below a module can be that of a layer without variables.
  bool CanBeLayer(std::string_view scope, const std::unordered_set<std::string_view>& scopes,
                  const std::unordered_set<std::string_view>& nodes) const;
  void AddBody(const interp::FunctionDef& function);
  std::vector<std::string_view> PathOf(std::string_view variable_name) const;
  uint32_t AddModule(uint32_t parent, std::string_view name);
  uint32_t Child(uint32_t module, std::string_view component) const;
  bool IsRoot(std::string_view component) const;
  // The module of an outermost scope of the function; kNoScope where it is none.
  uint32_t ModuleOfOutermost(std::string_view function, std::string_view scope) const;

  std::string root_scope_;            // "model_1"; empty where no function has one
  std::string root_name_;             // "model"
  std::set<std::string> below_root_;  // scopes: "dense_1"
  bool numbered_ = false;             // scopes have a number that names of layers have not
  std::vector<ScopeModule> modules_;
  std::vector<std::map<std::string, uint32_t, std::less<>>> children_;  // by module
  uint32_t num_known_ = 0;  // modules that variables tell
  // Layers by outermost scope, by function.
  std::map<std::string, std::map<std::string, uint32_t, std::less<>>, std::less<>> layers_;
};

}  // namespace flowscope::savedmodel
