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

int RaiseHeld(void* held) {
  const nb::object error = nb::steal(static_cast<PyObject*>(held));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  return -1;
}

bool IsMainThread() {
  const nb::module_ threading = nb::module_::import_("threading");
  return threading.attr("current_thread")().is(threading.attr("main_thread")());
}

}  // namespace

bool PassOnInterrupt(nb::python_error& error) {
  if (error.matches(PyExc_Exception)) return false;
  nb::object held = nb::borrow(error.value());
  try {
    if (!IsMainThread()) return false;
  } catch (const nb::python_error&) {
    return false;
  }
  if (Py_AddPendingCall(&RaiseHeld, held.ptr()) != 0) return false;
  held.release();
  return true;
}

nb::object MessageText(std::string_view text) {
  const auto size = static_cast<Py_ssize_t>(text.size());
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), size, "surrogateescape"));
}

void Check(const Status& status) {
  if (status.ok()) return;
  const nb::object error = nb::module_::import_("flowscope.errors").attr(ErrorClass(status.code()));
  const nb::object message = MessageText(status.message());
  PyErr_SetObject(error.ptr(), message.ptr());
  throw nb::python_error();
}

}  // namespace flowscope::python
