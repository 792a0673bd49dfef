#include "record_values.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "errors.h"
#include "values.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

std::string NotKeptText(const std::string& what) {
  return fmt::format(
      "the value of {} was not kept (state not_kept): save= left it out or the recording was "
      "structure_only. Record again with save=\"all\", or with a selector that matches it",
      what);
}

std::string StatsOnlyText(const Trace& trace, const std::string& what) {
  const std::string& degraded = trace.info().degraded;
  return fmt::format(
      "of {} only statistics were kept (state stats){}{}. Its .stats has them; for the value "
      "record again with keep=\"values\" and a larger save_budget, or save less",
      what, degraded.empty() ? "" : ": ", degraded);
}

std::string NoValueText(const Trace& trace, const TensorRecord& tensor, const std::string& what) {
  if (tensor.dtype == DType::kResource) {
    return fmt::format(
        "{} is a resource handle (state no_value): a handle has no value of its own. If it names a "
        "variable, .variables of the op that uses it has the variable, with its values",
        what);
  }
  if (tensor.dtype == DType::kVariant) {
    return fmt::format(
        "{} is a variant (state no_value), such as a list of tensors or a dataset: it has no "
        "value that can be shown. Look at the ops that read from it",
        what);
  }
  if (tensor.producer != kNoId && trace.op(tensor.producer).error != 0) {
    return fmt::format("{} has no value (state no_value): the op failed with: {}", what,
                       trace.str(trace.op(tensor.producer).error));
  }
  return fmt::format("{} has no value (state no_value)", what);
}

std::string MissingText(const Trace& trace, TensorId id, const std::string& what) {
  const TensorRecord& tensor = trace.tensor(id);
  switch (tensor.state) {
    case PayloadState::kNotKept:
      return NotKeptText(what);
    case PayloadState::kStats:
      return StatsOnlyText(trace, what);
    default:
      return NoValueText(trace, tensor, what);
  }
}

}  // namespace

bool NumpyArray::Is(PyObject* object) {
  return nb::isinstance(object, nb::module_::import_("numpy").attr("ndarray"));
}

Payload ReadValue(const Trace& trace, TensorId id, const std::string& what) {
  if (id == kNoId) {
    Check(Unavailable(fmt::format("{} was not recorded: no op of this run made or used it", what)));
  }
  if (trace.tensor(id).state != PayloadState::kKept) {
    Check(Unavailable(MissingText(trace, id, what)));
  }
  Result<Payload> payload = trace.ReadTensor(id);
  if (payload.ok()) return std::move(payload).value();
  const Status status = payload.status();
  Check(Status(status.code(), fmt::format("the value of {}: {}", what, status.message())));
  return {};
}

NumpyArray ValueOf(const Trace& trace, TensorId id, const std::string& what) {
  return nb::borrow<NumpyArray>(ToNumpy(ReadValue(trace, id, what)));
}

std::vector<NumpyArray> ValuesOf(const Trace& trace, std::span<const NamedTensor> tensors,
                                 const std::string& what) {
  std::vector<NumpyArray> values;
  for (const NamedTensor& named : tensors) {
    values.push_back(
        ValueOf(trace, named.tensor, fmt::format("{} {}", what, trace.str(named.path))));
  }
  return values;
}

nb::object ScalarOf(const Trace& trace, TensorId id) {
  if (id == kNoId || trace.tensor(id).state != PayloadState::kKept) return nb::none();
  const Result<Payload> payload = trace.ReadTensor(id);
  if (!payload.ok()) return nb::none();
  if (payload->num_elements() != 1) return ToNumpy(*payload);
  return ToNumpy(*payload).attr("item")();
}

nb::dict StatsOf(const Trace& trace, TensorId id, const std::string& what) {
  if (id != kNoId) {
    if (const auto stored = trace.StoredStats(id)) return ToDict(*stored);
  }
  const Payload payload = ReadValue(trace, id, what);
  Stats stats;
  {
    const nb::gil_scoped_release released;
    stats = ComputeStats(payload);
  }
  return ToDict(stats);
}

nb::tuple ToTuple(std::span<const int64_t> numbers) {
  nb::list items;
  for (const int64_t number : numbers) {
    items.append(number < 0 ? nb::none() : nb::object(nb::int_(number)));
  }
  return nb::tuple(items);
}

OptionalShape ShapeOf(const Trace& trace, TensorId id) {
  if (id == kNoId) return std::nullopt;
  const std::vector<int64_t>& dims = trace.dims(trace.tensor(id).dims);
  if (!trace.tensor(id).shape_known && dims.empty()) return std::nullopt;
  return ToTuple(dims);
}

std::optional<std::string> DTypeOf(const Trace& trace, TensorId id) {
  if (id == kNoId) return std::nullopt;
  return std::string(DTypeName(trace.tensor(id).dtype));
}

std::optional<std::string> TextOrNone(const Trace& trace, StringId text) {
  if (text == 0) return std::nullopt;
  return std::string(trace.str(text));
}

}  // namespace flowscope::python
