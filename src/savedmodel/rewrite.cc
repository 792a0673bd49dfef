#include "savedmodel/rewrite.h"

#include <algorithm>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "savedmodel/proto.h"
#include "tf/op_registry.h"

namespace flowscope::savedmodel {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;
using protozero::tag_and_type;

// Functions whose attributes name functions; protobuf itself stops at this depth.
constexpr int kMaxDepth = 100;

// Fields of AttrValue and of its ListValue.
constexpr uint32_t kListField = 1;
constexpr uint32_t kListFunctionField = 9;
constexpr uint32_t kFunctionField = 10;

class Writer {
 public:
  explicit Writer(const Rewrite& rewrite) : rewrite_(rewrite) {}

  std::string Function(pbf_reader reader) const {
    std::string bytes;
    pbf_writer writer(bytes);
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case tag_and_type(1, kBytes):
          writer.add_message(1, OpDef(reader.get_message()));
          break;
        case tag_and_type(3, kBytes):
          writer.add_message(3, Node(reader.get_message()));
          break;
        default:
          Copy(reader, writer);
      }
    }
    return bytes;
  }

  std::string AttrValue(pbf_reader reader, int depth) const {
    std::string bytes;
    pbf_writer writer(bytes);
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case tag_and_type(kListField, kBytes):
          writer.add_message(kListField, List(reader.get_message(), depth));
          break;
        case tag_and_type(kFunctionField, kBytes):
          writer.add_message(kFunctionField, FunctionRef(reader.get_message(), depth));
          break;
        default:
          Copy(reader, writer);
      }
    }
    return bytes;
  }

 private:
  // The field that the reader stands at, as it is.
  static void Copy(pbf_reader& reader, pbf_writer& writer) {
    const auto tag = reader.tag();
    switch (reader.wire_type()) {
      case protozero::pbf_wire_type::varint:
        writer.add_uint64(tag, reader.get_uint64());
        break;
      case protozero::pbf_wire_type::fixed64:
        writer.add_fixed64(tag, reader.get_fixed64());
        break;
      case protozero::pbf_wire_type::fixed32:
        writer.add_fixed32(tag, reader.get_fixed32());
        break;
      case protozero::pbf_wire_type::length_delimited:
        writer.add_bytes(tag, reader.get_view());
        break;
      default:
        reader.skip();
    }
  }

  std::string NewName(std::string_view name) const {
    const auto found = rewrite_.functions.find(name);
    return found == rewrite_.functions.end() ? std::string(name) : found->second;
  }

  std::string OpDef(pbf_reader reader) const {
    std::string bytes;
    pbf_writer writer(bytes);
    while (reader.next()) {
      if (reader.tag_and_type() == tag_and_type(1, kBytes)) {
        writer.add_string(1, NewName(View(reader)));
      } else {
        Copy(reader, writer);
      }
    }
    return bytes;
  }

  std::string Node(pbf_reader reader) const {
    std::string bytes;
    std::string_view op;
    pbf_writer writer(bytes);
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case tag_and_type(2, kBytes):
          op = View(reader);
          writer.add_string(2, NewName(op));
          break;
        case tag_and_type(5, kBytes):
          writer.add_message(5, Entry(reader.get_message(), 0));
          break;
        default:
          Copy(reader, writer);
      }
    }
    // Of two entries of a map the later one counts.
    if (TakesContainer(op)) AddContainer(writer);
    return bytes;
  }

  void AddContainer(pbf_writer& writer) const {
    pbf_writer entry(writer, 5);
    entry.add_string(1, "container");
    entry.add_message(2, StringAttrValue(rewrite_.container));
  }

  // An entry of a map from an attribute's name to its value.
  std::string Entry(pbf_reader reader, int depth) const {
    std::string bytes;
    pbf_writer writer(bytes);
    while (reader.next()) {
      if (reader.tag_and_type() == tag_and_type(2, kBytes)) {
        writer.add_message(2, AttrValue(reader.get_message(), depth));
      } else {
        Copy(reader, writer);
      }
    }
    return bytes;
  }

  std::string List(pbf_reader reader, int depth) const {
    std::string bytes;
    pbf_writer writer(bytes);
    while (reader.next()) {
      if (reader.tag_and_type() == tag_and_type(kListFunctionField, kBytes)) {
        writer.add_message(kListFunctionField, FunctionRef(reader.get_message(), depth));
      } else {
        Copy(reader, writer);
      }
    }
    return bytes;
  }

  // Beyond the depth that protobuf reads, everything stays as it is.
  std::string FunctionRef(pbf_reader reader, int depth) const {
    std::string bytes;
    pbf_writer writer(bytes);
    while (reader.next()) {
      if (reader.tag_and_type() == tag_and_type(1, kBytes)) {
        writer.add_string(1, NewName(View(reader)));
      } else if (reader.tag_and_type() == tag_and_type(2, kBytes) && depth < kMaxDepth) {
        writer.add_message(2, Entry(reader.get_message(), depth + 1));
      } else {
        Copy(reader, writer);
      }
    }
    return bytes;
  }

  const Rewrite& rewrite_;
};

Status Malformed(const char* what, const protozero::exception& error) {
  return Corruption(std::string(what) + " is not a valid protocol buffer: " + error.what());
}

}  // namespace

Result<std::string> RewriteFunction(std::string_view bytes, const Rewrite& rewrite) {
  try {
    return Writer(rewrite).Function({bytes.data(), bytes.size()});
  } catch (const protozero::exception& error) {
    return Malformed("the definition of a function", error);
  }
}

Result<std::string> RewriteAttrValue(std::string_view bytes, const Rewrite& rewrite) {
  try {
    return Writer(rewrite).AttrValue({bytes.data(), bytes.size()}, 0);
  } catch (const protozero::exception& error) {
    return Malformed("an attribute", error);
  }
}

std::string StringAttrValue(std::string_view text) {
  std::string bytes;
  pbf_writer(bytes).add_bytes(2, text.data(), text.size());
  return bytes;
}

bool TakesContainer(std::string_view op_type) {
  const tf::OpDef* def = tf::FindOpDef(op_type);
  if (def == nullptr) return false;
  const auto has = [def](std::string_view name) {
    return std::ranges::any_of(def->attrs,
                               [name](const tf::OpAttr& attr) { return attr.name == name; });
  };
  return has("container") && has("shared_name");
}

}  // namespace flowscope::savedmodel
