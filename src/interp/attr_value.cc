#include "interp/attr_value.h"

#include <cstring>
#include <utility>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "base/dtype.h"
#include "trace/proto.h"

namespace flowscope::interp {
namespace {

using proto::kBytes;
using proto::kFixed32;
using proto::kVarint;
using proto::View;
using protozero::pbf_reader;
using protozero::pbf_writer;
using protozero::tag_and_type;

// Fields of AttrValue; its ListValue has the same ones except for functions.
constexpr uint32_t kListField = 1;
constexpr uint32_t kTypeField = 6;
constexpr uint32_t kPlaceholderField = 9;
constexpr uint32_t kListFunctionField = 9;
constexpr uint32_t kFunctionField = 10;

// Functions whose attributes name functions; protobuf itself stops at this depth.
constexpr int kMaxDepth = 100;

Status ReadFunction(std::string_view bytes, AttrValue& value) {
  Result<FunctionRef> function = ParseFunctionRef(bytes);
  if (!function.ok()) return function.status();
  value.functions.push_back(*std::move(function));
  return Status::Ok();
}

Status ReadList(pbf_reader reader, AttrValue& value) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(kTypeField, kBytes):
        value.num_types += reader.get_packed_int32().size();
        break;
      case tag_and_type(kTypeField, kVarint):
        reader.skip();
        ++value.num_types;
        break;
      case tag_and_type(kListFunctionField, kBytes):
        FLOWSCOPE_RETURN_IF_ERROR(ReadFunction(View(reader), value));
        break;
      default:
        reader.skip();
    }
  }
  return Status::Ok();
}

void Set(AttrValue& value, AttrKind kind, int64_t number) {
  value.kind = kind;
  value.number = number;
}

void Set(AttrValue& value, AttrKind kind, std::string_view bytes) {
  value.kind = kind;
  value.bytes = bytes;
}

// One field; a later one takes the place of an earlier one, as in any oneof.
Status ReadField(pbf_reader& reader, AttrValue& value) {
  value = {};
  switch (reader.tag_and_type()) {
    case tag_and_type(kListField, kBytes):
      value.kind = AttrKind::kList;
      return ReadList(reader.get_message(), value);
    case tag_and_type(2, kBytes):
      Set(value, AttrKind::kString, View(reader));
      break;
    case tag_and_type(3, kVarint):
      Set(value, AttrKind::kInt, reader.get_int64());
      break;
    case tag_and_type(4, kFixed32):
      value.kind = AttrKind::kFloat;
      value.real = reader.get_float();
      break;
    case tag_and_type(5, kVarint):
      Set(value, AttrKind::kBool, reader.get_int64());
      break;
    case tag_and_type(kTypeField, kVarint):
      Set(value, AttrKind::kType, reader.get_int64());
      break;
    case tag_and_type(7, kBytes):
      Set(value, AttrKind::kShape, View(reader));
      break;
    case tag_and_type(8, kBytes):
      Set(value, AttrKind::kTensor, View(reader));
      break;
    case tag_and_type(kPlaceholderField, kBytes):
      Set(value, AttrKind::kPlaceholder, View(reader));
      break;
    case tag_and_type(kFunctionField, kBytes):
      value.kind = AttrKind::kFunction;
      return ReadFunction(View(reader), value);
    default:
      reader.skip();
      value.kind = AttrKind::kUnknown;
  }
  return Status::Ok();
}

Result<std::string> SubstituteAt(std::string_view attr_value, const Bindings& bindings,
                                 std::string& unbound, int depth);

// The function with its own attributes rewritten.
Result<std::string> SubstituteFunction(const FunctionRef& function, const Bindings& bindings,
                                       std::string& unbound, int depth) {
  std::vector<std::string> values;
  for (const auto& [name, attr] : function.attrs) {
    Result<std::string> value = SubstituteAt(attr, bindings, unbound, depth + 1);
    if (!value.ok()) return value.status();
    values.push_back(*std::move(value));
  }
  AttrList attrs;
  for (size_t i = 0; i < values.size(); ++i) {
    attrs.emplace_back(function.attrs[i].first, values[i]);
  }
  return WriteNameAttrList(function.name, attrs);
}

