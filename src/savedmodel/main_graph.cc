#include "savedmodel/main_graph.h"

#include <algorithm>
#include <charconv>

#include "interp/function_bodies.h"
#include "savedmodel/plain_host.h"
#include "savedmodel/tensors.h"

namespace flowscope::savedmodel {
namespace {

using interp::BodyNode;
using interp::NodeKind;

std::string Describe(const BodyNode& node) {
  return "node '" + std::string(node.def->name) + "' (" + std::string(node.def->op) + ")";
}

// The signature of a function that the context has by now.
std::optional<tf::OpDef> SignatureOf(TFE_Context* context, std::string_view name) {
  const Result<std::string> definition = interp::FetchFunctionDef(context, std::string(name));
  if (!definition.ok()) return {};
  Result<interp::FunctionDef> function = interp::ParseFunctionDef(*definition);
  if (!function.ok()) return {};
  return std::move(function->signature);
}

// Attributes with functions renamed; a container and a name for what the node would name.
Status RewriteAttrs(interp::NodeDef& node, const Rewrite& rewrite,
                    std::deque<std::string>& strings) {
  for (auto& [name, value] : node.attrs) {
    if (name.starts_with('_')) continue;
    Result<std::string> rewritten = RewriteAttrValue(value, rewrite);
    if (!rewritten.ok()) {
      return Corruption("attribute '" + std::string(name) + "' of node '" + std::string(node.name) +
                        "': " + rewritten.status().message());
    }
    if (*rewritten != value) value = strings.emplace_back(std::move(rewritten).value());
  }
  if (!TakesContainer(node.op)) return Status::Ok();
  const auto set = [&](std::string_view name, std::string_view text) {
    const std::string_view value = strings.emplace_back(StringAttrValue(text));
    const auto at = std::ranges::lower_bound(node.attrs, name, {}, &interp::AttrEntry::first);
    if (at != node.attrs.end() && at->first == name) {
      at->second = value;
    } else {
      node.attrs.insert(at, {name, value});
    }
  };
  set("container", rewrite.container);
  const std::string_view* shared = interp::FindAttr(node.attrs, "shared_name");
  const Result<interp::AttrValue> name =
      shared != nullptr ? interp::ParseAttrValue(*shared) : interp::AttrValue();
  if (!name.ok() || name->bytes.empty()) set("shared_name", node.name);
  return Status::Ok();
}

std::optional<uint64_t> CountOutputs(const BodyNode& node) {
  uint64_t count = 0;
  for (const tf::OpArg& arg : node.op->outputs) {
    const std::optional<uint64_t> length = interp::ArgLength(arg, node.attrs);
    if (!length || *length > UINT16_MAX) return {};
    count += *length;
  }
  return count;
}

}  // namespace

// One run: values by node, and the way to the next node that is still missing.
class MainGraph::RunState {
 public:
  RunState(MainGraph& graph, interp::Host& host) : graph_(graph), host_(host) {}

  Status SetFeed(const Feed& feed) {
    Result<Tensor> tensor = graph_.FindTensor(feed.first);
    if (!tensor.ok()) return tensor.status();
    interp::HeldHandles& values = values_[tensor->node];
    while (values.size() <= tensor->index) values.push_back(Hold(nullptr));
    Result<interp::HeldHandle> shared = Share(feed.second);
    if (!shared.ok()) return shared.status();
    values[tensor->index] = std::move(shared).value();
    return Status::Ok();
  }

  // Runs `root` and all it needs.
  Status Compute(uint32_t root) {
    std::vector<std::pair<uint32_t, size_t>> stack = {{root, 0}};
    std::vector<bool> open(graph_.body_.nodes.size());
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (values_.contains(node)) {
        stack.pop_back();
        continue;
      }
      open[node] = true;
      const std::vector<Tensor>& inputs = graph_.inputs_[node];
      if (const bool made = graph_.sticky_.contains(node); next == inputs.size() || made) {
        FLOWSCOPE_RETURN_IF_ERROR(RunNode(node));
        open[node] = false;
        stack.pop_back();
        continue;
      }
      const uint32_t needed = inputs[next++].node;
      if (values_.contains(needed)) continue;
      if (open[needed]) {
        return Unsupported(Describe(graph_.body_.nodes[needed]) +
                           " needs its own output: a loop of TensorFlow 1");
      }
      stack.emplace_back(needed, 0);
    }
    return Status::Ok();
  }

