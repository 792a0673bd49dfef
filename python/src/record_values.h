// The value of one recorded tensor as Python sees it, and the error where there is none.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include "base/payload.h"
#include "trace/trace.h"

namespace flowscope::python {

// A NumPy array, so that signatures say so.
class NumpyArray : public nanobind::object {
 public:
  static bool Is(PyObject* object);
  NB_OBJECT(NumpyArray, nanobind::object, "numpy.ndarray", Is)
};

// UnavailableError where the trace does not have the value: names `what` ("matmul_1_3:1", "input 0
// of add_1_2:1"), the state, and what to do about it. A tensor that is kNoId was not recorded.
Payload ReadValue(const Trace& trace, TensorId tensor, const std::string& what);
NumpyArray ValueOf(const Trace& trace, TensorId tensor, const std::string& what);

// The values of named tensors in order; `what` is followed by the path of the one that fails.
std::vector<NumpyArray> ValuesOf(const Trace& trace, std::span<const NamedTensor> tensors,
                                 const std::string& what);

// A rank-zero value as Python's own number, bool or bytes; None where it was not kept.
nanobind::object ScalarOf(const Trace& trace, TensorId tensor);

// The statistics kept while recording, else those of the value, computed without the GIL.
nanobind::dict StatsOf(const Trace& trace, TensorId tensor, const std::string& what);

using OptionalShape = std::optional<nanobind::typed<nanobind::tuple, int, nanobind::ellipsis>>;
nanobind::tuple ToTuple(std::span<const int64_t> numbers);
OptionalShape ShapeOf(const Trace& trace, TensorId tensor);
std::optional<std::string> DTypeOf(const Trace& trace, TensorId tensor);

// nullopt for the empty string.
std::optional<std::string> TextOrNone(const Trace& trace, StringId text);

// Decoded attributes of a serialized NameAttrList: numbers, strings, dtypes by name, shapes as
// tuples with None where unknown, functions by name; a tensor is described, not decoded.
nanobind::dict AttrsToDict(std::string_view name_attr_list);

inline double Seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

}  // namespace flowscope::python
