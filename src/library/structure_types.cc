#include "library/structure_types.h"

#include <map>
#include <string>

#include "trace/attrs.h"

namespace flowscope::library {

DType DTypeNamed(std::string_view name) {
  for (int number = 1; number <= static_cast<int>(DType::kUint2); ++number) {
    if (DTypeName(static_cast<DType>(number)) == name) return static_cast<DType>(number);
  }
  return DType::kInvalid;
}

Outputs OutputsOf(const tf::OpDef* def, std::string_view name_attr_list, uint32_t count) {
  Outputs outputs;
  outputs.dtypes.assign(count, DType::kInvalid);
  outputs.dims.resize(count);
  const Result<std::map<std::string, std::string>> attrs = SplitAttrs(name_attr_list);
  if (!attrs.ok()) return outputs;
  const auto decode = [&](const std::string& name) -> AttrData {
    const auto found = attrs->find(name);
    if (found == attrs->end()) return {};
    Result<AttrData> data = DecodeAttr(found->second);
    return data.ok() ? *data : AttrData();
  };
  const auto named = [](const AttrScalar& scalar) {
    const auto* name = std::get_if<std::string>(&scalar);
    return name == nullptr ? DType::kInvalid : DTypeNamed(*name);
  };
  std::vector<DType> dtypes;
  for (const tf::OpArg& arg : def != nullptr ? def->outputs : std::vector<tf::OpArg>()) {
    if (!arg.type_list_attr.empty()) {
      for (const AttrScalar& type : decode(arg.type_list_attr).list) dtypes.push_back(named(type));
      continue;
    }
    const DType dtype = arg.type_attr.empty() ? arg.type : named(decode(arg.type_attr).scalar);
    const auto number =
        arg.number_attr.empty() ? AttrScalar(int64_t{1}) : decode(arg.number_attr).scalar;
    const auto* times = std::get_if<int64_t>(&number);
    for (int64_t i = 0; times != nullptr && i < *times && dtypes.size() < count; ++i) {
      dtypes.push_back(dtype);
    }
  }
  for (size_t i = 0; i < count && i < dtypes.size(); ++i) outputs.dtypes[i] = dtypes[i];
  const AttrData shapes = decode("_output_shapes");
  for (size_t i = 0; i < count && i < shapes.list.size(); ++i) {
    if (const auto* dims = std::get_if<std::vector<int64_t>>(&shapes.list[i])) {
      outputs.dims[i] = *dims;
    }
  }
  return outputs;
}

}  // namespace flowscope::library
