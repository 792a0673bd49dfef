// Python functions as selectors.
#include <deque>
#include <map>
#include <memory>
#include <thread>

#include <nanobind/nanobind.h>

#include "capture/recorder.h"
#include "errors.h"
#include "live_op.h"
#include "selectors.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

// A reference that may be dropped on any thread, with or without the GIL, also after the
// interpreter is gone.
class AnyThreadRef {
 public:
  explicit AnyThreadRef(nb::object object) noexcept : object_(std::move(object)) {}
  AnyThreadRef() noexcept = default;
  AnyThreadRef(const AnyThreadRef&) = delete;
  AnyThreadRef& operator=(const AnyThreadRef&) = delete;
  ~AnyThreadRef() { Reset(); }

  const nb::object& get() const { return object_; }

  void Reset() {
    if (!object_.is_valid()) return;
    if (Py_IsInitialized() == 0) {
      object_.release();  // there is nobody left to count it
      return;
    }
    const nb::gil_scoped_acquire acquired;
    object_.reset();
  }

  // Both need the GIL.
  nb::object Take() { return std::move(object_); }
  void Set(nb::object object) { object_ = std::move(object); }

 private:
  nb::object object_;
};

struct OwningSelector {
  SelectorPtr selector;
  std::deque<AnyThreadRef> functions;
};

// By thread: the first exception of a predicate that nobody has raised yet. A predicate that is
// asked on a thread that does a part of another's recording answers to that one. Under the GIL.
std::map<std::thread::id, AnyThreadRef>& Errors() {
  static std::map<std::thread::id, AnyThreadRef> errors;
  return errors;
}

nb::object TakeError() {
  const auto found = Errors().find(capture::Recorder::ServedThread());
  if (found == Errors().end()) return {};
  nb::object error = found->second.Take();
  Errors().erase(found);
  return error;
}

void Raise(const nb::object& error) {
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

void KeepError(nb::object error) {
  AnyThreadRef& kept = Errors()[capture::Recorder::ServedThread()];
  if (!kept.get().is_valid()) kept.Set(std::move(error));
}

nb::object NewRuntimeError(const char* text) {
  return nb::borrow(PyExc_RuntimeError)(nb::str(text));
}

// Called from the recorder in whatever state the interpreter is in.
bool Ask(PyObject* predicate, const OpFacts& facts) {
  const nb::gil_scoped_acquire acquired;
  const nb::error_scope pending;  // an exception in flight stays as it is
  try {
    return nb::cast<bool>(nb::bool_(nb::handle(predicate)(nb::cast(LiveOp(facts)))));
  } catch (nb::python_error& error) {
    KeepError(nb::borrow(error.value()));
  } catch (const std::exception& error) {
    KeepError(NewRuntimeError(error.what()));
  }
  return false;
}

}  // namespace

SelectorObject SelectWherePython(nb::callable predicate, const std::string& name_hint) {
  PyObject* borrowed = predicate.ptr();
  SelectorPtr selector =
      SelectWhere([borrowed](const OpFacts& facts) { return Ask(borrowed, facts); }, name_hint);
  return {std::move(selector), {std::move(predicate)}};
}

SelectorPtr ToSelector(nb::handle value) {
  SelectorObject object = ToSelectorObject(value);
  if (object.functions.empty()) return object.selector;
  const auto owner = std::make_shared<OwningSelector>();
  owner->selector = std::move(object.selector);
  for (nb::object& function : object.functions) owner->functions.emplace_back(std::move(function));
  return {owner, owner->selector.get()};
}

void RaisePredicateError() {
  const nb::object error = TakeError();
  if (error.is_valid()) Raise(error);
}

std::vector<OpId> SelectOps(const Trace& trace, const SelectorPtr& selector) {
  nb::object earlier = TakeError();
  Result<std::vector<OpId>> found = Select(trace, selector);
  const nb::object error = TakeError();
  if (earlier.is_valid()) KeepError(std::move(earlier));
  if (error.is_valid()) Raise(error);
  return Unwrap(std::move(found));
}

}  // namespace flowscope::python
