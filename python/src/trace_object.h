// What Python holds as a Trace: the recording, its lookup index, and where
// configurations come from. Every record object (op, layer, module ...) shares it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include <nanobind/nanobind.h>

#include "trace/lookup.h"
#include "trace/trace.h"

namespace flowscope::python {

struct TraceObject {
  explicit TraceObject(std::shared_ptr<const Trace> recorded) : trace(std::move(recorded)) {}

  // Built when somebody first asks for a key: a recording should not pay for it.
  const Lookup& lookup() const {
    std::call_once(lookup_once, [this] { lookup_index.emplace(*trace); });
    return *lookup_index;
  }

  std::shared_ptr<const Trace> trace;
  // Gives a module's configuration as JSON, by module number, where the record has none: asking a
  // layer for it runs its code, so it is asked when somebody looks. Holds weak references only.
  nanobind::object config_source;

  mutable std::once_flag lookup_once;
  mutable std::optional<Lookup> lookup_index;
};
using TracePtr = std::shared_ptr<TraceObject>;

}  // namespace flowscope::python
