#include "savedmodel/object_proto.h"

#include <algorithm>

#include "savedmodel/proto.h"

namespace flowscope::savedmodel {
namespace {

using protozero::pbf_reader;
using protozero::tag_and_type;

std::pair<std::string_view, uint32_t> ReadChild(pbf_reader reader) {
  std::pair<std::string_view, uint32_t> child;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kVarint):
        child.second = static_cast<uint32_t>(reader.get_int64());
        break;
      case tag_and_type(2, kBytes):
        child.first = View(reader);
        break;
      default:
        reader.skip();
    }
  }
  return child;
}

void ReadUserObject(pbf_reader reader, SavedObject& object) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        object.identifier = View(reader);
        break;
      case tag_and_type(3, kBytes):
        object.metadata = View(reader);
        break;
      default:
        reader.skip();
    }
  }
}

SavedVariable ReadVariable(pbf_reader reader) {
  SavedVariable variable;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kVarint):
        variable.dtype = ToDType(reader.get_int64());
        break;
      case tag_and_type(2, kBytes):
        variable.dims = ReadShape(reader.get_message());
        break;
      case tag_and_type(3, kVarint):
        variable.trainable = reader.get_int64() != 0;
        break;
      case tag_and_type(6, kBytes):
        variable.name = View(reader);
        break;
      default:
        reader.skip();
    }
  }
  return variable;
}

SavedObject ReadObject(pbf_reader reader) {
  SavedObject object;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        object.children.push_back(ReadChild(reader.get_message()));
        break;
      case tag_and_type(4, kBytes):
        object.kind = ObjectKind::kUser;
        ReadUserObject(reader.get_message(), object);
        break;
      case tag_and_type(6, kBytes):
      case tag_and_type(8, kBytes):
        object.kind = ObjectKind::kFunction;
        reader.skip();
        break;
      case tag_and_type(7, kBytes):
        object.kind = ObjectKind::kVariable;
        object.variable = ReadVariable(reader.get_message());
        break;
      case tag_and_type(10, kBytes):
        object.kind = ObjectKind::kResource;
        reader.skip();
        break;
      default:
        reader.skip();
    }
  }
  return object;
}

}  // namespace

std::vector<SavedObject> ReadObjectGraph(pbf_reader reader) {
  std::vector<SavedObject> objects;
  while (reader.next()) {
    if (reader.tag_and_type() == tag_and_type(1, kBytes)) {
      objects.push_back(ReadObject(reader.get_message()));
    } else {
      reader.skip();
    }
  }
  for (SavedObject& object : objects) {
    std::erase_if(object.children,
                  [&](const auto& child) { return child.second >= objects.size(); });
  }
  return objects;
}

}  // namespace flowscope::savedmodel
