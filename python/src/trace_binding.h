// The Trace class of Python.
#pragma once

#include <memory>
#include <string_view>

#include <nanobind/nanobind.h>

#include "trace_object.h"

namespace flowscope::python {

// What Python holds as a Trace: a light value like every record. Python objects that belong to the
// call, such as its output, live in the instance's own dictionary, where the garbage collector sees
// them; records share only the TraceObject, so no reference cycle goes through C++.
struct TraceHandle {
  TracePtr object;
  const Trace& trace() const { return *object->trace; }
};

// A new Trace object of Python; its `output` is set through `_set_output`.
nanobind::object TraceToPython(std::shared_ptr<const Trace> trace);

// Null where the object is no Trace.
TracePtr TraceFromPython(nanobind::handle object);

// Parts of the class, by file.
void DefTraceFacts(nanobind::class_<TraceHandle>& type);
void DefTraceValues(nanobind::class_<TraceHandle>& type);
void DefTraceAnalysis(nanobind::class_<TraceHandle>& type);
void DefTraceStatus(nanobind::class_<TraceHandle>& type);
void DefTraceStore(nanobind::class_<TraceHandle>& type);
void RegisterValidationReport(nanobind::module_& m);
void RegisterNonFinite(nanobind::module_& m);

// trace.first_nonfinite(); None where every kept value is finite.
nanobind::object FirstNonFiniteOf(const TraceHandle& self);

// True for ops that were not computed in the run or that begin a chain of values.
bool IsSourceOp(OpKind kind);

}  // namespace flowscope::python
