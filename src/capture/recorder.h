// Records what one thread runs.
//
// A recorder is started and stopped on the same thread and sees every eager op of that thread in
// between. The execute hook is held for as long as it lives. Whatever happens inside, the op runs
// as it would have without us: same kernel, same inputs, same outputs, same error.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "capture/body_scopes.h"
#include "capture/call_site.h"
#include "capture/handle_map.h"
#include "capture/live_payloads.h"
#include "capture/op_kinds.h"
#include "capture/options.h"
#include "capture/value_keeper.h"
#include "capture/variables.h"
#include "interp/interpreter.h"
#include "tf/hook.h"
#include "trace/builder.h"

namespace flowscope::capture {

// Codes of TF_Code that we set ourselves.
inline constexpr int kTfCancelled = 1;
inline constexpr int kTfInvalidArgument = 3;
inline constexpr int kTfFailedPrecondition = 9;
inline constexpr int kTfInternal = 13;

class Recorder : public ScopeTarget {
 public:
  // FailedPrecondition where this thread records already; Unavailable where the hook cannot be set.
  // With `callbacks` the hook is left alone and ops arrive through RecordCallback.
  static Result<std::shared_ptr<Recorder>> Start(RecordOptions options,
                                                 std::shared_ptr<CallSiteProvider> call_sites,
                                                 bool callbacks = false);
  // The recorder of the calling thread, null where there is none.
  static Recorder* Current();
  // Ends a recording that nobody can stop any more, from any thread. Its own thread may be in the
  // middle of an op: the recorder lives on, and that thread's next Start lets it go.
  static void Abandon(std::shared_ptr<Recorder> recorder);
  // Whatever the caller that started it wants to find again from Current().
  void set_owner(void* owner) { owner_ = owner; }
  void* owner() const { return owner_; }
  // On any thread; every living recorder is told. A handle is about to lose a reference; `copy` is
  // or is about to be another reference to `original`, or another handle of the same value.
  static void OnDelete(const TFE_TensorHandle* handle);
  static void OnCopy(const TFE_TensorHandle* original, TFE_TensorHandle* copy);
  static int NumLiving();
  // An op ran on a thread that nobody records.
  static void CountElsewhere();

  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Stops recording and gives what was recorded. Only once, on the thread that started.
  Result<std::shared_ptr<const Trace>> Stop(const std::string& error);

  // Before the run: what the caller knows and the hook cannot see.
  void DeclareInput(TFE_TensorHandle* handle, const std::string& path);
  // An argument that is no tensor yet. `forms` hold its content as its own dtype and as others that
  // a library may turn it into; when the run wraps an array of such content, it is this input, with
  // the value that the run took.
  void DeclareArrayInput(const std::vector<TFE_TensorHandle*>& forms, const std::string& path);
  ModuleId DeclareModule(const std::vector<std::string>& addresses, const std::string& class_name,
                         const std::string& name, const std::string& config, ModuleId parent,
                         int64_t num_params, int64_t num_trainable);
  void UpdateParams(ModuleId module, int64_t num_params, int64_t num_trainable);
  VariableId DeclareVariable(TFE_TensorHandle* handle, const VariableTracker::Declared& declared);
  // For a handle that was looked at before.
  VariableId DeclareVariable(TFE_TensorHandle* handle, const ResourceInfo& info,
                             const VariableTracker::Declared& declared);
  // Variables that ops used and nobody has declared.
  int num_unnamed_variables() const { return variables_.num_unnamed(); }
  void AddNote(const std::string& note);

  // During the run, called by the wrappers around module calls and traced functions.
  ModuleCallId OpenModuleCall(ModuleId module, const std::string& method);
  void SetModuleCallInputs(ModuleCallId call,
                           const std::vector<std::pair<std::string, TFE_TensorHandle*>>& inputs);
  void SetModuleCallOutputs(ModuleCallId call,
                            const std::vector<std::pair<std::string, TFE_TensorHandle*>>& outputs);
  void SetModuleCallArguments(ModuleCallId call, const std::string& kwargs);
  void SetModuleCallTraining(ModuleCallId call, const std::string& training);
  void CloseModuleCall(ModuleCallId call, bool failed);
  RegionId OpenRegion(RegionKind kind, const std::string& name);
  void CloseRegion(RegionId region);
  ModuleId module_of_call(ModuleCallId call) const;
  ModuleCallId current_module_call() const { return builder_.current_module_call(); }
  const TraceBuilder& builder() const { return builder_; }

