#include "capture/variables.h"

#include <cstring>

#include <protozero/pbf_reader.hpp>

namespace flowscope::capture {
namespace {

// ResourceHandleProto: device = 1, container = 2, name = 3, hash_code = 4, maybe_type_name = 5,
// dtypes_and_shapes = 6 { dtype = 1, shape = 2 { dim = 2 { size = 1 }, unknown_rank = 3 } }.
void ParseShape(protozero::pbf_reader shape, ResourceInfo& info) {
  info.shape_known = true;
  while (shape.next()) {
    if (shape.tag() == 2) {
      int64_t size = 0;
      protozero::pbf_reader dim = shape.get_message();
      while (dim.next()) {
        if (dim.tag() == 1) {
          size = dim.get_int64();
        } else {
          dim.skip();
        }
      }
      info.dims.push_back(size);
      if (size < 0) info.shape_known = false;
    } else if (shape.tag() == 3) {
      info.shape_known = !shape.get_bool();
    } else {
      shape.skip();
    }
  }
}

void ParseDtypeAndShape(protozero::pbf_reader pair, ResourceInfo& info) {
  while (pair.next()) {
    if (pair.tag() == 1) {
      info.dtype = static_cast<DType>(pair.get_enum());
    } else if (pair.tag() == 2) {
      ParseShape(pair.get_message(), info);
    } else {
      pair.skip();
    }
  }
}

const void* BufferOf(TFE_TensorHandle* handle) {
  const tf::StatusPtr status = tf::NewStatus();
  const tf::TensorPtr tensor(tf::Api().TFE_TensorHandleResolve(handle, status.get()));
  return tensor == nullptr ? nullptr : tf::Api().TF_TensorData(tensor.get());
}

// Runs `type` on one resource handle; null where that fails.
tf::HandlePtr RunOnResource(TFE_Op* like, const char* type, TFE_TensorHandle* resource,
                            DType dtype) {
  const tf::CApi& api = tf::Api();
  const tf::StatusPtr status = tf::NewStatus();
  TFE_Context* context = api.TFE_OpGetContext(like, status.get());
  const tf::OpPtr op(api.TFE_NewOp(context, type, status.get()));
  if (op == nullptr) return nullptr;
  api.TFE_OpAddInput(op.get(), resource, status.get());
  if (dtype != DType::kInvalid) {
    api.TFE_OpSetAttrType(op.get(), "dtype", static_cast<int>(dtype));
  }
  TFE_TensorHandle* out = nullptr;
  int count = 1;
  if (api.TF_GetCode(status.get()) == 0) api.TFE_Execute(op.get(), &out, &count, status.get());
  return tf::HandlePtr(api.TF_GetCode(status.get()) == 0 ? out : nullptr);
}

}  // namespace

Result<ResourceInfo> ParseResourceHandle(std::string_view proto) try {
  ResourceInfo info;
  std::string container;
  std::string type_name;
  protozero::pbf_reader reader(proto.data(), proto.size());
  while (reader.next()) {
    switch (reader.tag()) {
      case 2:
        container = reader.get_string();
        break;
      case 3:
        info.name = reader.get_string();
        break;
      case 5:
        type_name = reader.get_string();
        break;
      case 6:
        ParseDtypeAndShape(reader.get_message(), info);
        break;
      default:
        reader.skip();
    }
  }
  info.key = container + "/" + info.name;
  // The kernel's class is tensorflow::Var; only a variable carries dtype and shape in its handle.
  info.is_variable = type_name.ends_with("::Var") || type_name.ends_with("3VarE") ||
                     (type_name.empty() && info.dtype != DType::kInvalid);
  return info;
} catch (const protozero::exception& error) {
  return Corruption(std::string("resource handle cannot be read: ") + error.what());
}

VariableId VariableTracker::AddVariable(const ResourceInfo& info) {
  VariableRecord record;
  record.address = builder_.Intern(info.name);
  record.addresses = builder_.AddStrings(std::vector<std::string>{info.name});
  record.name = record.address;
  record.key = builder_.Intern(info.key);
  record.dtype = info.dtype;
  record.dims = builder_.InternDims(info.dims);
  record.shape_known = info.shape_known;
  const auto id = static_cast<VariableId>(builder_.tables().variables.size());
  builder_.tables().variables.push_back(record);
  states_.emplace_back();
  version_rows_.emplace_back();
  by_key_.emplace(info.key, id);
  AddVersion(id, kNoId, kNoId);
  ++num_unnamed_;
  return id;
}

void VariableTracker::Name(VariableId id, const ResourceInfo& info, const Declared& declared) {
  VariableRecord& record = builder_.tables().variables[id];
  if (record.module != kNoId || declared.addresses.empty()) return;
  record.addresses = builder_.AddStrings(declared.addresses);
  record.address = builder_.Intern(declared.addresses.front());
  record.name = builder_.Intern(declared.name.empty() ? info.name : declared.name);
  record.module = declared.module;
  record.trainable = declared.trainable;
  --num_unnamed_;
}

namespace {

Result<ResourceInfo> InfoOf(TFE_TensorHandle* handle) {
  const Result<Payload> payload = tf::ReadHandle(handle);
  if (!payload.ok()) return payload.status();
  return ParseResourceHandle({static_cast<const char*>(payload->data), payload->nbytes});
}

}  // namespace

VariableId VariableTracker::Declare(TFE_TensorHandle* handle, const Declared& declared) {
  const Result<ResourceInfo> info = InfoOf(handle);
  if (!info.ok() || !info->is_variable) return kNoId;
  const auto it = by_key_.find(info->key);
  const VariableId id = it != by_key_.end() ? it->second : AddVariable(*info);
  Name(id, *info, declared);
  if (by_handle_.emplace(handle, id).second) payloads_.Pin(tf::ShareHandle(handle));
  return id;
}

VariableId VariableTracker::Resolve(TFE_TensorHandle* handle) {
  if (const auto it = by_handle_.find(handle); it != by_handle_.end()) return it->second;
  VariableId id = kNoId;
  if (const Result<ResourceInfo> info = InfoOf(handle); info.ok() && info->is_variable) {
    const auto it = by_key_.find(info->key);
    id = it != by_key_.end() ? it->second : AddVariable(*info);
  }
  // The pin keeps the address from being used again, so that the cache stays true.
  by_handle_.emplace(handle, id);
  payloads_.Pin(tf::ShareHandle(handle));
  return id;
}

bool VariableTracker::IsInitialized(TFE_Op* op, TFE_TensorHandle* handle) const {
  const tf::HandlePtr answer = RunOnResource(op, "VarIsInitializedOp", handle, DType::kInvalid);
  if (answer == nullptr) return false;
  const Result<Payload> value = tf::ReadHandle(answer.get());
  return value.ok() && *static_cast<const uint8_t*>(value->data) != 0;
}

tf::HandlePtr VariableTracker::PrivateRead(TFE_Op* op, const Watch& watch) const {
  if (!IsInitialized(op, watch.handle)) return nullptr;
  return RunOnResource(op, "ReadVariableOp", watch.handle,
                       builder_.tables().variables[watch.variable].dtype);
}

void VariableTracker::Before(TFE_Op* op, const Watch& watch) {
  State& state = states_[watch.variable];
  tf::HandlePtr now = PrivateRead(op, watch);
  if (now == nullptr) return;
  const void* buffer = BufferOf(now.get());
  if (!state.known && state.version == 0) {
    SetVersionValue(watch.variable, 0, AddValueTensor(tf::ShareHandle(now.get()), true));
  } else if (state.known && buffer != state.buffer && !SameValue(state.snapshot.get(), now.get())) {
    state.version =
        AddVersion(watch.variable, kNoId, AddValueTensor(tf::ShareHandle(now.get()), true));
  }
  state.known = true;
  state.buffer = buffer;
  state.snapshot = std::move(now);
}

bool VariableTracker::After(TFE_Op* op, const Watch& watch, OpId id, bool no_outputs,
                            bool keep_values) {
  State& state = states_[watch.variable];
  tf::HandlePtr now = PrivateRead(op, watch);
  const void* buffer = now == nullptr ? nullptr : BufferOf(now.get());
  const bool moved = buffer != state.buffer && !SameValue(state.snapshot.get(), now.get());
  const bool wrote = (now != nullptr && (no_outputs || moved || !state.known));
  if (wrote) {
    const TensorId value = AddValueTensor(tf::ShareHandle(now.get()), keep_values);
    state.version = AddVersion(watch.variable, id, value);
  }
  builder_.tables().accesses.push_back({id, watch.variable, state.version, wrote});
  if (now == nullptr) return false;
  state.known = true;
  state.buffer = buffer;
  state.snapshot = std::move(now);
  return wrote;
}

// Variables read by sparse ops give a copy at every read: then the address tells nothing and the
// bytes decide.
bool VariableTracker::SameValue(TFE_TensorHandle* before, TFE_TensorHandle* after) const {
  if (before == nullptr || after == nullptr) return false;
  const Result<Payload> a = tf::ReadHandle(before);
  const Result<Payload> b = tf::ReadHandle(after);
  if (!a.ok() || !b.ok() || !IsPlainBytes(a->dtype)) return false;
  return a->dtype == b->dtype && a->dims == b->dims &&
         std::memcmp(a->data, b->data, a->nbytes) == 0;
}

void VariableTracker::OnRead(VariableId variable, OpId id, TFE_TensorHandle* output,
                             TensorId value) {
  State& state = states_[variable];
  const void* buffer = BufferOf(output);
  if (!state.known) {
    SetVersionValue(variable, state.version, value);
  } else if (buffer != state.buffer && !SameValue(state.snapshot.get(), output)) {
    state.version = AddVersion(variable, kNoId, value);
  }
  if (!state.known || buffer != state.buffer) state.snapshot = tf::ShareHandle(output);
  state.known = true;
  state.buffer = buffer;
  builder_.tables().accesses.push_back({id, variable, state.version, false});
}

uint32_t VariableTracker::AddVersion(VariableId variable, OpId writer, TensorId value) {
  std::vector<VersionRecord>& versions = builder_.tables().versions;
  const auto index = static_cast<uint32_t>(version_rows_[variable].size());
  version_rows_[variable].push_back(static_cast<uint32_t>(versions.size()));
  versions.push_back({variable, index, value, writer});
  return index;
}

std::unordered_set<TensorId> VariableTracker::FirstAndNewestValues() const {
  std::unordered_set<TensorId> values;
  for (const std::vector<uint32_t>& rows : version_rows_) {
    if (rows.empty()) continue;
    values.insert(builder_.tables().versions[rows.front()].value);
    values.insert(builder_.tables().versions[rows.back()].value);
  }
  return values;
}

void VariableTracker::SetVersionValue(VariableId variable, uint32_t version, TensorId value) {
  VersionRecord& record = builder_.tables().versions[version_rows_[variable][version]];
  if (record.value == kNoId) record.value = value;
}

TensorId VariableTracker::AddValueTensor(tf::HandlePtr value, bool keep) {
  TensorRecord record;
  record.dtype = static_cast<DType>(tf::Api().TFE_TensorHandleDataType(value.get()));
  if (const Result<Dims> dims = tf::HandleDims(value.get()); dims.ok()) {
    record.dims = builder_.InternDims(*dims);
    record.shape_known = true;
    record.nbytes = NumElements(*dims) * static_cast<int64_t>(DTypeSize(record.dtype));
  }
  record.state = keep ? PayloadState::kKept : PayloadState::kNotKept;
  const TensorId id = builder_.AddTensor(record);
  if (keep) payloads_.Store(id, std::move(value));
  return id;
}

}  // namespace flowscope::capture
