#include "trace/attrs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <protozero/pbf_reader.hpp>

#include "base/dtype.h"
#include "trace/proto.h"

namespace flowscope {
namespace {

using proto::ReadBool;
using protozero::pbf_reader;

// Field numbers of tensorflow.AttrValue; ListValue has the same ones except for func.
enum AttrField : uint32_t {
  kList = 1,
  kString = 2,
  kInt = 3,
  kFloat = 4,
  kBool = 5,
  kType = 6,
  kShape = 7,
  kTensor = 8,
  kPlaceholder = 9,
  kFunc = 10,
  kListFunc = 9,
};

constexpr int kRefOffset = 100;  // a reference to dtype n is numbered n + 100
constexpr size_t kShownBytes = 200;
constexpr size_t kShownElements = 32;

struct Scalar {
  std::string_view kind;
  AttrScalar value;
};

std::string TypeName(int32_t number) {
  const int32_t plain = number > kRefOffset ? number - kRefOffset : number;
  if (plain < 0 || plain > UINT8_MAX) return "dtype " + std::to_string(number);
  return std::string(DTypeName(static_cast<DType>(plain))) + (number > kRefOffset ? "_ref" : "");
}

pbf_reader Reader(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

int64_t ReadDimSize(pbf_reader dim) {
  int64_t size = 0;
  while (dim.next()) {
    if (dim.tag() == 1 && dim.wire_type() == proto::kVarint) {
      size = dim.get_int64();
    } else {
      dim.skip();
    }
  }
  return size;
}

AttrScalar ReadShape(pbf_reader shape) {
  std::vector<int64_t> dims;
  bool known = true;
  while (shape.next()) {
    if (shape.tag() == 2 && shape.wire_type() == proto::kBytes) {
      dims.push_back(ReadDimSize(shape.get_message()));
    } else if (shape.tag() == 3 && shape.wire_type() == proto::kVarint) {
      known = !ReadBool(shape);
    } else {
      shape.skip();
    }
  }
  return known ? AttrScalar(std::move(dims)) : AttrScalar();
}

std::string ReadFunctionName(pbf_reader function) {
  std::string name;
  while (function.next()) {
    if (function.tag() == 1 && function.wire_type() == proto::kBytes) {
      name = function.get_string();
    } else {
      function.skip();
    }
  }
  return name;
}

bool ReadVarint(uint32_t field, pbf_reader& reader, Scalar& scalar) {
  switch (field) {
    case kInt:
      scalar = {"int", reader.get_int64()};
      return true;
    case kBool:
      scalar = {"bool", ReadBool(reader)};
      return true;
    case kType:
      scalar = {"type", TypeName(reader.get_int32())};
      return true;
    default:
      return false;
  }
}

bool ReadMessage(uint32_t field, pbf_reader& reader, Scalar& scalar) {
  switch (field) {
    case kString:
      scalar = {"string", reader.get_string()};
      return true;
    case kShape:
      scalar = {"shape", ReadShape(reader.get_message())};
      return true;
    case kTensor:
      reader.skip();
      scalar = {"tensor", {}};
      return true;
    case kFunc:
      scalar = {"func", ReadFunctionName(reader.get_message())};
      return true;
    default:
      return false;
  }
}

// False, with the field not consumed, where it is not a scalar of that wire type.
bool ReadScalar(uint32_t field, pbf_reader& reader, Scalar& scalar) {
  switch (reader.wire_type()) {
    case proto::kVarint:
      return ReadVarint(field, reader, scalar);
    case proto::kBytes:
      return ReadMessage(field, reader, scalar);
    case proto::kFixed32:
      if (field != kFloat) return false;
      scalar = {"float", static_cast<double>(reader.get_float())};
      return true;
    default:
      return false;
  }
}

void Append(Scalar scalar, AttrData& data) {
  data.list_kind = scalar.kind;
  data.list.push_back(std::move(scalar.value));
}

// Numbers in lists are packed: one field holds all of them.
bool ReadPacked(uint32_t field, pbf_reader& reader, AttrData& data) {
  if (reader.wire_type() != proto::kBytes) return false;
  switch (field) {
    case kInt:
      for (int64_t value : reader.get_packed_int64()) Append({"int", value}, data);
      return true;
    case kFloat:
      for (float value : reader.get_packed_float()) Append({"float", double{value}}, data);
      return true;
    case kBool:
      for (bool value : reader.get_packed_bool()) Append({"bool", value}, data);
      return true;
    case kType:
      for (int32_t value : reader.get_packed_int32()) Append({"type", TypeName(value)}, data);
      return true;
    default:
      return false;
  }
}

void ReadList(pbf_reader list, AttrData& data) {
  data.kind = "list";
  data.list_kind = "none";
  while (list.next()) {
    const uint32_t field = list.tag() == kListFunc ? uint32_t{kFunc} : list.tag();
    Scalar scalar;
    if (ReadPacked(field, list, data)) continue;
    if (ReadScalar(field, list, scalar)) {
      Append(std::move(scalar), data);
    } else {
      list.skip();
    }
  }
}

AttrData Decode(pbf_reader value) {
  AttrData data;
  data.kind = "none";
  while (value.next()) {
    Scalar scalar;
    if (value.tag() == kList && value.wire_type() == proto::kBytes) {
      ReadList(value.get_message(), data);
    } else if (ReadScalar(value.tag(), value, scalar)) {
      data.kind = scalar.kind;
      data.scalar = std::move(scalar.value);
    } else {
      value.skip();
    }
  }
  return data;
}

std::string Quote(const std::string& bytes) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : std::string_view(bytes).substr(0, kShownBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (c == '\n') {
      text += "\\n";
    } else if (byte < 0x20 || byte >= 0x7f) {
      text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      text += c;
    }
  }
  text += '"';
  if (bytes.size() > kShownBytes) text += "... (" + std::to_string(bytes.size()) + " bytes)";
  return text;
}

// Attributes are stored as float32: the shortest text that reads back as the same one.
std::string FormatFloat(double value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.begin(), buffer.end(), static_cast<float>(value)).ptr;
  std::string text(buffer.begin(), end);
  const bool looks_whole = text.find_first_not_of("-0123456789") == std::string::npos;
  return looks_whole ? text + ".0" : text;
}

template <typename T, typename Format>
std::string Join(const std::vector<T>& items, Format format) {
  std::string text = "[";
  for (size_t i = 0; i < std::min(items.size(), kShownElements); ++i) {
    text += (i > 0 ? ", " : "") + format(items[i]);
  }
  if (items.size() > kShownElements) text += ", ... (" + std::to_string(items.size()) + ")";
  return text + "]";
}

std::string FormatDim(int64_t dim) { return dim < 0 ? "?" : std::to_string(dim); }

// Without the prefix that says what a type, shape or function is.
std::string FormatScalar(std::string_view kind, const AttrScalar& scalar) {
  if (const auto* value = std::get_if<int64_t>(&scalar)) return std::to_string(*value);
  if (const auto* value = std::get_if<double>(&scalar)) return FormatFloat(*value);
  if (const auto* value = std::get_if<bool>(&scalar)) return *value ? "true" : "false";
  if (const auto* value = std::get_if<std::vector<int64_t>>(&scalar))
    return Join(*value, FormatDim);
  if (const auto* value = std::get_if<std::string>(&scalar)) {
    return kind == "string" ? Quote(*value) : *value;
  }
  return kind == "shape" ? "?" : std::string(kind);
}

// TensorProto: field 1 is the dtype, field 2 the shape.
std::string FormatTensor(pbf_reader tensor) {
  std::string type = TypeName(0);
  std::string shape = "[]";
  while (tensor.next()) {
    if (tensor.tag() == 1 && tensor.wire_type() == proto::kVarint) {
      type = TypeName(tensor.get_int32());
    } else if (tensor.tag() == 2 && tensor.wire_type() == proto::kBytes) {
      shape = FormatScalar("shape", ReadShape(tensor.get_message()));
    } else {
      tensor.skip();
    }
  }
  return "tensor: " + type + shape;
}

std::string Format(std::string_view attr_value) {
  const AttrData data = Decode(Reader(attr_value));
  if (data.kind == "list") {
    return Join(data.list,
                [&](const AttrScalar& scalar) { return FormatScalar(data.list_kind, scalar); });
  }
  if (data.kind == "tensor") {
    pbf_reader value = Reader(attr_value);
    if (value.next(kTensor, proto::kBytes)) return FormatTensor(value.get_message());
  }
  const std::string text = FormatScalar(data.kind, data.scalar);
  const bool prefixed = data.kind == "type" || data.kind == "shape" || data.kind == "func";
  return prefixed ? data.kind + ": " + text : text;
}

void ReadMapEntry(pbf_reader entry, std::map<std::string, std::string>& attrs) {
  std::string key;
  std::string value;
  while (entry.next()) {
    const bool is_bytes = entry.wire_type() == proto::kBytes;
    if (is_bytes && entry.tag() == 1) {
      key = entry.get_string();
    } else if (is_bytes && entry.tag() == 2) {
      value = entry.get_string();
    } else {
      entry.skip();
    }
  }
  attrs.insert_or_assign(std::move(key), std::move(value));
}

Status Malformed(const char* what, const protozero::exception& error) {
  return Corruption(std::string(what) + " is not a valid protocol buffer: " + error.what());
}

}  // namespace

Result<std::map<std::string, std::string>> SplitAttrs(std::string_view name_attr_list) {
  std::map<std::string, std::string> attrs;
  try {
    pbf_reader reader = Reader(name_attr_list);
    while (reader.next()) {
      if (reader.tag() == 2 && reader.wire_type() == proto::kBytes) {
        ReadMapEntry(reader.get_message(), attrs);
      } else {
        reader.skip();
      }
    }
  } catch (const protozero::exception& error) {
    return Malformed("a list of op attributes", error);
  }
  return attrs;
}

std::string FormatAttr(std::string_view attr_value) {
  try {
    return Format(attr_value);
  } catch (const protozero::exception& error) {
    return std::string("malformed attribute (") + error.what() + ")";
  }
}

Result<AttrData> DecodeAttr(std::string_view attr_value) {
  try {
    return Decode(Reader(attr_value));
  } catch (const protozero::exception& error) {
    return Malformed("an op attribute", error);
  }
}

}  // namespace flowscope