  // After the run: what the call returned, as TraceInfo has it, and the tensors in it.
  void SetOutputStructure(std::string json) {
    builder_.tables().info.output_structure = std::move(json);
  }
  void DeclareOutputs(const std::vector<std::pair<std::string, TFE_TensorHandle*>>& outputs);

  // The stop that raise_on_nan or halt asked for; kNoId where none did.
  OpId stopped_at() const { return stopped_at_; }
  bool halted() const { return halted_; }
  // Why the run was ended because an option cannot be had with it; empty: it was not.
  const std::string& refused() const { return refused_; }

  // A step of a training run. Of the steps that ended, all but the last keep_steps lose the values
  // that their ops made; the first and the newest value of every variable stay.
  // `bounded` false: the values of this step stay.
  RegionId OpenStep(const std::string& name, uint32_t index, bool bounded);
  void CloseStep(RegionId step);

  // Hook side.
  void Execute(TFE_Op* op, TFE_TensorHandle** outputs, int* num_outputs, TF_Status* status);
  // Where an op stands. `node`: behind the op, in the body of a function; empty elsewhere.
  struct Place {
    LocationId location = kNoId;
    std::string_view node;
    ModuleId gradient_of = kNoId;
    bool backward = false;
  };
  void ExecuteOp(TFE_Op* op, TFE_TensorHandle** outputs, int* num_outputs, TF_Status* status,
                 const Place& place);
  // `handle` is about to become the next input of `op`, which then holds it.
  void OnAddInput(TFE_Op* op, TFE_TensorHandle* handle);
  void OnValueRead(TFE_TensorHandle* handle);
  // The value's memory is about to be shared through DLPack. It can come back as a new handle, so
  // the value is held, also one that is not kept.
  void OnExport(TFE_TensorHandle* handle);

  // Interpreter side.
  // The location of an op whose line has this key.
  LocationId LocationOf(LocationId key) { return key == kNoId || !lines_now_ ? key : RowOf(key); }
  // Does the work on a thread of its own, which is recorded meanwhile as this one is; this one
  // waits. On this thread where no other can be started.
  void OnOwnThread(const std::function<void()>& work);
  // The thread that waits for what the calling one does, or the calling one itself.
  static std::thread::id ServedThread();
  // Adds the line of a location to an error of TensorFlow's, unless we made the op fail.
  void AddLineTo(TF_Status* status, LocationId location) const;
  void AddBodyConstant(TFE_TensorHandle* value, std::string_view name);
  RegionId OpenBodyRegion(const interp::RegionInfo& info, OpId call);
  TraceBuilder& scope_builder() override { return builder_; }
  int64_t Now() const override;
  std::shared_ptr<const BodyOrigins> OriginsOf(const std::string& function) override;
  TensorId TensorOf(const TFE_TensorHandle* handle) const;
  // Keeps a value that turns out to be an output of a call whose outputs are to be saved.
  void KeepLate(TFE_TensorHandle* handle, ModuleCallId call);

  // One op as op callbacks report it, after it ran. A Status that is not Ok is the stop that
  // raise_on_nan or halt asked for: the caller makes the op fail with it.
  Status RecordCallback(const std::string& type, const std::vector<TFE_TensorHandle*>& inputs,
                        const std::vector<TFE_TensorHandle*>& outputs);

  // Ops that save= has matched so far.
  int64_t num_selected() const { return num_selected_; }

 private:
  struct Wrapped {
    TensorId tensor = kNoId;  // once an op used it
    tf::HandlePtr handle;
    int rank = 0;
  };
  struct Pending {
    OpId id = kNoId;
    OpTraits traits;
    const tf::OpDef* def = nullptr;
    bool in_body = false;  // of a function: its constants are nodes, not arguments of the call
    std::vector<VariableTracker::Watch> watches;
  };
  // What an input was when its op got it. TensorFlow's fast path drops the handle right after.
  struct AddedInput {
    const TFE_Op* op = nullptr;
    TFE_TensorHandle* handle = nullptr;
    KnownHandle known;
  };
  struct ArrayForm {
    tf::HandlePtr value;
    std::string hash;
    std::optional<KnownHandle> known;  // once the run took it
  };
  struct ArrayInput {
    std::string path;
    Dims dims;
    KnownHandle source;
    std::vector<ArrayForm> forms;
  };