Result<std::string> SubstituteFunctions(const AttrValue& value, const Bindings& bindings,
                                        std::string& unbound, int depth) {
  const bool is_list = value.kind == AttrKind::kList;
  std::string list;
  pbf_writer writer(list);
  for (const FunctionRef& function : value.functions) {
    Result<std::string> bytes = SubstituteFunction(function, bindings, unbound, depth);
    if (!bytes.ok()) return bytes.status();
    writer.add_bytes(is_list ? kListFunctionField : kFunctionField, *bytes);
  }
  if (!is_list) return list;
  std::string bytes;
  pbf_writer(bytes).add_bytes(kListField, list);
  return bytes;
}

Result<std::string> SubstituteAt(std::string_view attr_value, const Bindings& bindings,
                                 std::string& unbound, int depth) {
  if (depth > kMaxDepth) return Corruption("attributes of functions are nested too deep");
  Result<AttrValue> value = ParseAttrValue(attr_value);
  if (!value.ok()) return value.status();
  if (value->kind == AttrKind::kPlaceholder) {
    const auto bound = bindings.find(value->bytes);
    if (bound != bindings.end()) return bound->second;
    unbound = value->bytes;
  }
  if (value->functions.empty()) return std::string(attr_value);
  return SubstituteFunctions(*value, bindings, unbound, depth);
}

// TensorProto with dtype int32 and one element, as packed numbers or as bytes.
std::optional<int32_t> ReadScalarInt32(pbf_reader tensor) {
  bool is_int32 = false;
  std::optional<int32_t> value;
  while (tensor.next()) {
    switch (tensor.tag_and_type()) {
      case tag_and_type(1, kVarint):
        is_int32 = tensor.get_int32() == static_cast<int32_t>(DType::kInt32);
        break;
      case tag_and_type(4, kBytes): {
        const std::string_view content = View(tensor);
        if (content.size() != sizeof(int32_t)) return {};
        value.emplace();
        std::memcpy(&*value, content.data(), sizeof(int32_t));
        break;
      }
      case tag_and_type(7, kBytes): {
        const auto numbers = tensor.get_packed_int32();
        if (numbers.size() != 1) return {};
        value = *numbers.begin();
        break;
      }
      default:
        tensor.skip();
    }
  }
  return is_int32 ? value : std::nullopt;
}

}  // namespace

std::optional<int32_t> ScalarInt32(std::string_view attr_value) {
  const Result<AttrValue> value = ParseAttrValue(attr_value);
  if (!value.ok() || value->kind != AttrKind::kTensor) return {};
  try {
    return ReadScalarInt32({value->bytes.data(), value->bytes.size()});
  } catch (const protozero::exception&) {
    return {};
  }
}

Result<AttrValue> ParseAttrValue(std::string_view bytes) {
  AttrValue value;
  try {
    pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) FLOWSCOPE_RETURN_IF_ERROR(ReadField(reader, value));
  } catch (const protozero::exception& error) {
    return Corruption(std::string("an attribute is not a valid protocol buffer: ") + error.what());
  }
  return value;
}

Result<std::string> Substitute(std::string_view attr_value, const Bindings& bindings,
                               std::string& unbound) {
  return SubstituteAt(attr_value, bindings, unbound, 0);
}

std::string WriteNameAttrList(std::string_view name, const AttrList& attrs) {
  std::string bytes;
  pbf_writer list(bytes);
  list.add_string(1, name.data(), name.size());
  for (const auto& [key, value] : attrs) {
    pbf_writer entry(list, 2);
    entry.add_string(1, key.data(), key.size());
    entry.add_bytes(2, value.data(), value.size());
  }
  return bytes;
}

}  // namespace flowscope::interp