  Result<interp::HeldHandle> Fetch(const Tensor& tensor) {
    FLOWSCOPE_RETURN_IF_ERROR(Compute(tensor.node));
    if (tensor.is_control) return Hold(nullptr);
    Result<TFE_TensorHandle*> value = ValueOf(tensor);
    if (!value.ok()) return value.status();
    return Share(*value);
  }

 private:
  interp::HeldHandle Hold(TFE_TensorHandle* handle) {
    return interp::HeldHandle(handle, interp::HostDeleter{&host_});
  }

  Result<interp::HeldHandle> Share(TFE_TensorHandle* handle) {
    const tf::StatusPtr status = tf::NewStatus();
    interp::HeldHandle shared = Hold(host_.Share(handle, status.get()));
    FLOWSCOPE_RETURN_IF_ERROR(tf::FromTf(status.get(), "sharing a tensor"));
    return shared;
  }

  Result<TFE_TensorHandle*> ValueOf(const Tensor& tensor) {
    const interp::HeldHandles& values = values_[tensor.node];
    if (tensor.index < values.size() && values[tensor.index] != nullptr) {
      return values[tensor.index].get();
    }
    return Unsupported(Describe(graph_.body_.nodes[tensor.node]) + " has no output " +
                       std::to_string(tensor.index));
  }

  Status RunNode(uint32_t index) {
    const BodyNode& node = graph_.body_.nodes[index];
    const auto made = graph_.sticky_.find(index);
    if (made != graph_.sticky_.end()) return TakeSticky(index, made->second);
    if (graph_.IsSticky(node)) return MakeSticky(index);
    if (node.kind == NodeKind::kNothing) {
      values_[index];
      return Status::Ok();
    }
    FLOWSCOPE_RETURN_IF_ERROR(CheckRuns(node));
    Result<interp::HeldHandles> outputs = Execute(index, host_);
    if (!outputs.ok()) return outputs.status();
    values_[index] = std::move(outputs).value();
    return Status::Ok();
  }

  static Status CheckRuns(const BodyNode& node) {
    if (node.op == nullptr) {
      return Unsupported(Describe(node) +
                         " is of a type that this TensorFlow does not know; load "
                         "the library that registers it");
    }
    if (node.def->op == "Placeholder") {
      return InvalidArgument("the graph needs a value for its input '" +
                             std::string(node.def->name) + "', which the signature does not feed");
    }
    const auto is_ref = [](const tf::OpArg& arg) { return arg.is_ref; };
    if (std::ranges::any_of(node.op->outputs, is_ref) ||
        std::ranges::any_of(node.op->inputs, is_ref)) {
      return Unsupported(Describe(node) +
                         " uses reference variables of TensorFlow 1, which have no eager form");
    }
    if (!node.bad_attr.empty()) {
      return Corruption("attribute '" + node.bad_attr + "' of " + Describe(node) +
                        " cannot be read");
    }
    return Status::Ok();
  }

  Status TakeSticky(uint32_t index, const std::vector<tf::HandlePtr>& handles) {
    const BodyNode& node = graph_.body_.nodes[index];
    interp::HeldHandles values;
    for (const tf::HandlePtr& handle : handles) {
      Result<interp::HeldHandle> shared = Share(handle.get());
      if (!shared.ok()) return shared.status();
      values.push_back(std::move(shared).value());
    }
    if (node.kind == NodeKind::kConstant) {
      host_.OnConstant({{}, node.def->name, node.def->op, {}}, values.front().get());
    }
    values_[index] = std::move(values);
    return Status::Ok();
  }

  // What lives as long as the model is made outside of any recording, as a loader would.
  Status MakeSticky(uint32_t index) {
    const BodyNode& node = graph_.body_.nodes[index];
    std::vector<tf::HandlePtr> handles;
    if (node.kind == NodeKind::kConstant) {
      Result<tf::HandlePtr> constant = MakeConstant(node);
      if (!constant.ok()) return constant.status();
      handles.push_back(std::move(constant).value());
    } else {
      PlainHost plain;
      Result<interp::HeldHandles> made = Execute(index, plain);
      if (!made.ok()) return made.status();
      for (interp::HeldHandle& handle : *made) handles.emplace_back(handle.release());
    }
    return TakeSticky(index, graph_.sticky_.emplace(index, std::move(handles)).first->second);
  }