  Recorder(RecordOptions options, std::shared_ptr<CallSiteProvider> call_sites);

  std::vector<TFE_TensorHandle*> ReviveInputs(const TFE_Op* op);
  void ForgetInputs(const TFE_Op* op);
  struct TypeInfo {
    StringId name = 0;
    OpTraits traits;
    const tf::OpDef* def = nullptr;
  };
  const TypeInfo& InfoOf(std::string_view type, TFE_Context* context);
  void Begin(StringId type, LocationId location, const std::vector<EdgeRecord>& edges,
             Pending& pending);
  StringId DeviceOf(TFE_Op* op, std::span<TFE_TensorHandle* const> outputs);
  LocationId Locate();
  bool CastsNewValue(TFE_TensorHandle* input) const;
  void SetPlace(OpId id, const Place& place);
  void ReadAttrs(TFE_Op* op, OpId id);
  void ResolveInputs(const std::vector<TFE_TensorHandle*>& inputs, Pending& pending,
                     std::vector<EdgeRecord>& edges);
  EdgeRecord ResolveInput(TFE_TensorHandle* handle, const Pending& pending, int index, int count,
                          bool literal_producer);
  EdgeRecord ResolveWrapped(TFE_TensorHandle* handle, Wrapped& wrapped, const Pending& pending,
                            int index, int count, bool literal_producer);
  EdgeRecord AddLiteral(TFE_TensorHandle* handle);
  EdgeRecord AddUnknown(TFE_TensorHandle* handle);
  EdgeRecord ResolveResource(TFE_TensorHandle* handle, Pending& pending);
  EdgeRecord AddSourceEdge(TFE_TensorHandle* handle, OpKind kind, EdgeClass edge_class,
                           std::string_view name);
  std::optional<KnownHandle> FindByBuffer(TFE_TensorHandle* handle);
  std::optional<KnownHandle> FindArrayInput(TFE_TensorHandle* handle);
  KnownHandle TakeForm(ArrayInput& input, ArrayForm& form);
  bool IsLiteralProducer(const std::vector<TFE_TensorHandle*>& inputs, const Pending& pending);
  bool IsWrappedArgument(TFE_TensorHandle* handle, const Pending& pending, int index, int count);
  void NoteOrigins(OpId source, TFE_TensorHandle* handle);
  void WrapConstant(TFE_TensorHandle* input, TFE_TensorHandle* output);

