// The structure of a model in memory, from the graph that its program was traced into.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/payload.h"
#include "capture/body_origins.h"
#include "capture/call_site.h"
#include "trace/trace.h"

namespace flowscope::library {

// What only the program that traced the graph knows of it. Nodes go by name; a type of -1
// dimensions is open there, none at all is an open rank.
struct LiveGraph {
  struct Module {
    std::vector<std::string> addresses;
    std::string class_name;
    std::string name;
    std::string config;
    ModuleId parent = kNoId;
    int64_t num_params = 0;
    int64_t num_trainable = 0;
  };
  struct Variable {
    std::string node;  // the placeholder of its handle; empty where the graph does not use it
    std::vector<std::string> addresses;
    std::string name;
    bool trainable = false;
    ModuleId module = kNoId;
    DType dtype = DType::kInvalid;
    std::optional<Dims> dims;
  };
  struct Value {
    std::string node;  // a placeholder
    std::string path;  // of an input; empty for a constant and for a resource
    DType dtype = DType::kInvalid;
    std::optional<Dims> dims;
  };
  struct Output {
    std::string path;
    std::string node;
    uint32_t index = 0;
  };

  std::string graph_def;  // serialized, with the shapes of outputs as attributes
  std::string name;
  std::string root_kind;
  std::string root_class;
  std::string keras_version;
  std::vector<std::string> notes;
  std::vector<Module> modules;  // parents first
  std::vector<Variable> variables;
  std::vector<Value> inputs;
  std::vector<Value> captured;  // tensors and resources that were there before
  std::vector<Output> outputs;
  bool open_functions = true;
};

// Ops in the order in which the program asked for them. The origins of the graph itself go by the
// empty name; `lines` resolves the locations in them, which it numbers from 0 without gaps.
Result<std::shared_ptr<const Trace>> StructureOf(
    const LiveGraph& graph, std::shared_ptr<capture::BodyOriginProvider> origins,
    const std::vector<capture::CallSite>& lines);

}  // namespace flowscope::library
