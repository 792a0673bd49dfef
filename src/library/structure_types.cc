#include "library/structure_types.h"

#include <map>

#include <protozero/pbf_reader.hpp>

#include "interp/attr_value.h"
#include "savedmodel/proto.h"
#include "trace/attrs.h"

namespace flowscope::library {

DType DTypeNamed(std::string_view name) {
  for (int number = 1; number <= static_cast<int>(kLastDType); ++number) {
    if (DTypeName(static_cast<DType>(number)) == name) return static_cast<DType>(number);
  }
  return DType::kInvalid;
}

namespace {

constexpr std::string_view kShapes = "_output_shapes";

using Attrs = std::map<std::string, std::string>;

AttrData Decode(const Attrs& attrs, const std::string& name) {
  const auto found = attrs.find(name);
  if (found == attrs.end()) return {};
  Result<AttrData> data = DecodeAttr(found->second);
  return data.ok() ? *data : AttrData();
}

DType Named(const AttrScalar& scalar) {
  const auto* name = std::get_if<std::string>(&scalar);
  return name == nullptr ? DType::kInvalid : DTypeNamed(*name);
}

std::vector<DType> DTypesOf(const tf::OpDef& def, const Attrs& attrs, uint32_t count) {
  std::vector<DType> dtypes;
  for (const tf::OpArg& arg : def.outputs) {
    if (!arg.type_list_attr.empty()) {
      for (const AttrScalar& type : Decode(attrs, arg.type_list_attr).list) {
        dtypes.push_back(Named(type));
      }
      continue;
    }
    const DType dtype =
        arg.type_attr.empty() ? arg.type : Named(Decode(attrs, arg.type_attr).scalar);
    const auto number =
        arg.number_attr.empty() ? AttrScalar(int64_t{1}) : Decode(attrs, arg.number_attr).scalar;
    const auto* times = std::get_if<int64_t>(&number);
    for (int64_t i = 0; times != nullptr && i < *times && dtypes.size() < count; ++i) {
      dtypes.push_back(dtype);
    }
  }
  return dtypes;
}

// The same list without the note on shapes.
std::string Shown(std::string_view name_attr_list, const Attrs& attrs) {
  if (!attrs.contains(std::string(kShapes))) return std::string(name_attr_list);
  interp::AttrList shown;
  for (const auto& [name, value] : attrs) {
    if (name != kShapes) shown.emplace_back(name, value);
  }
  const Result<interp::FunctionRef> list = interp::ParseFunctionRef(name_attr_list);
  return interp::WriteNameAttrList(list.ok() ? list->name : std::string_view(), shown);
}

}  // namespace

Outputs OutputsOf(const tf::OpDef* def, std::string_view name_attr_list, uint32_t count) {
  Outputs outputs;
  outputs.dtypes.assign(count, DType::kInvalid);
  outputs.dims.resize(count);
  outputs.shown_attrs = name_attr_list;
  const Result<Attrs> attrs = SplitAttrs(name_attr_list);
  if (!attrs.ok()) return outputs;
  if (def != nullptr) {
    std::vector<DType> dtypes = DTypesOf(*def, *attrs, count);
    dtypes.resize(count, DType::kInvalid);
    outputs.dtypes = std::move(dtypes);
  }
  const AttrData shapes = Decode(*attrs, std::string(kShapes));
  for (size_t i = 0; i < count && i < shapes.list.size(); ++i) {
    if (const auto* dims = std::get_if<std::vector<int64_t>>(&shapes.list[i])) {
      outputs.dims[i] = *dims;
    }
  }
  outputs.shown_attrs = Shown(name_attr_list, *attrs);
  return outputs;
}

ConstantType ConstantTypeOf(std::string_view tensor_proto) {
  using protozero::tag_and_type;
  ConstantType type;
  try {
    protozero::pbf_reader reader(tensor_proto.data(), tensor_proto.size());
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case tag_and_type(1, savedmodel::kVarint):
          type.dtype = savedmodel::ToDType(reader.get_int64());
          break;
        case tag_and_type(2, savedmodel::kBytes):
          type.dims = savedmodel::ReadShape(reader.get_message());
          break;
        default:
          reader.skip();
      }
    }
  } catch (const protozero::exception&) {
    return {};
  }
  // An empty shape is left out.
  if (!type.dims && type.dtype != DType::kInvalid) type.dims = Dims();
  return type;
}

}  // namespace flowscope::library
