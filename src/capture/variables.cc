#include "capture/variables.h"

#include <cstring>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

#include "trace/proto.h"

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
      info.shape_known = !proto::ReadBool(shape);
    } else {
      shape.skip();
    }
  }
}

void ParseDtypeAndShape(protozero::pbf_reader pair, ResourceInfo& info) {
  while (pair.next()) {
    if (pair.tag() == 1) {
      info.dtype = proto::ToDType(pair.get_enum());
    } else if (pair.tag() == 2) {
      ParseShape(pair.get_message(), info);
    } else {
      pair.skip();
    }
  }
}

// TensorFlow makes the names of what belongs to nobody but its handle unique in the process:
// "w/17".
void DropNumber(std::string& name) {
  const size_t slash = name.rfind('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == name.size()) return;
  if (name.find_first_not_of("0123456789", slash + 1) != std::string::npos) return;
  name.resize(slash);
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
  if (container == "Anonymous") DropNumber(info.name);
  // The kernel's class is tensorflow::Var; only a variable carries dtype and shape in its handle.
  info.is_variable = type_name.ends_with("::Var") || type_name.ends_with("3VarE") ||
                     (type_name.empty() && info.dtype != DType::kInvalid);
  return info;
} catch (const protozero::exception& error) {
  return Corruption(std::string("resource handle cannot be read: ") + error.what());
}

Result<ResourceInfo> ResourceInfoOf(TFE_TensorHandle* handle) {
  const Result<Payload> payload = tf::ReadHandle(handle);
  if (!payload.ok()) return payload.status();
  return ParseResourceHandle({static_cast<const char*>(payload->data), payload->nbytes});
}

VariableId VariableTracker::AddVariable(const ResourceInfo& info) {
  VariableRecord record;
  record.name = builder_.Intern(info.name);
  record.key = builder_.Intern(info.key);
  record.dtype = info.dtype;
  record.dims = builder_.InternDims(info.dims);
  record.shape_known = info.shape_known;
  const auto id = static_cast<VariableId>(builder_.tables().variables.size());
  builder_.tables().variables.push_back(record);
  SetAddresses(id, {FreeAddress(info.name)});
  states_.emplace_back();
  version_rows_.emplace_back();
  by_key_.emplace(info.key, id);
  unnamed_.insert(id);
  return id;
}

// Variables of one name are told apart by the order in which they were found.
std::string VariableTracker::FreeAddress(const std::string& name) const {
  std::string address = name;
  for (int i = 1; address_owners_.contains(address); ++i) address = fmt::format("{}_{}", name, i);
  return address;
}

void VariableTracker::SetAddresses(VariableId id, const std::vector<std::string>& addresses) {
  VariableRecord& record = builder_.tables().variables[id];
  record.address = builder_.Intern(addresses.front());
  record.addresses = builder_.AddStrings(addresses);
  address_owners_[addresses.front()] = id;
}

// The place in the model is what a variable is called by: one that only has its own name makes way.
void VariableTracker::Name(VariableId id, const ResourceInfo& info, const Declared& declared) {
  VariableRecord& record = builder_.tables().variables[id];
  if (record.module != kNoId || declared.addresses.empty()) return;
  record.name = builder_.Intern(declared.name.empty() ? info.name : declared.name);
  record.module = declared.module;
  record.trainable = declared.trainable;
  address_owners_.erase(std::string(builder_.tables().strings.View(record.address)));
  unnamed_.erase(id);
  const std::string& address = declared.addresses.front();
  const auto taken = address_owners_.find(address);
  const VariableId other = taken == address_owners_.end() ? kNoId : taken->second;
  SetAddresses(id, declared.addresses);
  if (unnamed_.contains(other)) SetAddresses(other, {FreeAddress(address)});
}

VariableId VariableTracker::Declare(TFE_TensorHandle* handle, const ResourceInfo& info,
                                    const Declared& declared) {
  if (!info.is_variable) return kNoId;
  const auto it = by_key_.find(info.key);
  const bool is_new = it == by_key_.end();
  const VariableId id = is_new ? AddVariable(info) : it->second;
  // Found by looking at the model: it existed before the run.
  if (is_new) AddVersion(id, kNoId, kNoId);
  Name(id, info, declared);
  if (by_handle_.TryEmplace(handle, id).second) payloads_.Pin(tf::ShareHandle(handle));
  return id;
}

VariableId VariableTracker::Resolve(TFE_TensorHandle* handle) {
  if (const VariableId* known = by_handle_.Find(handle)) return *known;
  VariableId id = kNoId;
  if (const Result<ResourceInfo> info = ResourceInfoOf(handle); info.ok() && info->is_variable) {
    const auto it = by_key_.find(info->key);
    id = it != by_key_.end() ? it->second : AddVariable(*info);
  }
  // The pin keeps the address from being used again, so that the cache stays true.
  by_handle_.TryEmplace(handle, id);
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

// A variable without a value before its first op was made during the run: its first version is what
// that op writes.
void VariableTracker::Before(TFE_Op* op, const Watch& watch) {
  State& state = states_[watch.variable];
  tf::HandlePtr now = PrivateRead(op, watch);
  if (now == nullptr) return;
  const void* buffer = tf::BufferAddress(now.get());
  if (!HasVersions(watch.variable)) AddVersion(watch.variable, kNoId, kNoId);
  if (!state.known && state.version == 0) {
    SetVersionValue(watch.variable, 0, AddValueTensor(now.get(), true));
  } else if (state.known && buffer != state.buffer && !SameValue(state.snapshot.get(), now.get())) {
    state.version = AddVersion(watch.variable, kNoId, AddValueTensor(now.get(), true));
  }
  state.known = true;
  state.buffer = buffer;
  state.snapshot = std::move(now);
}

VariableTracker::Use VariableTracker::After(TFE_Op* op, const Watch& watch, bool no_outputs) {
  const State& state = states_[watch.variable];
  Use use;
  use.now = PrivateRead(op, watch);
  if (use.now == nullptr) return use;
  use.buffer = tf::BufferAddress(use.now.get());
  const bool moved = use.buffer != state.buffer && !SameValue(state.snapshot.get(), use.now.get());
  use.wrote = no_outputs || moved || !state.known;
  return use;
}

void VariableTracker::Record(const Watch& watch, OpId id, Use use, bool wanted) {
  State& state = states_[watch.variable];
  if (use.wrote) {
    state.version = AddVersion(watch.variable, id, AddValueTensor(use.now.get(), wanted));
  }
  AddAccess(watch.variable, id, use.wrote);
  if (use.now == nullptr) return;
  state.known = true;
  state.buffer = use.buffer;
  state.snapshot = std::move(use.now);
}

// An op that only asks of a variable without a value, as VarIsInitializedOp does, reads no version.
void VariableTracker::AddAccess(VariableId variable, OpId id, bool write) {
  if (!HasVersions(variable)) return;
  builder_.tables().accesses.push_back({id, variable, states_[variable].version, write});
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
  const void* buffer = tf::BufferAddress(output);
  if (!HasVersions(variable)) AddVersion(variable, kNoId, kNoId);
  if (!state.known) {
    SetVersionValue(variable, state.version, value);
  } else if (buffer != state.buffer && !SameValue(state.snapshot.get(), output)) {
    state.version = AddVersion(variable, kNoId, value);
  }
  if (!state.known || buffer != state.buffer) state.snapshot = tf::ShareHandle(output);
  state.known = true;
  state.buffer = buffer;
  AddAccess(variable, id, false);
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

TensorId VariableTracker::AddValueTensor(TFE_TensorHandle* value, bool wanted) {
  const TensorRecord record = DescribeTensor(builder_, value, true, tf::NewStatus().get());
  const TensorId id = builder_.AddTensor(record);
  builder_.tables().tensors[id].state = values_.Keep(id, record, value, wanted);
  return id;
}

}  // namespace flowscope::capture
