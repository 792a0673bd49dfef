// What discovery found of one root, told to the recorder at the start of every recording of it.
#pragma once

#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "capture/variables.h"
#include "session.h"

namespace flowscope::python {

// Names in the engine's own form, made once for many recordings. Objects are held weakly: a root
// lives as long as without us. Needs the GIL.
class Declarations {
 public:
  struct Module {
    std::vector<std::string> addresses;  // the chosen one first
    std::string class_name;
    std::string name;
    ModuleId parent = kNoId;
    int64_t num_params = 0;
    int64_t num_trainable = 0;
  };

  void AddModule(Module module) { modules_.push_back(std::move(module)); }
  // `resource`: the tf.Variable.
  void AddVariable(nanobind::handle resource, capture::VariableTracker::Declared declared);

  bool empty() const { return modules_.empty(); }

  // Tells all of it to the recorder. `objects`: the modules, in the order in which they were added.
  void DeclareTo(Session& session, const nanobind::list& objects);

 private:
  // `info` is what `handle` pointed to when it was last looked at; a variable whose handle is
  // another object by now is looked at again.
  struct Variable {
    nanobind::object resource;  // weak
    nanobind::object handle;    // weak; none before the first look
    capture::VariableTracker::Declared declared;
    capture::ResourceInfo info;
  };
  static void Declare(Session& session, Variable& variable);

  std::vector<Module> modules_;
  std::vector<Variable> variables_;
};

}  // namespace flowscope::python
