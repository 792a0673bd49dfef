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
  // Names of variables as they were created: "model/dense/kernel". Without a "/" in any of them
  // there are no modules.
  explicit Scopes(const std::set<std::string>& variable_names);

  // Learns the layers without variables from a body. All bodies come before the first Calls.
  void AddBody(const interp::FunctionDef& function);

  // The model itself is the first one. Parents stand before their children.
  const std::vector<ScopeModule>& modules() const { return modules_; }

  ScopeCalls CallsOf(const interp::FunctionDef& function) const;

  // The module whose variable has this name; kNoScope where none has.
  uint32_t OwnerOf(std::string_view variable_name) const;

 private:
  uint32_t AddModule(uint32_t parent, std::string_view name);
  uint32_t Child(uint32_t module, std::string_view component, bool numbered) const;
  bool InModel(std::string_view first, bool& numbered) const;

  std::vector<ScopeModule> modules_;
  std::vector<std::map<std::string, uint32_t, std::less<>>> children_;  // by module
  std::string root_name_;
  uint32_t num_known_ = 0;  // modules that variables tell
};

}  // namespace flowscope::savedmodel
