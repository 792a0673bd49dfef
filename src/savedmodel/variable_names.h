// What the variables of a SavedModel are called: attribute paths in the saved object graph.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "savedmodel/meta_graph.h"

namespace flowscope::savedmodel {

struct ModelVariable;

class VariableNames {
 public:
  explicit VariableNames(const MetaGraph& graph);

  // For the node that makes the variable's handle. Without a record of its own the node's name.
  ModelVariable Of(std::string_view node) const;

 private:
  struct Known {
    std::vector<std::string> paths;  // shortest first
    const SavedVariable* variable = nullptr;
  };
  std::map<std::string, Known, std::less<>> by_node_;
  std::string root_scope_;  // of the names that all variables have, with its '/'
};

}  // namespace flowscope::savedmodel
