#include "tf/op_registry.h"

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include <protozero/pbf_reader.hpp>

#include "tf/handles.h"
#include "trace/proto.h"

namespace flowscope::tf {
namespace {

using proto::kBytes;
using proto::kVarint;
using proto::ReadBool;
using protozero::pbf_reader;
using protozero::tag_and_type;

constexpr int64_t kRefOffset = 100;  // a reference to dtype n is numbered n + 100

void SetArgType(int64_t number, OpArg& arg) {
  if (number > kRefOffset) {
    arg.is_ref = true;
    number -= kRefOffset;
  }
  arg.type = proto::ToDType(number);
}

OpArg ReadArg(pbf_reader reader) {
  OpArg arg;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        arg.name = reader.get_string();
        break;
      case tag_and_type(3, kVarint):
        SetArgType(reader.get_int64(), arg);
        break;
      case tag_and_type(4, kBytes):
        arg.type_attr = reader.get_string();
        break;
      case tag_and_type(5, kBytes):
        arg.number_attr = reader.get_string();
        break;
      case tag_and_type(6, kBytes):
        arg.type_list_attr = reader.get_string();
        break;
      case tag_and_type(16, kVarint):
        arg.is_ref = ReadBool(reader) || arg.is_ref;
        break;
      default:
        reader.skip();
    }
  }
  return arg;
}

OpAttr ReadAttr(pbf_reader reader) {
  OpAttr attr;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        attr.name = reader.get_string();
        break;
      case tag_and_type(2, kBytes):
        attr.type = reader.get_string();
        break;
      case tag_and_type(3, kBytes):
        attr.default_value = reader.get_string();
        break;
      default:
        reader.skip();
    }
  }
  return attr;
}

OpDef ReadOpDef(pbf_reader reader) {
  OpDef op;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        op.name = reader.get_string();
        break;
      case tag_and_type(2, kBytes):
        op.inputs.push_back(ReadArg(reader.get_message()));
        break;
      case tag_and_type(3, kBytes):
        op.outputs.push_back(ReadArg(reader.get_message()));
        break;
      case tag_and_type(4, kBytes):
        op.attrs.push_back(ReadAttr(reader.get_message()));
        break;
      case tag_and_type(17, kVarint):
        op.is_stateful = ReadBool(reader);
        break;
      case tag_and_type(21, kVarint):
        op.is_distributed_communication = ReadBool(reader);
        break;
      default:
        reader.skip();
    }
  }
  return op;
}

std::string_view Bytes(const TF_Buffer* buffer) {
  return {static_cast<const char*>(buffer->data), buffer->length};
}

struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
};
using OpMap = std::unordered_map<std::string, OpDef, NameHash, std::equal_to<>>;

OpMap ReadRegistry() {
  OpMap ops;
  const BufferPtr buffer(Api().TF_GetAllOpList());
  if (buffer == nullptr) return ops;
  Result<std::vector<OpDef>> list = ParseOpList(Bytes(buffer.get()));
  if (!list.ok()) return ops;
  for (OpDef& op : *list) ops.insert_or_assign(op.name, std::move(op));
  return ops;
}

// Ops that a library registered after the list was read. Elements are never erased, so pointers to
// them stay valid.
class LateOps {
 public:
  const OpDef* Find(const std::string& type) {
    std::lock_guard lock(mutex_);
    const auto known = ops_.find(type);
    if (known != ops_.end()) return &known->second;
    std::optional<OpDef> op = Ask(type);
    if (!op) return nullptr;
    return &ops_.emplace(type, *std::move(op)).first->second;
  }

 private:
  struct GraphDeleter {
    void operator()(TF_Graph* graph) const { Api().TF_DeleteGraph(graph); }
  };

  std::optional<OpDef> Ask(const std::string& type) {
    if (!Api().TF_NewGraph || !Api().TF_DeleteGraph || !Api().TF_GraphGetOpDef) return {};
    if (graph_ == nullptr) graph_.reset(Api().TF_NewGraph());
    const StatusPtr status = NewStatus();
    const BufferPtr buffer(Api().TF_NewBuffer());
    Api().TF_GraphGetOpDef(graph_.get(), type.c_str(), buffer.get(), status.get());
    if (Api().TF_GetCode(status.get()) != 0) return {};
    try {
      return ReadOpDef(pbf_reader(Bytes(buffer.get()).data(), buffer->length));
    } catch (const protozero::exception&) {
      return {};
    }
  }

  std::mutex mutex_;
  std::unique_ptr<TF_Graph, GraphDeleter> graph_;
  OpMap ops_;
};

}  // namespace

Result<std::vector<OpDef>> ParseOpList(std::string_view bytes) {
  std::vector<OpDef> ops;
  try {
    pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
      if (reader.tag_and_type() == tag_and_type(1, kBytes)) {
        ops.push_back(ReadOpDef(reader.get_message()));
      } else {
        reader.skip();
      }
    }
  } catch (const protozero::exception& error) {
    return Corruption(std::string("an op list is not a valid protocol buffer: ") + error.what());
  }
  return ops;
}

const OpDef* FindOpDef(std::string_view type) {
  if (!ApiLoaded()) return nullptr;
  // Both live as long as the process; TensorFlow may be gone when static objects are destroyed.
  static std::once_flag once;
  static const OpMap* ops = nullptr;
  static LateOps& late_ops = *new LateOps;
  std::call_once(once, [] { ops = new OpMap(ReadRegistry()); });
  const auto found = ops->find(type);
  if (found != ops->end()) return &found->second;
  return late_ops.Find(std::string(type));
}

}  // namespace flowscope::tf
