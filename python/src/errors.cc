#include "errors.h"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace flowscope::python {
namespace {

// Class names in flowscope.errors.
const char* ErrorClass(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return "InvalidArgumentError";
    case StatusCode::kNotFound:
      return "LookupFailedError";
    case StatusCode::kAmbiguous:
      return "AmbiguousLookupError";
    case StatusCode::kFailedPrecondition:
      return "RecordingStateError";
    case StatusCode::kUnavailable:
      return "UnavailableError";
    case StatusCode::kUnsupported:
      return "UnsupportedError";
    case StatusCode::kCorruption:
      return "CorruptTraceError";
    case StatusCode::kIo:
      return "TraceIOError";
    default:
      return "InternalError";
  }
}

}  // namespace

void Check(const Status& status) {
  if (status.ok()) return;
  const nb::object error = nb::module_::import_("flowscope.errors").attr(ErrorClass(status.code()));
  PyErr_SetString(error.ptr(), status.message().c_str());
  throw nb::python_error();
}

}  // namespace flowscope::python
