#include "interp/plan_slots.h"

#include <charconv>
#include <optional>
#include <utility>

namespace flowscope::interp {
namespace {

// No function has as many tensors; a number beyond it is nonsense in a definition.
constexpr uint64_t kMaxSlots = uint64_t{1} << 22;

std::pair<std::string_view, std::string_view> SplitAt(std::string_view text, char separator) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

Status Unresolved(std::string_view reference) {
  return Unsupported("nothing has the name '" + std::string(reference) + "'");
}

// One element of a range, where `index` is written; the range itself where it is empty.
Result<SlotRange> Element(const SlotRange& range, std::string_view index,
                          std::string_view reference) {
  if (index.empty()) return range;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), number);
  if (error != std::errc() || end != index.data() + index.size() || number >= range.count) {
    return Unresolved(reference);
  }
  return SlotRange{range.first + number, 1, range.node};
}

}  // namespace

Result<SlotMap> SlotMap::LayOut(const Body& body, const Bindings& bindings) {
  SlotMap slots(body);
  FLOWSCOPE_RETURN_IF_ERROR(slots.AddArgs(bindings));
  slots.outputs_.resize(body.nodes.size());
  for (uint32_t node = 0; node < body.nodes.size(); ++node) {
    const bool is_argument = body.nodes[node].kind == NodeKind::kArgument;
    FLOWSCOPE_RETURN_IF_ERROR(is_argument ? slots.AddArgumentNode(node) : slots.AddOutputs(node));
  }
  return slots;
}

Status SlotMap::AddArgs(const Bindings& bindings) {
  const AttrList attrs = ToAttrList(bindings);
  for (const tf::OpArg& arg : body_->function.signature.inputs) {
    Result<uint32_t> count = Count({arg}, attrs);
    if (!count.ok()) return count.status();
    args_[arg.name] = {num_slots_, *count, kNoNode};
    num_slots_ += *count;
  }
  num_args_ = num_slots_;
  return Status::Ok();
}

Status SlotMap::AddOutputs(uint32_t node) {
  const BodyNode& body_node = body_->nodes[node];
  Result<uint32_t> count = Count(body_node.op->outputs, body_node.attrs);
  if (!count.ok()) return count.status();
  outputs_[node] = {num_slots_, *count, node};
  num_slots_ += *count;
  return Status::Ok();
}

// The node stands for an argument that has its slot already.
Status SlotMap::AddArgumentNode(uint32_t node) {
  const BodyNode& body_node = body_->nodes[node];
  const std::string_view* attr = FindAttr(body_node.attrs, "index");
  const Result<AttrValue> index = attr ? ParseAttrValue(*attr) : AttrValue();
  if (!index.ok() || index->kind != AttrKind::kInt || index->number < 0 ||
      index->number >= num_args_) {
    return Unsupported("'" + std::string(body_node.def->name) + "' is no argument");
  }
  outputs_[node] = {static_cast<uint32_t>(index->number), 1, node};
  return Status::Ok();
}

Result<uint32_t> SlotMap::Count(const std::vector<tf::OpArg>& args, const AttrList& attrs) const {
  uint64_t count = 0;
  for (const tf::OpArg& arg : args) {
    const std::optional<uint64_t> length = ArgLength(arg, attrs);
    if (!length) return Unsupported("the length of '" + arg.name + "' is not given");
    if (*length > kMaxSlots) return Unsupported("'" + arg.name + "' is longer than anything real");
    count += *length;
  }
  if (count + num_slots_ > kMaxSlots) return Unsupported("it has more tensors than anything real");
  return static_cast<uint32_t>(count);
}

Result<SlotRange> SlotMap::FindOutput(uint32_t node, std::string_view name) const {
  const BodyNode& body_node = body_->nodes[node];
  SlotRange range = outputs_[node];
  for (const tf::OpArg& output : body_node.op->outputs) {
    const uint64_t length = ArgLength(output, body_node.attrs).value_or(0);
    if (output.name == name) return SlotRange{range.first, static_cast<uint32_t>(length), node};
    range.first += static_cast<uint32_t>(length);
  }
  return Unresolved(std::string(body_node.def->name) + ":" + std::string(name));
}

Result<SlotRange> SlotMap::Find(std::string_view reference) const {
  const auto [name, rest] = SplitAt(reference, ':');
  const auto arg = args_.find(name);
  if (arg != args_.end()) return Element(arg->second, rest, reference);
  const auto node = body_->node_by_name.find(name);
  if (node == body_->node_by_name.end()) return Unresolved(reference);
  const auto [output, index] = SplitAt(rest, ':');
  Result<SlotRange> range = FindOutput(node->second, output);
  if (!range.ok()) return range;
  return Element(*range, index, reference);
}

}  // namespace flowscope::interp
