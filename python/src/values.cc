#include "values.h"

#include <memory>
#include <string>

#include "base/dtype.h"
#include "errors.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

// What a NumPy array holds as its base: the payload, exposed through the buffer protocol.
struct PayloadBuffer {
  Payload payload;
};

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const auto* owner = nb::inst_ptr<PayloadBuffer>(self);
  return PyBuffer_FillInfo(view, self, const_cast<void*>(owner->payload.data),
                           static_cast<Py_ssize_t>(owner->payload.nbytes), /*readonly=*/1, flags);
}

PyType_Slot kBufferSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)}, {0, nullptr}};

// NumPy's own name of a dtype, or null where it comes from ml_dtypes.
const char* NumpyName(DType dtype) {
  switch (dtype) {
    case DType::kQint8:
      return "int8";
    case DType::kQuint8:
      return "uint8";
    case DType::kQint16:
      return "int16";
    case DType::kQuint16:
      return "uint16";
    case DType::kQint32:
      return "int32";
    case DType::kBfloat16:
    case DType::kFloat8E5m2:
    case DType::kFloat8E4m3fn:
    case DType::kFloat8E4m3fnuz:
    case DType::kFloat8E4m3b11fnuz:
    case DType::kFloat8E5m2fnuz:
    case DType::kInt4:
    case DType::kUint4:
    case DType::kInt2:
    case DType::kUint2:
    case DType::kFloat4E2m1fn:
      return nullptr;
    default:
      return DTypeName(dtype).data();
  }
}

nb::object NumpyDtype(DType dtype) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  if (const char* name = NumpyName(dtype)) return numpy.attr("dtype")(name);
  const nb::module_ extra = nb::module_::import_("ml_dtypes");
  const std::string name(DTypeName(dtype));
  return numpy.attr("dtype")(extra.attr(name.c_str()));
}

nb::object StringsToNumpy(const Payload& payload) {
  nb::list items;
  for (const std::string_view text : payload.strings) {
    items.append(nb::bytes(text.data(), text.size()));
  }
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object array = numpy.attr("empty")(items.size(), nb::arg("dtype") = "object");
  for (size_t i = 0; i < items.size(); ++i) array[nb::int_(i)] = items[i];
  nb::list shape;
  for (const int64_t dim : payload.dims) shape.append(dim);
  const nb::object shaped = array.attr("reshape")(nb::tuple(shape));
  shaped.attr("setflags")(nb::arg("write") = false);
  return shaped;
}

}  // namespace

void RegisterValues(nb::module_& m) {
  nb::class_<PayloadBuffer>(m, "_PayloadBuffer", nb::type_slots(kBufferSlots));
}

nb::object ToNumpy(const Payload& payload) {
  if (payload.dtype == DType::kString) return StringsToNumpy(payload);
  if (!IsPlainBytes(payload.dtype)) {
    Check(Unavailable("a tensor of dtype " + std::string(DTypeName(payload.dtype)) +
                      " has no value that can be shown"));
  }
  const nb::module_ numpy = nb::module_::import_("numpy");
  nb::list shape;
  for (const int64_t dim : payload.dims) shape.append(dim);
  if (payload.num_elements() == 0) {
    return numpy.attr("empty")(nb::tuple(shape), nb::arg("dtype") = NumpyDtype(payload.dtype));
  }
  const nb::object buffer = nb::cast(PayloadBuffer{payload});
  const nb::object flat =
      numpy.attr("frombuffer")(buffer, nb::arg("dtype") = NumpyDtype(payload.dtype));
  return flat.attr("reshape")(nb::tuple(shape));
}

nb::dict ToDict(const Stats& stats) {
  nb::dict out;
  out["count"] = stats.count;
  if (!stats.numeric) return out;
  out["min"] = stats.min;
  out["max"] = stats.max;
  out["mean"] = stats.mean;
  out["std"] = stats.std;
  out["zeros"] = stats.zeros;
  out["nan"] = stats.nan;
  out["pos_inf"] = stats.pos_inf;
  out["neg_inf"] = stats.neg_inf;
  nb::list bins;
  for (const int64_t bin : stats.histogram) bins.append(bin);
  out["histogram"] = bins;
  return out;
}

}  // namespace flowscope::python