  static Result<tf::HandlePtr> MakeConstant(const BodyNode& node) {
    const std::string_view* attr = interp::FindAttr(node.attrs, "value");
    const Result<interp::AttrValue> value =
        attr != nullptr ? interp::ParseAttrValue(*attr) : interp::AttrValue();
    if (!value.ok() || value->kind != interp::AttrKind::kTensor) {
      return Corruption(Describe(node) + " has no value");
    }
    return TensorFromProto(value->bytes);
  }

  Status SetUp(TFE_Op* op, uint32_t index, TF_Status* status) {
    const BodyNode& node = graph_.body_.nodes[index];
    if (!node.def->device.empty()) {
      tf::Api().TFE_OpSetDevice(op, std::string(node.def->device).c_str(), status);
    }
    for (const Tensor& input : graph_.inputs_[index]) {
      if (input.is_control || tf::Api().TF_GetCode(status) != 0) continue;
      Result<TFE_TensorHandle*> value = ValueOf(input);
      if (!value.ok()) return value.status();
      tf::Api().TFE_OpAddInput(op, *value, status);
    }
    for (const auto& [name, value] : node.attrs) {
      if (name.starts_with('_') || tf::Api().TF_GetCode(status) != 0) continue;
      tf::Api().TFE_OpSetAttrValueProto(op, std::string(name).c_str(), value.data(), value.size(),
                                        status);
    }
    return Status::Ok();
  }

  Result<interp::HeldHandles> Execute(uint32_t index, interp::Host& host) {
    const BodyNode& node = graph_.body_.nodes[index];
    const tf::StatusPtr status = tf::NewStatus();
    const tf::OpPtr op(
        tf::Api().TFE_NewOp(graph_.context_, std::string(node.def->op).c_str(), status.get()));
    FLOWSCOPE_RETURN_IF_ERROR(Failure(status.get(), node));
    FLOWSCOPE_RETURN_IF_ERROR(SetUp(op.get(), index, status.get()));
    FLOWSCOPE_RETURN_IF_ERROR(Failure(status.get(), node));
    const uint32_t expected = graph_.num_outputs_[index];
    std::vector<TFE_TensorHandle*> outputs(std::max<size_t>(expected, 1));
    auto count = static_cast<int>(expected);
    host.Execute({{}, node.def->name, node.def->op, {}}, op.get(), outputs.data(), &count,
                 status.get());
    FLOWSCOPE_RETURN_IF_ERROR(Failure(status.get(), node));
    interp::HeldHandles held;
    for (int i = 0; i < count; ++i) {
      held.emplace_back(outputs[static_cast<size_t>(i)], interp::HostDeleter{&host});
    }
    return held;
  }

  static Status Failure(const TF_Status* status, const BodyNode& node) {
    const int code = tf::Api().TF_GetCode(status);
    if (code == 0) return Status::Ok();
    const std::string message = Describe(node) + ": " + tf::Api().TF_Message(status);
    constexpr int kTfInvalidArgument = 3;
    constexpr int kTfNotFound = 5;
    constexpr int kTfUnimplemented = 12;
    switch (code) {
      case kTfInvalidArgument:
        return InvalidArgument(message);
      case kTfNotFound:
        return NotFound(message);
      case kTfUnimplemented:
        return Unsupported(message);
      default:
        return Unavailable(message);
    }
  }

  MainGraph& graph_;
  interp::Host& host_;
  std::unordered_map<uint32_t, interp::HeldHandles> values_;  // by node
};

Result<std::unique_ptr<MainGraph>> MainGraph::Build(const MetaGraph& graph, const Rewrite& rewrite,
                                                    TFE_Context* context) {
  std::unique_ptr<MainGraph> main(new MainGraph(context));
  interp::FunctionDef function;
  function.nodes = graph.nodes;
  for (interp::NodeDef& node : function.nodes) {
    FLOWSCOPE_RETURN_IF_ERROR(RewriteAttrs(node, rewrite, main->strings_));
    const auto renamed = rewrite.functions.find(node.op);
    if (renamed != rewrite.functions.end()) node.op = renamed->second;
  }
  const auto signature = [context](std::string_view name) { return SignatureOf(context, name); };
  interp::ResolveBody(std::move(function), {}, signature, main->body_);
  FLOWSCOPE_RETURN_IF_ERROR(main->Resolve());
  return main;
}

