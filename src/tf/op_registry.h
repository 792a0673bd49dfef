// What TensorFlow's op registry says about an op type. The list is read once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"

namespace flowscope::tf {

struct OpArg {
  std::string name;
  DType type = DType::kInvalid;  // kInvalid where it comes from an attribute
  std::string type_attr;
  std::string number_attr;
  std::string type_list_attr;
  bool is_ref = false;
};

struct OpAttr {
  std::string name;
  std::string type;           // "type", "shape", "func", "list(int)", ...
  std::string default_value;  // serialized AttrValue; empty where there is none
};

struct OpDef {
  std::string name;
  std::vector<OpArg> inputs;
  std::vector<OpArg> outputs;
  std::vector<OpAttr> attrs;
  bool is_stateful = false;
  bool is_distributed_communication = false;
};

// Null where TensorFlow has no op of that type, as for the name of a function. An op that a library
// registers after the first call is found too. Thread-safe; the pointer lives as long as the
// process.
const OpDef* FindOpDef(std::string_view type);

// Parses a serialized OpList; exposed for tests and fuzzing.
Result<std::vector<OpDef>> ParseOpList(std::string_view bytes);

}  // namespace flowscope::tf
