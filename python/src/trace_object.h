// What Python holds as a Trace: the recording, its lookup index, and where
// configurations come from. Every record object (op, layer, module ...) shares it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "trace/lookup.h"
#include "trace/trace.h"

namespace flowscope::python {

struct TraceObject {
  explicit TraceObject(std::shared_ptr<const Trace> recorded)
      : trace(std::move(recorded)), lookup(*trace) {}

  std::shared_ptr<const Trace> trace;
  Lookup lookup;
  // Gives a module's configuration as JSON, by module number, where the record has none: asking a
  // layer for it runs its code, so it is asked when somebody looks. Holds weak references only.
  nanobind::object config_source;
};
using TracePtr = std::shared_ptr<TraceObject>;

}  // namespace flowscope::python
