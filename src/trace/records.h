// The vocabulary of a recorded run. Few record kinds, each one row of a table; strings are ids into
// one pool, lists are spans of other tables. docs/trace_model.md tells the same with an example.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dtype.h"
#include "trace/ids.h"

namespace flowscope {

enum class OpKind : uint8_t {
  kCompute,
  kInput,            // an argument of the recorded call
  kConstant,         // a tensor that existed before the run, or an array wrapped for a call
  kLiteralProducer,  // an op without tensor inputs whose value follows from its attributes
  kVariableRead,
  kVariableWrite,
  kRandom,
  kIterator,    // next element of a dataset
  kFromPython,  // a tensor made in Python after values of this run had been read there
  kCall,        // a compiled function
  kBackward,
  kIntervention,
  kEffect,  // acts on something outside the graph: print, table insert, file
};
std::string_view OpKindName(OpKind kind);
std::optional<OpKind> OpKindFromName(std::string_view name);

// Where an input value of an op comes from.
enum class EdgeClass : uint8_t {
  kOp,     // an output of a recorded op
  kInput,  // an argument of the recorded call
  kConstant,
  kLiteral,  // rank-zero value wrapped for this call; no op record stands for it
  kFromPython,
  kVariable,     // a resource handle that names a variable
  kResource,     // any other resource handle: table, iterator, queue
  kUnexplained,  // nobody knows; zero in a sound trace
};
inline constexpr int kNumEdgeClasses = 8;
std::string_view EdgeClassName(EdgeClass edge_class);
// What an edge from an op of this kind is.
EdgeClass EdgeClassOf(OpKind producer);

// How much of a tensor's value the trace has.
enum class PayloadState : uint8_t {
  kKept,
  kStats,    // statistics only
  kNotKept,  // left out by selection
  kNoValue,  // resource, variant, failed op: there is no value to keep
};
std::string_view PayloadStateName(PayloadState state);

// One execution of one op, or one source. Rows are in the order in which ops started.
struct OpRecord {
  StringId type = 0;  // as TensorFlow writes it; sources: "input", "constant", "from_python"
  StringId name = 0;  // sources: the argument path or the constant's name
  StringId device = 0;
  StringId attrs = 0;          // serialized NameAttrList, id into the attribute pool
  StringId error = 0;          // the op failed with this message
  StringId opaque_reason = 0;  // what ran inside is not recorded, because
  RegionId region = 0;
  ModuleCallId module_call = kNoId;
  LocationId location = kNoId;
  SiteId site = kNoId;
  uint32_t pass = 1;  // n-th execution of the site, from 1
  Span inputs;        // into edges
  Span outputs;       // into tensors
  uint32_t thread = 0;
  uint32_t run_counter = 0;  // 1, 2, 3 ... over executed ops; 0 for sources
  int64_t start_ns = 0;      // since the start of the recording
  int64_t duration_ns = 0;
  OpKind kind = OpKind::kCompute;
};

// One input of one op.
struct EdgeRecord {
  TensorId tensor = kNoId;
  EdgeClass edge_class = EdgeClass::kUnexplained;
  uint64_t handle =
      0;  // identity of the handle as TensorFlow passed it, kept beside the resolution
};

struct TensorRecord {
  OpId producer = kNoId;  // kNoId: literal, resource handle or variable value made outside the run
  uint16_t output_index = 0;
  DType dtype = DType::kInvalid;
  PayloadState state = PayloadState::kNoValue;
  uint32_t dims = 0;  // id into the dims pool; see Trace::dims
  bool shape_known = false;
  int64_t nbytes = 0;
  // Identity of TensorFlow's handle, which no other tensor has: the recording holds it. 0 where it
  // was not held, and for a tensor that is another one's value once more.
  uint64_t handle = 0;
};

// Where code stands: same (region path without iteration numbers, module address, op type, n-th op
// of the type in the innermost module call or function body) means same site. A TorchLens user
// knows it as a layer.
struct SiteRecord {
  StringId type = 0;
  StringId region_path = 0;
  StringId module_address = 0;
  uint32_t nth = 0;         // from 1
  uint32_t type_index = 0;  // n-th site of this type, from 1
  uint32_t ordinal = 0;     // n-th site of the trace, from 1
  uint32_t num_passes = 0;
};

// A module is a Keras layer or operation, or a tf.Module.
struct ModuleRecord {
  StringId address = 0;  // the root's is "self"
  Span addresses;        // into string_lists: every address, the chosen one first, then aliases
  StringId class_name = 0;
  StringId name = 0;    // the object's own name
  StringId config = 0;  // JSON where the object gives one
  ModuleId parent = kNoId;
  Span variables;          // into variable_lists: the module's own, without its children's
  int64_t num_params = 0;  // with its children's
  int64_t num_trainable_params = 0;
};

struct NamedTensor {
  StringId path = 0;  // where in the structure: "x", "args[0]['mask']"
  TensorId tensor = kNoId;
};

struct ModuleCallRecord {
  ModuleId module = kNoId;
  uint32_t call_index = 1;  // from 1
  ModuleCallId parent = kNoId;
  RegionId region = 0;
  OpId first_op = 0;  // ops [first_op, end_op) started while this call was open
  OpId end_op = 0;
  Span inputs;  // into named_tensors
  Span outputs;
  StringId training = 0;  // "True", "False", "None"; empty where the call has no such argument
  StringId kwargs = 0;    // the arguments that are not tensors, as text
  StringId method = 0;    // "__call__", "call" where only that ran, "by name" where the call was
                          // told from name scopes of a function traced before the recording
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  bool failed = false;
};

enum class RegionKind : uint8_t { kRoot, kFunction, kIteration, kBranch, kBackward, kTracing };
std::string_view RegionKindName(RegionKind kind);

struct RegionRecord {
  RegionKind kind = RegionKind::kRoot;
  RegionId parent = kNoId;
  StringId name = 0;   // function name; branch name
  uint32_t index = 0;  // iteration number from 0; branch number
  OpId op = kNoId;     // the op that opened it
  TensorId predicate = kNoId;
};

struct LocationRecord {
  StringId file = 0;
  StringId function = 0;
  StringId text = 0;
  uint32_t line = 0;
};

struct VariableRecord {
  StringId address = 0;
  Span addresses;  // into string_lists
  StringId name = 0;
  StringId key = 0;  // container and resource name: what makes two handles one variable
  DType dtype = DType::kInvalid;
  uint32_t dims = 0;
  ModuleId module = kNoId;
  bool trainable = false;
  bool shape_known = false;
};

// Version 0 is the value before the run. A version without a writer was made outside this run.
struct VersionRecord {
  VariableId variable = kNoId;
  uint32_t index = 0;
  TensorId value = kNoId;
  OpId writer = kNoId;
};

struct AccessRecord {
  OpId op = kNoId;
  VariableId variable = kNoId;
  uint32_t version = 0;  // the one read, or the one made
  bool write = false;
};

// An op of a backward pass, and the module whose op it differentiates.
struct GradientRecord {
  OpId op = kNoId;
  ModuleId module = kNoId;
};

// How far an output of a compiled function is from what its body gave op by op.
struct CompiledDifference {
  OpId call = kNoId;
  uint32_t output = 0;
  uint64_t num_elements = 0;
  uint64_t num_different = 0;  // of which the bits differ
  double max_abs = 0;          // NaN where one is NaN and the other is not
  double max_rel = 0;          // of the larger of both
};

// The body of a function that a call which was not opened ran, or that such a body calls: without
// it nobody could run the call again.
struct FunctionRecord {
  StringId name = 0;
  StringId definition = 0;  // serialized FunctionDef, id into the attribute pool
};

// A value that was read into Python whose dtype, shape and content equal those of a tensor that
// came from Python later. A hint for the reader, never an edge.
struct OriginRecord {
  OpId op = kNoId;
  TensorId possible_origin = kNoId;
};

}  // namespace flowscope