Status MainGraph::Resolve() {
  for (const BodyNode& node : body_.nodes) {
    // What cannot be counted is only a fault where it is needed.
    num_outputs_.push_back(
        node.op == nullptr ? 0 : static_cast<uint32_t>(CountOutputs(node).value_or(0)));
    std::vector<Tensor>& inputs = inputs_.emplace_back();
    for (const std::string_view reference : node.def->inputs) {
      Result<Tensor> tensor = FindTensor(reference);
      if (!tensor.ok()) {
        return Corruption(Describe(node) + " needs '" + std::string(reference) +
                          "', which the graph does not have");
      }
      inputs.push_back(*tensor);
    }
  }
  return Status::Ok();
}

// "node", "node:1" and "^node".
Result<MainGraph::Tensor> MainGraph::FindTensor(std::string_view reference) const {
  Tensor tensor;
  tensor.is_control = reference.starts_with('^');
  if (tensor.is_control) reference.remove_prefix(1);
  const size_t colon = reference.find(':');
  const auto node = body_.node_by_name.find(reference.substr(0, colon));
  if (node == body_.node_by_name.end()) {
    return NotFound("the graph has no node '" + std::string(reference.substr(0, colon)) + "'");
  }
  tensor.node = node->second;
  if (colon == std::string_view::npos) return tensor;
  const std::string_view number = reference.substr(colon + 1);
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), tensor.index);
  if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size() ||
      tensor.index > UINT16_MAX) {
    return Corruption("'" + std::string(reference) + "' names no tensor");
  }
  return tensor;
}

bool MainGraph::IsSticky(const BodyNode& node) const {
  if (node.kind == NodeKind::kConstant) return true;
  if (node.kind != NodeKind::kOp || node.op == nullptr || !node.op->is_stateful) return false;
  return !node.op->outputs.empty() && std::ranges::all_of(node.op->outputs, [](const auto& arg) {
    return arg.type == DType::kResource;
  });
}

Result<interp::HeldHandles> MainGraph::Run(const std::vector<Feed>& feeds,
                                           const std::vector<std::string>& fetches,
                                           interp::Host& host) {
  RunState state(*this, host);
  for (const Feed& feed : feeds) FLOWSCOPE_RETURN_IF_ERROR(state.SetFeed(feed));
  interp::HeldHandles results;
  for (const std::string& fetch : fetches) {
    Result<Tensor> tensor = FindTensor(fetch);
    if (!tensor.ok()) return tensor.status();
    if (num_outputs_[tensor->node] == 0) tensor->is_control = true;
    Result<interp::HeldHandle> value = state.Fetch(*tensor);
    if (!value.ok()) return value.status();
    results.push_back(std::move(value).value());
  }
  return results;
}

Result<TFE_TensorHandle*> MainGraph::Resource(std::string_view name) {
  PlainHost plain;
  const Result<interp::HeldHandles> made = Run({}, {std::string(name)}, plain);
  if (!made.ok()) return made.status();
  const auto kept = sticky_.find(body_.node_by_name.at(name));
  if (kept == sticky_.end() || kept->second.empty()) {
    return InvalidArgument("node '" + std::string(name) + "' makes no resource");
  }
  return kept->second.front().get();
}

std::vector<std::string_view> MainGraph::ResourcesOf(
    const std::vector<std::string>& fetches) const {
  std::vector<bool> needed(body_.nodes.size());
  std::vector<uint32_t> stack;
  for (const std::string& fetch : fetches) {
    const Result<Tensor> tensor = FindTensor(fetch);
    if (tensor.ok()) stack.push_back(tensor->node);
  }
  while (!stack.empty()) {
    const uint32_t node = stack.back();
    stack.pop_back();
    if (needed[node]) continue;
    needed[node] = true;
    for (const Tensor& input : inputs_[node]) stack.push_back(input.node);
  }
  std::vector<std::string_view> names;
  for (uint32_t i = 0; i < body_.nodes.size(); ++i) {
    const BodyNode& node = body_.nodes[i];
    if (needed[i] && node.kind != NodeKind::kConstant && IsSticky(node)) {
      names.push_back(node.def->name);
    }
  }
  return names;
}

const BodyNode* MainGraph::Find(std::string_view name) const {
  const auto found = body_.node_by_name.find(name);
  return found == body_.node_by_name.end() ? nullptr : &body_.nodes[found->second];
}

std::vector<TFE_TensorHandle*> MainGraph::Resources() const {
  std::vector<TFE_TensorHandle*> resources;
  for (const auto& [index, handles] : sticky_) {
    if (body_.nodes[index].kind == NodeKind::kConstant) continue;
    for (const tf::HandlePtr& handle : handles) resources.push_back(handle.get());
  }
  return resources;
}

}  // namespace flowscope::savedmodel
