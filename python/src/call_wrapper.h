// The callable that stands in a class for `__call__` or `call` while a recording runs.
//
// Written in C so that it adds no frame to the model's tracebacks. Everything asked of it that is
// not a call (signature, doc, attributes of a decorator) is answered by what it wraps.
#pragma once

#include <nanobind/nanobind.h>

namespace flowscope::python {

// CallWrapper(wrapped, is_body, training_position, training_default):
// `is_body`: stands for `call`, else for `__call__`. `training_position` counts from the first
// argument after self, -1 where there is none; `training_default` is used where it is not passed.
nanobind::object MakeCallWrapper(nanobind::object wrapped, bool is_body, int training_position,
                                 nanobind::object training_default);

// True for objects made by MakeCallWrapper.
bool IsCallWrapper(nanobind::handle object);

void RegisterCallWrapper(nanobind::module_& m);

}  // namespace flowscope::python
