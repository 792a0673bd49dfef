// Selectors as Python objects, and what Python code may give where a selector is meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include "trace/selector.h"

namespace flowscope::python {

// What Python holds as a Selector. The selector only borrows the Python functions that it asks:
// each object holds them for itself, where the garbage collector sees them.
struct SelectorObject {
  SelectorPtr selector;
  std::vector<nanobind::object> functions;
};

inline SelectorObject Wrap(SelectorPtr selector) { return {std::move(selector), {}}; }

// From a Selector; a string (address, label, glob, "all", "none"); None, which is none; a record; a
// position in the trace; a predicate over LiveOp; a list, tuple or set of these, any of which may
// match. InvalidArgumentError for anything else.
SelectorObject ToSelectorObject(nanobind::handle value);

// The same for use beyond this call: keeps the functions alive, and may be dropped on any thread
// and in any GIL state.
SelectorPtr ToSelector(nanobind::handle value);

// A selector that asks a Python function. It may be asked on any thread and in any GIL state. An
// exception in the function never passes through C++: it answers False, and the first one is kept
// for RaisePredicateError.
SelectorObject SelectWherePython(nanobind::callable predicate, const std::string& name_hint);

// Of a plain string: "all", "none", else what SelectText takes.
SelectorPtr SelectorFromText(const std::string& text);

// The name that a selector shows a predicate by.
std::string NameOfCallable(nanobind::handle callable);

bool IsCollection(nanobind::handle value);

// A whole number that a row or a pass can have; InvalidArgumentError, naming `what`, for others.
uint32_t SmallNumber(nanobind::handle value, uint32_t least, std::string_view what);

// Raises the exception that a predicate raised on this thread since the last call, if any.
void RaisePredicateError();

// Ops that match; LookupFailedError with near misses where none does. Raises what a predicate
// raises.
std::vector<OpId> SelectOps(const Trace& trace, const SelectorPtr& selector);

}  // namespace flowscope::python
