// The history of every variable that the run touches.
//
// Whether an op wrote is told by what it does, not by its name: the variable is read before and
// after, by a read of our own that shares the buffer. While we hold the buffer, TensorFlow must
// write elsewhere, so a changed address is a write. An op on a variable that gives nothing back is
// a write even when the buffer stays (assigning a variable its own value).
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/pointer_map.h"
#include "capture/live_payloads.h"
#include "capture/value_keeper.h"
#include "tf/handles.h"
#include "trace/builder.h"

namespace flowscope::capture {

// What a resource handle points to, from its ResourceHandleProto.
struct ResourceInfo {
  std::string key;   // container and name
  std::string name;  // as the program gave it
  bool is_variable = false;
  DType dtype = DType::kInvalid;
  Dims dims;
  bool shape_known = false;
};
Result<ResourceInfo> ParseResourceHandle(std::string_view proto);
Result<ResourceInfo> ResourceInfoOf(TFE_TensorHandle* handle);

class VariableTracker {
 public:
  // All must outlive the tracker.
  VariableTracker(TraceBuilder& builder, LivePayloads& payloads, ValueKeeper& values)
      : builder_(builder), payloads_(payloads), values_(values) {}

  struct Declared {
    std::vector<std::string> addresses;  // the chosen one first
    std::string name;
    bool trainable = false;
    ModuleId module = kNoId;
  };
  // Names a variable: adds its record, or names the record that an op's use has made.
  // `info`: what ResourceInfoOf gave for this handle.
  VariableId Declare(TFE_TensorHandle* handle, const ResourceInfo& info, const Declared& declared);

  // The variable behind a resource handle, kNoId where it is another resource. Adds unknown ones.
  VariableId Resolve(TFE_TensorHandle* handle);

  // Values of the first and of the newest version of every variable.
  std::unordered_set<TensorId> FirstAndNewestValues() const;

  int num_unnamed() const { return static_cast<int>(unnamed_.size()); }

  // A pending write check around one op; see Before and After.
  struct Watch {
    VariableId variable = kNoId;
    TFE_TensorHandle* handle = nullptr;
  };
  // What an op did to a variable.
  struct Use {
    bool wrote = false;
    tf::HandlePtr now;  // the value after it; null where the variable has none
    const void* buffer = nullptr;
  };
  // Makes sure the state before the op is known.
  void Before(TFE_Op* op, const Watch& watch);
  // Looks what the op did.
  Use After(TFE_Op* op, const Watch& watch, bool no_outputs);
  // Records that as a read or a write of `watch` by `id`. The value of a new version is kept as the
  // writer's outputs are.
  void Record(const Watch& watch, OpId id, Use use, bool wanted);
  // The op was a plain read whose output is tensor `value` behind `output`.
  void OnRead(VariableId variable, OpId id, TFE_TensorHandle* output, TensorId value);
  // Names say nothing any more: another context gives them again to other variables.
  void ForgetNames() { by_key_.clear(); }

 private:
  struct State {
    uint32_t version = 0;
    bool known = false;  // `buffer` is the address of the current version
    const void* buffer = nullptr;
    tf::HandlePtr snapshot;  // keeps `buffer` from being used again
  };

  tf::HandlePtr PrivateRead(TFE_Op* op, const Watch& watch) const;
  bool IsInitialized(TFE_Op* op, TFE_TensorHandle* handle) const;
  bool SameValue(TFE_TensorHandle* before, TFE_TensorHandle* after) const;
  VariableId AddVariable(const ResourceInfo& info);
  bool HasVersions(VariableId variable) const { return !version_rows_[variable].empty(); }
  std::string FreeAddress(const std::string& name) const;
  void SetAddresses(VariableId id, const std::vector<std::string>& addresses);
  void Name(VariableId id, const ResourceInfo& info, const Declared& declared);
  uint32_t AddVersion(VariableId variable, OpId writer, TensorId value);
  void AddAccess(VariableId variable, OpId id, bool write);
  TensorId AddValueTensor(TFE_TensorHandle* value, bool wanted);
  void SetVersionValue(VariableId variable, uint32_t version, TensorId value);

  TraceBuilder& builder_;
  LivePayloads& payloads_;
  ValueKeeper& values_;
  std::unordered_set<VariableId> unnamed_;  // known by their own name only
  std::unordered_map<std::string, VariableId> address_owners_;
  std::vector<State> states_;
  std::vector<std::vector<uint32_t>> version_rows_;  // per variable: rows of the versions table
  std::unordered_map<std::string, VariableId> by_key_;
  PointerMap<VariableId> by_handle_;
};

}  // namespace flowscope::capture
