// From Status to the exceptions of flowscope.errors: the one place where that is decided.
#pragma once

#include <string_view>
#include <utility>

#include <nanobind/nanobind.h>

#include "base/status.h"

namespace flowscope::python {

// A message as Python's text. It can name a file, or a part of a damaged one, that is no UTF-8.
nanobind::object MessageText(std::string_view text);

// Where an error of Python ends that ours must not become the program's: false. An interrupt, or
// what else is no Exception, is the program's own that fell into our code: the main thread, which
// alone gets those from outside, raises it when it goes on.
bool PassOnInterrupt(nanobind::python_error& error);

// Throws the Python exception for a status that is not ok.
void Check(const Status& status);

template <typename T>
T Unwrap(Result<T> result) {
  Check(result.status());
  return std::move(result).value();
}

}  // namespace flowscope::python
