// Who asked for the ops of a function's body, as Python tells it.
#pragma once

#include <memory>
#include <string>

#include <nanobind/nanobind.h>

#include "capture/body_origins.h"
#include "capture/call_site.h"

namespace flowscope::python {

// An answer that the engine found itself.
struct FoundOrigins {
  std::shared_ptr<const capture::BodyOrigins> origins;
};

// From an answer of python/flowscope/_bodies.py. Throws nanobind's exceptions where it is another.
std::shared_ptr<const capture::BodyOrigins> OriginsFrom(const nanobind::object& answer,
                                                        capture::CallSiteProvider& sites);

// Asks `describe(function name)`, whose answer python/flowscope/_bodies.py states. What goes wrong
// in it is as if nothing were known.
class PythonBodyOrigins : public capture::BodyOriginProvider {
 public:
  PythonBodyOrigins(nanobind::object describe, std::shared_ptr<capture::CallSiteProvider> sites);
  ~PythonBodyOrigins() override;

  std::shared_ptr<const capture::BodyOrigins> Of(const std::string& function) override;

 private:
  nanobind::object describe_;
  std::shared_ptr<capture::CallSiteProvider> sites_;
};

}  // namespace flowscope::python
