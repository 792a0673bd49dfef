#include "savedmodel/meta_graph.h"

#include <array>

#include <protozero/pbf_reader.hpp>

#include "savedmodel/object_proto.h"
#include "savedmodel/proto.h"

namespace flowscope::savedmodel {
namespace {

using protozero::pbf_reader;
using protozero::tag_and_type;

TensorInfo ReadTensorInfo(pbf_reader reader) {
  TensorInfo info;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        info.name = View(reader);
        break;
      case tag_and_type(2, kVarint):
        info.dtype = ToDType(reader.get_int64());
        break;
      case tag_and_type(3, kBytes):
        info.dims = ReadShape(reader.get_message());
        break;
      case tag_and_type(4, kBytes):
      case tag_and_type(5, kBytes):
        info.composite = true;
        reader.skip();
        break;
      default:
        reader.skip();
    }
  }
  return info;
}

// An entry of a map from text to a message.
std::pair<std::string_view, pbf_reader> ReadEntry(pbf_reader reader) {
  std::pair<std::string_view, pbf_reader> entry;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        entry.first = View(reader);
        break;
      case tag_and_type(2, kBytes):
        entry.second = reader.get_message();
        break;
      default:
        reader.skip();
    }
  }
  return entry;
}

Signature ReadSignature(pbf_reader reader) {
  Signature signature;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes): {
        const auto [name, info] = ReadEntry(reader.get_message());
        signature.inputs[name] = ReadTensorInfo(info);
        break;
      }
      case tag_and_type(2, kBytes): {
        const auto [name, info] = ReadEntry(reader.get_message());
        signature.outputs[name] = ReadTensorInfo(info);
        break;
      }
      case tag_and_type(3, kBytes):
        signature.method = View(reader);
        break;
      default:
        reader.skip();
    }
  }
  return signature;
}

Asset ReadAsset(pbf_reader reader) {
  Asset asset;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        asset.tensor = ReadTensorInfo(reader.get_message()).name;
        break;
      case tag_and_type(2, kBytes):
        asset.filename = View(reader);
        break;
      default:
        reader.skip();
    }
  }
  return asset;
}

Saver ReadSaver(pbf_reader reader) {
  Saver saver;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        saver.filename_tensor = View(reader);
        break;
      case tag_and_type(3, kBytes):
        saver.restore_op = View(reader);
        break;
      default:
        reader.skip();
    }
  }
  return saver;
}

// The first text of a CollectionDef that lists nodes.
std::string_view ReadCollection(pbf_reader reader) {
  while (reader.next()) {
    if (reader.tag_and_type() != tag_and_type(1, kBytes)) {
      reader.skip();
      continue;
    }
    pbf_reader list = reader.get_message();
    while (list.next()) {
      if (list.tag_and_type() == tag_and_type(1, kBytes)) return View(list);
      list.skip();
    }
  }
  return {};
}

Status ReadGraph(pbf_reader reader, MetaGraph& graph) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes): {
        Result<interp::NodeDef> node = interp::ParseNodeDef(View(reader));
        if (!node.ok()) return node.status();
        graph.nodes.push_back(std::move(node).value());
        break;
      }
      case tag_and_type(2, kBytes): {
        pbf_reader library = reader.get_message();
        while (library.next()) {
          if (library.tag_and_type() == tag_and_type(1, kBytes)) {
            graph.functions.push_back(View(library));
          } else {
            library.skip();
          }
        }
        break;
      }
      default:
        reader.skip();
    }
  }
  return Status::Ok();
}

void ReadMetaInfo(pbf_reader reader, MetaGraph& graph) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(4, kBytes):
        graph.tags.push_back(View(reader));
        break;
      case tag_and_type(5, kBytes):
        graph.tensorflow_version = View(reader);
        break;
      default:
        reader.skip();
    }
  }
}

Status ReadMetaGraph(pbf_reader reader, MetaGraph& graph) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        ReadMetaInfo(reader.get_message(), graph);
        break;
      case tag_and_type(2, kBytes):
        FLOWSCOPE_RETURN_IF_ERROR(ReadGraph(reader.get_message(), graph));
        break;
      case tag_and_type(3, kBytes):
        graph.saver = ReadSaver(reader.get_message());
        break;
      case tag_and_type(4, kBytes): {
        const auto [name, collection] = ReadEntry(reader.get_message());
        graph.main_ops[name] = ReadCollection(collection);
        break;
      }
      case tag_and_type(5, kBytes): {
        const auto [name, signature] = ReadEntry(reader.get_message());
        graph.signatures[name] = ReadSignature(signature);
        break;
      }
      case tag_and_type(6, kBytes):
        graph.assets.push_back(ReadAsset(reader.get_message()));
        break;
      case tag_and_type(7, kBytes):
        graph.objects = ReadObjectGraph(reader.get_message());
        break;
      default:
        reader.skip();
    }
  }
  return Status::Ok();
}

Status ReadSavedModel(pbf_reader reader, std::vector<MetaGraph>& graphs) {
  while (reader.next()) {
    if (reader.tag_and_type() == tag_and_type(2, kBytes)) {
      FLOWSCOPE_RETURN_IF_ERROR(ReadMetaGraph(reader.get_message(), graphs.emplace_back()));
    } else {
      reader.skip();
    }
  }
  return graphs.empty() ? Corruption("it holds no graph") : Status::Ok();
}

}  // namespace

Result<std::vector<MetaGraph>> ParseSavedModel(std::string_view bytes) {
  std::vector<MetaGraph> graphs;
  try {
    FLOWSCOPE_RETURN_IF_ERROR(ReadSavedModel({bytes.data(), bytes.size()}, graphs));
  } catch (const protozero::exception& error) {
    return Corruption(std::string("it is not a valid protocol buffer: ") + error.what());
  }
  return graphs;
}

Result<MetaGraph> ParseGraph(std::string_view bytes) {
  MetaGraph graph;
  try {
    FLOWSCOPE_RETURN_IF_ERROR(ReadGraph({bytes.data(), bytes.size()}, graph));
  } catch (const protozero::exception& error) {
    return Corruption(std::string("it is not a valid protocol buffer: ") + error.what());
  }
  return graph;
}

std::string_view NodeOf(std::string_view reference) {
  if (reference.starts_with('^')) reference.remove_prefix(1);
  return reference.substr(0, reference.find(':'));
}

std::string_view InitOp(const MetaGraph& graph) {
  const auto signature = graph.signatures.find("__saved_model_init_op");
  if (signature != graph.signatures.end() && !signature->second.outputs.empty()) {
    return signature->second.outputs.begin()->second.name;
  }
  static constexpr std::array<std::string_view, 2> kCollections = {"saved_model_main_op",
                                                                   "legacy_init_op"};
  for (const std::string_view name : kCollections) {
    const auto found = graph.main_ops.find(name);
    if (found != graph.main_ops.end()) return found->second;
  }
  return {};
}

}  // namespace flowscope::savedmodel
