// The layers of a saved Keras model, told from the names of nodes.
//
// Keras opens a scope with the layer's name around every call ("model/conv1/convolution") and names
// variables so too. Traced again for export, scopes get a number at their end ("model_1/conv1_1"),
// since the variables' names are taken. What has variables is known by them; a scope right below a
// module that holds other modules is a layer without variables, unless it is a part of an op.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "interp/function_def.h"

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
  // Names of variables as they were created: "model/dense/kernel", or "dense/kernel" where the
  // layer is older than the model. No modules where no variable is known by a scope of the bodies.
  Scopes(const std::set<std::string>& variable_names,
         const std::vector<interp::FunctionDef>& bodies);

  // The model itself is the first one. Parents stand before their children.
  const std::vector<ScopeModule>& modules() const { return modules_; }

  ScopeCalls CallsOf(const interp::FunctionDef& function) const;

  // The module whose variable has this name; kNoScope where none has.
  uint32_t OwnerOf(std::string_view variable_name) const;
  // "dense.kernel"; empty where nothing is known.
  std::string AddressOf(std::string_view variable_name) const;

 private:
  void FindRoot(const std::vector<interp::FunctionDef>& bodies);
  void AddVariables(const std::set<std::string>& names);
  void AddBody(const interp::FunctionDef& function);
  std::vector<std::string_view> PathOf(std::string_view variable_name) const;
  uint32_t AddModule(uint32_t parent, std::string_view name);
  uint32_t Child(uint32_t module, std::string_view component) const;
  bool IsRoot(std::string_view component) const;

  std::string root_scope_;            // "model_1"
  std::string root_name_;             // "model"
  std::set<std::string> below_root_;  // scopes: "dense_1"
  bool numbered_ = false;             // scopes have a number that names of layers have not
  std::vector<ScopeModule> modules_;
  std::vector<std::map<std::string, uint32_t, std::less<>>> children_;  // by module
  uint32_t num_known_ = 0;  // modules that variables tell
};

}  // namespace flowscope::savedmodel