  void Run(TFE_Op* op, TFE_Context* context, Pending& pending,
           const std::vector<TFE_TensorHandle*>& inputs, TFE_TensorHandle** outputs,
           int* num_outputs, TF_Status* status);
  void Finish(TFE_Op* op, Pending& pending, std::span<TFE_TensorHandle*> outputs);
  bool ReplaceDraws(OpId id, std::span<TFE_TensorHandle*> outputs, int* num_outputs,
                    TF_Status* status);
  std::string FunctionOf(OpId call) const;
  // One cache for the process: a function is planned once however often it is recorded.
  static std::shared_ptr<interp::PlanCache> Plans();
  struct CalledFunction {
    std::string name;
    std::string definition;  // of one that the context does not have; empty elsewhere
  };
  CalledFunction Called(OpId call) const;
  bool OpensFunction(OpId call);
  CalledFunction FunctionToOpen(TFE_Context* context, OpId call);
  void KeepBodies(TFE_Context* context, OpId op);
  void RunInside(TFE_Context* context, const CalledFunction& called, OpId call,
                 const std::vector<TFE_TensorHandle*>& inputs, TFE_TensorHandle** outputs,
                 int* num_outputs, TF_Status* status);
  PayloadState KeepAgain(TensorId tensor, TensorId inner, TFE_TensorHandle* handle, bool wanted);
  void FinishCall(const Pending& pending, std::span<TFE_TensorHandle*> outputs);
  void LookAtContext(TFE_Context* context);
  TensorRecord Describe(TFE_TensorHandle* handle);
  void AddOutputs(OpId id, std::span<TFE_TensorHandle* const> outputs, bool wanted);
  void AddOutput(TFE_TensorHandle* handle, OpId id, int index, bool wanted);
  bool Wants(OpId id);
  void NoteFindings(const std::string& function, const interp::Interpreter::Findings& findings);
  void CompareCompiled(TFE_Op* op, OpId call, TFE_TensorHandle* const* outputs, int num_outputs,
                       TF_Status* status);
  void Progress();
  void NoteNamesOfNothing();
  void FinishStream();
  void SayOverBudget(const std::string& what);
  bool StopsAt(OpId id, std::span<TFE_TensorHandle* const> outputs);
  void KeepWhatStopped(OpId id, std::span<TFE_TensorHandle* const> outputs);
  void StopAfter(OpId id, TFE_TensorHandle** outputs, int* num_outputs, TF_Status* status);
  bool HasNonFinite(std::span<TFE_TensorHandle* const> outputs) const;
  std::string WhyStopped() const;
  void FailAsStopped(int* num_outputs, TF_Status* status) const;
  void ReleaseStep(OpId first, OpId end);
  void ReleaseValue(TensorId tensor);
  bool AsksForLines() const;
  LocationId RowOf(LocationId key);
  void FillLocations();
  void ResolveLateShapes();
  std::vector<NamedTensor> ToNamed(
      const std::vector<std::pair<std::string, TFE_TensorHandle*>>& tensors);

  RecordOptions options_;
  const tf::StatusPtr asked_ = tf::NewStatus();  // of questions that cannot fail, at every op
  interp::Interpreter interpreter_;
  std::shared_ptr<CallSiteProvider> call_sites_;
  std::unordered_map<std::string, std::shared_ptr<const BodyOrigins>> origins_;
  tf::HookLease hook_;
  std::chrono::steady_clock::time_point start_;
  TraceBuilder builder_;
  std::shared_ptr<LivePayloads> payloads_;
  ValueKeeper values_;
  VariableTracker variables_;
  HandleMap handles_;
  std::unordered_map<const TFE_TensorHandle*, Wrapped> wrapped_;
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, TypeInfo, TextHash, std::equal_to<>> types_;
  struct FingerprintHash {
    size_t operator()(const tf::OpFingerprint& op) const { return static_cast<size_t>(op.low); }
  };
  // TensorFlow's name of the device of the last outputs, which lives as long as the device.
  const char* last_device_ = nullptr;
  StringId last_device_id_ = 0;
  std::unordered_map<tf::OpFingerprint, StringId, FingerprintHash> attrs_;  // as they are interned
  std::vector<AddedInput> added_inputs_;  // of ops that have not run yet
  std::vector<ArrayInput> array_inputs_;
  std::vector<std::pair<TFE_TensorHandle*, TensorId>> values_read_;  // held by payloads
  std::unordered_map<const void*, std::vector<TensorId>> buffers_;   // of held tensors, when asked
  TensorId buffers_done_ = 0;
  std::unordered_map<LocationId, LocationId> location_rows_;  // by key
  TFE_Context* context_ = nullptr;                            // of the last op
  const bool lines_now_;                                      // lines are worked out as ops run
  const bool saves_nothing_;
  bool async_now_ = false;
  uint32_t run_counter_ = 0;
  int64_t num_selected_ = 0;
  OpId stopped_at_ = kNoId;
  bool halted_ = false;
  std::string refused_;
  int calls_inside_ = 0;  // opened functions that run now
  struct Step {
    RegionId region = kNoId;
    OpId first = 0;
    OpId end = 0;
  };
  std::deque<Step> steps_;
  std::vector<TensorId> body_constants_;
  std::set<std::string, std::less<>> kept_bodies_;  // functions whose bodies the record has
  bool callbacks_ = false;
  bool stopped_ = false;
  int64_t elsewhere_before_ = 0;
  int depth_ = 0;  // ops of this thread that are in Execute now
  void* owner_ = nullptr;
  std::atomic<bool> abandoned_ = false;
  std::shared_ptr<Recorder> self_;  // once abandoned
};

}  // namespace flowscope::capture
