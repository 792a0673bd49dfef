// One recorded call of a signature, for the C++ library and for Python.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capture/options.h"
#include "savedmodel/saved_model.h"
#include "tf/handles.h"
#include "trace/trace.h"

namespace flowscope::library {

// The last part of the path, which names traces.
std::string FolderName(const std::string& dir);

struct RecordedCall {
  std::shared_ptr<const Trace> trace;
  std::vector<std::pair<std::string, tf::HandlePtr>> outputs;  // by name; empty where it failed
  Status status;  // what the model ended with; a run that halt= ended is ok
  bool stopped_by_nonfinite = false;
};

// Not ok where recording cannot start, or the inputs do not fit the signature. `options` must name
// root_kind; name and class are filled in. `note` is for the trace; empty for none.
Result<RecordedCall> RecordCall(savedmodel::SavedModel& model, std::string_view signature,
                                const savedmodel::NamedHandles& inputs,
                                capture::RecordOptions options, const std::string& note = {});

}  // namespace flowscope::library
