#include "interp/function_def.h"

#include <algorithm>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "trace/proto.h"

namespace flowscope::interp {
namespace {

using proto::kBytes;
using proto::kVarint;
using proto::View;
using protozero::pbf_reader;
using protozero::tag_and_type;

// An entry of a map<string, string> or of a map<string, message>.
AttrEntry ReadEntry(pbf_reader reader) {
  AttrEntry entry;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        entry.first = View(reader);
        break;
      case tag_and_type(2, kBytes):
        entry.second = View(reader);
        break;
      default:
        reader.skip();
    }
  }
  return entry;
}

// As protobuf reads a map: of two entries with one name the later one counts.
void SortAttrs(AttrList& attrs) {
  const auto name = [](const AttrEntry& entry) { return entry.first; };
  std::ranges::stable_sort(attrs, {}, name);
  const auto same_name = [](const AttrEntry& a, const AttrEntry& b) { return a.first == b.first; };
  const auto first = std::unique(attrs.rbegin(), attrs.rend(), same_name).base();
  attrs.erase(attrs.begin(), first);
}

NodeDef ReadNode(pbf_reader reader) {
  NodeDef node;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        node.name = View(reader);
        break;
      case tag_and_type(2, kBytes):
        node.op = View(reader);
        break;
      case tag_and_type(3, kBytes):
        node.inputs.push_back(View(reader));
        break;
      case tag_and_type(4, kBytes):
        node.device = View(reader);
        break;
      case tag_and_type(5, kBytes):
        node.attrs.push_back(ReadEntry(reader.get_message()));
        break;
      default:
        reader.skip();
    }
  }
  SortAttrs(node.attrs);
  return node;
}

AttrList ReadArgAttrList(pbf_reader reader) {
  AttrList attrs;
  while (reader.next()) {
    if (reader.tag_and_type() == tag_and_type(1, kBytes)) {
      attrs.push_back(ReadEntry(reader.get_message()));
    } else {
      reader.skip();
    }
  }
  SortAttrs(attrs);
  return attrs;
}

std::pair<uint32_t, AttrList> ReadArgAttrs(pbf_reader reader) {
  std::pair<uint32_t, AttrList> entry;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kVarint):
        entry.first = reader.get_uint32();
        break;
      case tag_and_type(2, kBytes):
        entry.second = ReadArgAttrList(reader.get_message());
        break;
      default:
        reader.skip();
    }
  }
  return entry;
}

// The signature is an OpDef, which the op registry reads as part of a list.
Result<tf::OpDef> ReadSignature(std::string_view bytes) {
  std::string list;
  protozero::pbf_writer(list).add_message(1, bytes.data(), bytes.size());
  Result<std::vector<tf::OpDef>> ops = tf::ParseOpList(list);
  if (!ops.ok()) return ops.status();
  return std::move(ops->front());
}

Status ReadFunction(pbf_reader reader, FunctionDef& function) {
  std::string_view signature;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        signature = View(reader);
        break;
      case tag_and_type(3, kBytes):
        function.nodes.push_back(ReadNode(reader.get_message()));
        break;
      case tag_and_type(4, kBytes):
        function.returns.push_back(ReadEntry(reader.get_message()));
        break;
      case tag_and_type(5, kBytes):
        function.attrs.push_back(ReadEntry(reader.get_message()));
        break;
      case tag_and_type(6, kBytes):
        function.control_returns.push_back(ReadEntry(reader.get_message()));
        break;
      case tag_and_type(7, kBytes):
        function.arg_attrs.push_back(ReadArgAttrs(reader.get_message()));
        break;
      default:
        reader.skip();
    }
  }
  SortAttrs(function.attrs);
  Result<tf::OpDef> parsed = ReadSignature(signature);
  if (!parsed.ok()) return parsed.status();
  function.signature = *std::move(parsed);
  return Status::Ok();
}

FunctionRef ReadFunctionRef(pbf_reader reader) {
  FunctionRef function;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        function.name = View(reader);
        break;
      case tag_and_type(2, kBytes):
        function.attrs.push_back(ReadEntry(reader.get_message()));
        break;
      default:
        reader.skip();
    }
  }
  SortAttrs(function.attrs);
  return function;
}

Status Malformed(const char* what, const protozero::exception& error) {
  return Corruption(std::string(what) + " is not a valid protocol buffer: " + error.what());
}

}  // namespace

const std::string_view* FindAttr(const AttrList& attrs, std::string_view name) {
  const auto key = [](const AttrEntry& entry) { return entry.first; };
  const auto found = std::ranges::lower_bound(attrs, name, {}, key);
  return found != attrs.end() && found->first == name ? &found->second : nullptr;
}

Result<FunctionDef> ParseFunctionDef(std::string_view bytes) {
  FunctionDef function;
  try {
    FLOWSCOPE_RETURN_IF_ERROR(ReadFunction({bytes.data(), bytes.size()}, function));
  } catch (const protozero::exception& error) {
    return Malformed("the definition of a function", error);
  }
  return function;
}

Result<NodeDef> ParseNodeDef(std::string_view bytes) {
  try {
    return ReadNode({bytes.data(), bytes.size()});
  } catch (const protozero::exception& error) {
    return Malformed("a node", error);
  }
}

Result<FunctionRef> ParseFunctionRef(std::string_view bytes) {
  try {
    return ReadFunctionRef({bytes.data(), bytes.size()});
  } catch (const protozero::exception& error) {
    return Malformed("the name of a function", error);
  }
}

}  // namespace flowscope::interp
