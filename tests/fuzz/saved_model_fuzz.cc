// Any bytes as saved_model.pb: read or refused, and never a view that points outside of the bytes.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "fake_runtime/fake_runtime.h"
#include "fuzz/saved_model_seeds.h"
#include "fuzz/target.h"
#include "savedmodel/main_graph.h"
#include "savedmodel/meta_graph.h"
#include "savedmodel/rewrite.h"
#include "savedmodel/saved_model.h"
#include "savedmodel/variable_names.h"

namespace flowscope::savedmodel {
namespace {

std::string_view g_bytes;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

void Inside(std::string_view view) {
  Require(view.empty() || (view.data() >= g_bytes.data() &&
                           view.data() + view.size() <= g_bytes.data() + g_bytes.size()),
          "views point into the file");
}

void CheckGraph(const MetaGraph& graph) {
  for (const interp::NodeDef& node : graph.nodes) {
    Inside(node.name);
    Inside(node.op);
    for (const std::string_view input : node.inputs) Inside(input);
  }
  for (const auto& [key, signature] : graph.signatures) {
    Inside(key);
    for (const auto& [name, info] : signature.inputs) Inside(info.name);
    (void)DescribeTensors(signature.outputs);
  }
  for (const SavedObject& object : graph.objects) {
    for (const auto& [name, child] : object.children) {
      Inside(name);
      Require(child < graph.objects.size(), "children are in the list");
    }
  }
}

void Run(const MetaGraph& graph) {
  Rewrite rewrite;
  rewrite.container = "fuzz";
  for (const std::string_view function : graph.functions) {
    Inside(function);
    (void)RewriteFunction(function, rewrite);
  }
  const ModelNames names(graph);
  for (const interp::NodeDef& node : graph.nodes) (void)names.VariableOf(node.name);
  Result<std::unique_ptr<MainGraph>> main = MainGraph::Build(graph, rewrite, fake::Context());
  if (!main.ok()) return;
  for (const auto& [key, signature] : graph.signatures) {
    for (const auto& [name, info] : signature.outputs) {
      (void)(*main)->ResourcesOf({std::string(info.name)});
    }
  }
}

bool Try(std::string_view bytes) {
  g_bytes = bytes;
  const Result<std::vector<MetaGraph>> graphs = ParseSavedModel(bytes);
  if (!graphs.ok()) return false;
  Require(!graphs->empty(), "a SavedModel that is read has a graph");
  for (const MetaGraph& graph : *graphs) {
    CheckGraph(graph);
    (void)InitOp(graph);
    Run(graph);
  }
  return true;
}

}  // namespace
}  // namespace flowscope::savedmodel

namespace flowscope::fuzz {

bool TryBytes(std::string_view bytes) {
  static const fake::Runtime runtime;
  return savedmodel::Try(bytes);
}

std::vector<std::string> Seeds() {
  TryBytes("");  // starts the runtime that the writer needs
  return SavedModelSeeds();
}

}  // namespace flowscope::fuzz
