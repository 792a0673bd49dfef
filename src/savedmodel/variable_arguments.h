// Which variables the functions of a model are given: the names of variables by argument.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "interp/function_def.h"

namespace flowscope::savedmodel {

class VariableArguments {
 public:
  // A call from outside gives `function` this variable.
  void Give(std::string_view function, size_t argument, std::string_view variable);

  // What functions are given is passed on to those that they call.
  void Follow(const std::vector<interp::FunctionDef>& bodies);

  // Names of the variables that a node of `function` takes.
  std::vector<std::string> TakenBy(const interp::FunctionDef& function,
                                   const interp::NodeDef& node) const;

 private:
  using Names = std::map<size_t, std::set<std::string>>;  // by argument

  const Names* Find(std::string_view function) const;
  // True where that was not known.
  bool PassOn(const interp::FunctionDef& function, const interp::NodeDef& node);

  std::map<std::string, Names, std::less<>> given_;  // by function
};

// How many inputs of a node come before those that it gives to the functions that it calls.
size_t InputsBeforeArguments(std::string_view op);

}  // namespace flowscope::savedmodel
