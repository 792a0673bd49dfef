// What the attributes of a node tell of its outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/payload.h"
#include "tf/op_registry.h"

namespace flowscope::library {

// kInvalid where no dtype has that name.
DType DTypeNamed(std::string_view name);

// What an op gives: its dtypes from the definition, its shapes from the note that TensorFlow left
// (`_output_shapes`).
struct Outputs {
  std::vector<DType> dtypes;
  std::vector<std::optional<Dims>> dims;
  std::string shown_attrs;  // the NameAttrList without that note
};
// `def` may be null. What is not told is kInvalid and nullopt.
Outputs OutputsOf(const tf::OpDef* def, std::string_view name_attr_list, uint32_t count);

// Of a serialized TensorProto, whose value is not looked at.
struct ConstantType {
  DType dtype = DType::kInvalid;
  std::optional<Dims> dims;
};
ConstantType ConstantTypeOf(std::string_view tensor_proto);

}  // namespace flowscope::library
