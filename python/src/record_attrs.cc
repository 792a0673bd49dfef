// Op attributes as Python objects.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "errors.h"
#include "record_values.h"
#include "trace/attrs.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

// Bytes that are no text stay bytes.
nb::object TextOrBytes(const std::string& bytes) {
  PyObject* text =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), nullptr);
  if (text != nullptr) return nb::steal(text);
  PyErr_Clear();
  return nb::bytes(bytes.data(), bytes.size());
}

nb::tuple ShapeTuple(const std::vector<int64_t>& dims) {
  nb::list items;
  for (const int64_t dim : dims) {
    if (dim < 0) {
      items.append(nb::none());
    } else {
      items.append(dim);
    }
  }
  return nb::tuple(items);
}

nb::object ScalarToPython(const AttrScalar& scalar) {
  if (const auto* number = std::get_if<int64_t>(&scalar)) return nb::int_(*number);
  if (const auto* number = std::get_if<double>(&scalar)) return nb::float_(*number);
  if (const auto* flag = std::get_if<bool>(&scalar)) return nb::bool_(*flag);
  if (const auto* text = std::get_if<std::string>(&scalar)) return TextOrBytes(*text);
  if (const auto* dims = std::get_if<std::vector<int64_t>>(&scalar)) return ShapeTuple(*dims);
  return nb::none();
}

nb::object AttrToPython(const std::string& attr_value) {
  const AttrData data = Unwrap(DecodeAttr(attr_value));
  if (data.kind == "tensor") return nb::cast(FormatAttr(attr_value));
  if (data.kind != "list") return ScalarToPython(data.scalar);
  nb::list items;
  for (const AttrScalar& scalar : data.list) items.append(ScalarToPython(scalar));
  return items;
}

}  // namespace

nb::dict AttrsToDict(std::string_view name_attr_list) {
  nb::dict attrs;
  for (const auto& [name, value] : Unwrap(SplitAttrs(name_attr_list))) {
    attrs[nb::str(name.c_str())] = AttrToPython(value);
  }
  return attrs;
}

}  // namespace flowscope::python
