// The main graph of a SavedModel, run node by node: what a session would do, through the eager C
// API. A node that calls a function is one op for the host, which may open it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "interp/body.h"
#include "interp/frame.h"
#include "interp/host.h"
#include "savedmodel/meta_graph.h"
#include "savedmodel/rewrite.h"
#include "tf/handles.h"

namespace flowscope::savedmodel {

// A tensor of the graph, "node" or "node:1", and the value that stands in for it.
using Feed = std::pair<std::string, TFE_TensorHandle*>;

class MainGraph {
 public:
  // `graph` must outlive it. The functions that nodes call must be in the context when they run.
  static Result<std::unique_ptr<MainGraph>> Build(const MetaGraph& graph, const Rewrite& rewrite,
                                                  TFE_Context* context);

  MainGraph(const MainGraph&) = delete;
  MainGraph& operator=(const MainGraph&) = delete;

  // Runs what the fetches need and nothing else. A fetch is a tensor, or an op without outputs,
  // which gives null. Nodes that make resources, and constants, are made once and live as long as
  // the graph.
  Result<interp::HeldHandles> Run(const std::vector<Feed>& feeds,
                                  const std::vector<std::string>& fetches, interp::Host& host);

  // The resource that node `name` makes, made when it is not there yet. Borrowed.
  Result<TFE_TensorHandle*> Resource(std::string_view name);

  // Nodes that make a resource and that the fetches need, in the order of the graph.
  std::vector<std::string_view> ResourcesOf(const std::vector<std::string>& fetches) const;

  const interp::BodyNode* Find(std::string_view name) const;

  // Resources that were made so far. Borrowed.
  std::vector<TFE_TensorHandle*> Resources() const;

 private:
  struct Tensor {
    uint32_t node = 0;
    uint32_t index = 0;
    bool is_control = false;
  };
  class RunState;

  explicit MainGraph(TFE_Context* context) : context_(context) {}
  Status Resolve();
  bool IsSticky(const interp::BodyNode& node) const;
  Result<Tensor> FindTensor(std::string_view reference) const;

  TFE_Context* context_;
  interp::Body body_;
  std::deque<std::string> strings_;          // attributes that were rewritten
  std::vector<std::vector<Tensor>> inputs_;  // by node
  std::vector<uint32_t> num_outputs_;        // by node
  std::unordered_map<uint32_t, std::vector<tf::HandlePtr>> sticky_;  // by node
};

}  // namespace flowscope::savedmodel
