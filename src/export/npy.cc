#include "export/npy.h"

#include <algorithm>

namespace flowscope::exports {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kNpyAlignment = 64;

// NumPy's letter and width; empty where the dtype has no bytes.
std::string_view CodeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return "f2";
    case DType::kFloat32:
      return "f4";
    case DType::kFloat64:
      return "f8";
    case DType::kInt8:
    case DType::kQint8:
    case DType::kInt4:
    case DType::kInt2:
      return "i1";
    case DType::kInt16:
    case DType::kQint16:
      return "i2";
    case DType::kInt32:
    case DType::kQint32:
      return "i4";
    case DType::kInt64:
      return "i8";
    case DType::kUint8:
    case DType::kQuint8:
    case DType::kUint4:
    case DType::kUint2:
      return "u1";
    case DType::kUint16:
    case DType::kQuint16:
      return "u2";
    case DType::kUint32:
      return "u4";
    case DType::kUint64:
      return "u8";
    case DType::kBool:
      return "b1";
    case DType::kComplex64:
      return "c8";
    case DType::kComplex128:
      return "c16";
    case DType::kBfloat16:
      return "V2";
    default:
      return IsFloating(dtype) ? "V1" : "";
  }
}

std::string ShapeText(const Dims& dims) {
  std::string text = "(";
  for (const int64_t dim : dims) text += std::to_string(dim) + ", ";
  if (dims.size() > 1) text.resize(text.size() - 2);
  if (dims.size() == 1) text.pop_back();
  return text + ")";
}

std::string HeaderFor(const std::string& descr, const Dims& dims) {
  std::string text =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + ShapeText(dims) + ", }";
  const size_t before = kMagic.size() + 4;
  text.append(kNpyAlignment - (before + text.size() + 1) % kNpyAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header +=
      {'\x01', '\0', static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return header + text;
}

NpyArray StringArray(const Payload& value) {
  size_t width = 1;
  for (const std::string_view text : value.strings) width = std::max(width, text.size());
  NpyArray array;
  array.header = HeaderFor("|S" + std::to_string(width), value.dims);
  array.is_made = true;
  for (const std::string_view text : value.strings) {
    array.made.append(text).append(width - text.size(), '\0');
  }
  return array;
}

}  // namespace

Result<NpyArray> ToNpy(const Payload& value) {
  if (value.dtype == DType::kString) return StringArray(value);
  const std::string_view code = CodeOf(value.dtype);
  if (code.empty()) return Unsupported("NumPy has no " + std::string(DTypeName(value.dtype)));
  const bool no_order = DTypeSize(value.dtype) == 1 || code[0] == 'V';
  NpyArray array;
  array.header = HeaderFor((no_order ? "|" : "<") + std::string(code), value.dims);
  array.borrowed = {static_cast<const char*>(value.data), value.nbytes};
  return array;
}

}  // namespace flowscope::exports
