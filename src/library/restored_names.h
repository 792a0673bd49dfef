// Layers and variables of what TensorFlow's loader made of a SavedModel, told as those of the file
// are: the objects have the same attributes, the functions the same nodes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/payload.h"
#include "capture/body_origins.h"
#include "interp/function_bodies.h"
#include "library/scope_origins.h"
#include "savedmodel/variable_names.h"
#include "tf/c_api.h"

namespace flowscope::library {

// A restored object.
struct RestoredObject {
  savedmodel::ObjectKind kind = savedmodel::ObjectKind::kOther;
  std::vector<std::pair<std::string, uint32_t>> children;  // attribute, number of the object
  std::string identifier;                                  // what the file would call its kind
  std::string name;                                        // of a variable, and so on
  std::optional<Dims> dims;
  bool trainable = false;
};

// A function that can be called, and the objects that are its last arguments.
struct RestoredFunction {
  std::string name;
  std::vector<uint32_t> captured;  // kNoScope for what is no object
};

class RestoredNames {
 public:
  // The first object is the root. What `functions` call in `context` belongs to them.
  RestoredNames(TFE_Context* context, std::vector<RestoredObject> objects,
                const std::vector<RestoredFunction>& functions);
  RestoredNames(const RestoredNames&) = delete;
  RestoredNames& operator=(const RestoredNames&) = delete;

  const std::vector<savedmodel::ModelModule>& modules() const { return names_->modules(); }
  // Whether layers are told from the names of nodes.
  bool by_scopes() const { return !names_->scopes().modules().empty(); }
  savedmodel::ModelVariable VariableOf(uint32_t object) const;

  bool Has(std::string_view function) const { return !definitions_->Find(function).empty(); }
  // Who asked for the ops of a function, one of these or, under a name of its own, one that
  // TensorFlow made of these. `modules`: what the trace calls each module, kNoId where it has none.
  // Null where nothing is known.
  std::shared_ptr<const capture::BodyOrigins> OriginsOf(TFE_Context* context,
                                                        const std::string& function,
                                                        std::vector<ModuleId> modules) const;

 private:
  std::vector<RestoredObject> texts_;             // what objects_ points into
  std::vector<savedmodel::SavedObject> objects_;  // what names_ points into
  std::vector<interp::FunctionBody> bodies_;      // what definitions_ points into
  std::unique_ptr<FunctionDefinitions> definitions_;
  std::unique_ptr<savedmodel::ModelNames> names_;
};

}  // namespace flowscope::library
