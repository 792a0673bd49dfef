// The structure of a SavedModel's signature, from its file alone: no kernel runs, no variable is
// restored, no value is held.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "savedmodel/saved_model.h"
#include "trace/trace.h"

namespace flowscope::library {

// Ops in the order in which they would run, with the shapes that the file tells (-1 where a
// dimension is not known). A call of a function is opened; a loop stands as its condition and one
// iteration; all branches of a branch are listed, and what follows takes the first one's values.
// Needs TensorFlow's op registry. Unsupported where the main graph has TensorFlow 1 loops.
Result<std::shared_ptr<const Trace>> StructureOf(const savedmodel::SavedModelFile& file,
                                                 std::string_view signature,
                                                 const std::string& name);

}  // namespace flowscope::library
