// Reading and rewriting serialized AttrValues as the planner needs them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interp/function_def.h"

namespace flowscope::interp {

enum class AttrKind : uint8_t {
  kNone,  // no value at all
  kList,
  kString,
  kInt,
  kFloat,
  kBool,
  kType,
  kShape,
  kTensor,
  kPlaceholder,
  kFunction,
  kUnknown,  // a kind that this code has never heard of
};

struct AttrValue {
  AttrKind kind = AttrKind::kNone;
  int64_t number = 0;                  // kInt, kBool, kType
  double real = 0;                     // kFloat
  std::string_view bytes;              // kString; kPlaceholder: its name; kTensor: the TensorProto
  std::vector<FunctionRef> functions;  // kFunction, or a list of them
  size_t num_types = 0;                // length of a list of types
};

// The views point into `bytes`. Corruption where they are no AttrValue.
Result<AttrValue> ParseAttrValue(std::string_view bytes);

// The value of a constant of one int32; nullopt for any other value.
std::optional<int32_t> ScalarInt32(std::string_view attr_value);

// What the caller of a function puts in place of the placeholders of its body.
using Bindings = std::map<std::string, std::string, std::less<>>;

// Puts the bound values in place of placeholders, those inside of function attributes too.
// `unbound` gets the name of a placeholder that nothing is bound to, which stays.
Result<std::string> Substitute(std::string_view attr_value, const Bindings& bindings,
                               std::string& unbound);

// A serialized NameAttrList.
std::string WriteNameAttrList(std::string_view name, const AttrList& attrs);

}  // namespace flowscope::interp
