#include "interp/body.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

namespace flowscope::interp {
namespace {

class Resolver {
 public:
  Resolver(const Bindings& bindings, const SignatureFinder& signature, Body& body)
      : bindings_(bindings), signature_(signature), body_(body) {}

  BodyNode Resolve(const NodeDef& def) {
    BodyNode node;
    node.def = &def;
    node.kind = KindOf(def.op);
    node.op = tf::FindOpDef(def.op);
    if (node.op == nullptr) {
      node.op = FindSignature(def.op);
      node.kind = NodeKind::kCall;
    }
    for (const AttrEntry& attr : def.attrs) AddAttr(attr, node);
    if (node.op == nullptr) return node;
    FillDefaults(node);
    FindCallees(node);
    return node;
  }

 private:
  const tf::OpDef* FindSignature(std::string_view name) {
    const auto known = body_.signatures.find(name);
    if (known != body_.signatures.end()) return &known->second;
    std::optional<tf::OpDef> found = signature_(name);
    if (!found) return nullptr;
    return &body_.signatures.emplace(name, *std::move(found)).first->second;
  }

  std::string_view Keep(std::string value) { return body_.strings.emplace_back(std::move(value)); }

  // Attributes with '_' are TensorFlow's notes to itself: a value there is never looked into.
  void AddAttr(const AttrEntry& attr, BodyNode& node) {
    if (attr.first.starts_with('_')) {
      node.attrs.push_back(attr);
      return;
    }
    const Result<AttrValue> value = ParseAttrValue(attr.second);
    if (!value.ok() || value->kind == AttrKind::kUnknown) {
      node.bad_attr = attr.first;
    } else if (value->kind == AttrKind::kPlaceholder || !value->functions.empty()) {
      AddSubstituted(attr, node);
    } else {
      node.attrs.push_back(attr);
    }
  }

  void AddSubstituted(const AttrEntry& attr, BodyNode& node) {
    Result<std::string> value = Substitute(attr.second, bindings_, node.unbound);
    if (value.ok()) {
      node.attrs.emplace_back(attr.first, Keep(*std::move(value)));
    } else {
      node.bad_attr = attr.first;
    }
  }

  // TensorFlow drops attributes that have their default value when it saves a function.
  void FillDefaults(BodyNode& node) {
    const size_t given = node.attrs.size();
    for (const tf::OpAttr& attr : node.op->attrs) {
      if (attr.default_value.empty()) continue;
      const auto name = [](const AttrEntry& entry) { return entry.first; };
      const auto begin = node.attrs.begin();
      const auto end = begin + static_cast<std::ptrdiff_t>(given);
      if (std::ranges::binary_search(begin, end, std::string_view(attr.name), {}, name)) continue;
      node.attrs.emplace_back(attr.name, attr.default_value);
    }
    std::ranges::sort(node.attrs);
  }

  void FindCallees(BodyNode& node) {
    switch (node.kind) {
      case NodeKind::kCall:
        return AddCall(node);
      case NodeKind::kIf:
        return AddCallees(node, {"then_branch", "else_branch"});
      case NodeKind::kCase:
        return AddCallees(node, {"branches"});
      case NodeKind::kWhile:
        return AddCallees(node, {"cond", "body"});
      case NodeKind::kOp:
        return AddKernelFunctions(node);
      default:
        return;
    }
  }

  // A dataset makes its functions anew, with all that their kernels keep, whenever it is made.
  void AddKernelFunctions(BodyNode& node) {
    if (node.op->name.find("Dataset") != std::string::npos) return;
    for (const tf::OpAttr& attr : node.op->attrs) {
      if (attr.type != "func" && attr.type != "list(func)") continue;
      const std::string_view* bytes = FindAttr(node.attrs, attr.name);
      Result<AttrValue> value = bytes ? ParseAttrValue(*bytes) : AttrValue();
      if (value.ok()) std::ranges::move(value->functions, std::back_inserter(node.run_by_kernel));
    }
  }

  // A node whose type is a function passes on the attributes that the function declares.
  void AddCall(BodyNode& node) {
    if (KindOf(node.def->op) == NodeKind::kCall) return AddCallees(node, {"f"});
    FunctionRef callee{node.def->op, {}};
    for (const AttrEntry& attr : node.attrs) {
      if (HasAttr(*node.op, attr.first)) callee.attrs.push_back(attr);
    }
    node.callees.push_back(std::move(callee));
  }

  void AddCallees(BodyNode& node, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      const std::string_view* attr = FindAttr(node.attrs, name);
      Result<AttrValue> value = attr ? ParseAttrValue(*attr) : Corruption("missing");
      if (!value.ok() || value->functions.empty()) {
        node.bad_attr = name;
        return;
      }
      std::ranges::move(value->functions, std::back_inserter(node.callees));
    }
  }

  const Bindings& bindings_;
  const SignatureFinder& signature_;
  Body& body_;
};

}  // namespace

void ResolveBody(FunctionDef function, const Bindings& bindings, const SignatureFinder& signature,
                 Body& body) {
  body.function = std::move(function);
  Resolver resolver(bindings, signature, body);
  for (const NodeDef& def : body.function.nodes) {
    body.node_by_name.emplace(def.name, static_cast<uint32_t>(body.nodes.size()));
    body.nodes.push_back(resolver.Resolve(def));
  }
}

std::optional<uint64_t> ArgLength(const tf::OpArg& arg, const AttrList& attrs) {
  const bool is_types = !arg.type_list_attr.empty();
  const std::string& name = is_types ? arg.type_list_attr : arg.number_attr;
  if (name.empty()) return 1;
  const std::string_view* attr = FindAttr(attrs, name);
  if (attr == nullptr) return {};
  const Result<AttrValue> value = ParseAttrValue(*attr);
  if (!value.ok()) return {};
  if (is_types) {
    return value->kind == AttrKind::kList ? std::optional<uint64_t>(value->num_types)
                                          : std::nullopt;
  }
  if (value->kind != AttrKind::kInt || value->number < 0) return {};
  return static_cast<uint64_t>(value->number);
}

AttrList ToAttrList(const Bindings& bindings) {
  AttrList attrs;
  for (const auto& [name, value] : bindings) attrs.emplace_back(name, value);
  return attrs;
}

}  // namespace flowscope::interp
