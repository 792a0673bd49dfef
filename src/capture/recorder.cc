#include "capture/recorder.h"

#include <algorithm>
#include <ctime>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "capture/hook_targets.h"

namespace flowscope::capture {
namespace {

thread_local Recorder* t_current = nullptr;
thread_local std::thread::id t_served;  // set on threads that OnOwnThread starts

// Living recorders, for deletions that come from other threads.
std::mutex g_living_mutex;
std::vector<Recorder*>& Living() {
  static auto* living = new std::vector<Recorder*>();  // outlives every thread
  return *living;
}

std::atomic<int64_t> g_elsewhere{0};

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  const size_t length = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, length};
}

}  // namespace

Recorder* Recorder::Current() {
  const bool live = t_current != nullptr && !t_current->abandoned_.load(std::memory_order_acquire);
  return live ? t_current : nullptr;
}

void Recorder::Abandon(std::shared_ptr<Recorder> recorder) {
  if (recorder == nullptr || recorder->stopped_) return;
  Recorder& left = *recorder;
  left.hook_ = tf::HookLease();
  {
    const std::lock_guard lock(g_living_mutex);
    std::erase(Living(), &left);
  }
  left.self_ = std::move(recorder);
  left.abandoned_.store(true, std::memory_order_release);
}

void Recorder::OnOwnThread(const std::function<void()>& work) {
  const std::thread::id served = ServedThread();
  const auto recorded = [&] {
    t_served = served;
    t_current = this;
    work();
    t_current = nullptr;
  };
  std::thread thread;
  try {
    thread = std::thread(recorded);
  } catch (const std::system_error&) {
    return work();
  }
  thread.join();
}

std::thread::id Recorder::ServedThread() {
  return t_served == std::thread::id() ? std::this_thread::get_id() : t_served;
}

int Recorder::NumLiving() {
  const std::lock_guard lock(g_living_mutex);
  return static_cast<int>(Living().size());
}

void Recorder::CountElsewhere() { g_elsewhere.fetch_add(1, std::memory_order_relaxed); }

void Recorder::OnDelete(const TFE_TensorHandle* handle) {
  const std::lock_guard lock(g_living_mutex);
  for (Recorder* recorder : Living()) recorder->handles_.OnDelete(handle);
}

void Recorder::OnCopy(const TFE_TensorHandle* original, TFE_TensorHandle* copy) {
  const std::lock_guard lock(g_living_mutex);
  for (Recorder* recorder : Living()) recorder->handles_.OnCopy(original, copy);
}

Recorder::Recorder(RecordOptions options, std::shared_ptr<CallSiteProvider> call_sites)
    : options_(std::move(options)),
      interpreter_(Plans(), {options_.interpret_random}),
      call_sites_(std::move(call_sites)),
      start_(std::chrono::steady_clock::now()),
      payloads_(std::make_shared<LivePayloads>()),
      values_({options_.keep_values, options_.save_budget,
               [this](const std::string& what) { SayOverBudget(what); }},
              *payloads_),
      variables_(builder_, *payloads_, values_),
      lines_now_((options_.sink != nullptr && options_.code_context) || AsksForLines()),
      saves_nothing_(options_.save == SelectNone()) {
  payloads_->StreamTo(options_.sink, options_.retain_in_memory);
  TraceInfo& info = builder_.tables().info;
  info.name = options_.name;
  info.root_kind = options_.root_kind;
  info.root_class = options_.root_class;
  info.keras_version = options_.keras_version;
  info.started_at = UtcNow();
  info.tensorflow_version = tf::Api().TF_Version();
}

Result<std::shared_ptr<Recorder>> Recorder::Start(RecordOptions options,
                                                  std::shared_ptr<CallSiteProvider> call_sites,
                                                  bool callbacks) {
  if (!tf::ApiLoaded()) return Unavailable("TensorFlow's C API is not loaded in this process");
  if (t_current != nullptr && t_current->abandoned_.load(std::memory_order_acquire)) {
    Recorder* left = std::exchange(t_current, nullptr);
    if (left->depth_ == 0) const std::shared_ptr<Recorder> last = std::move(left->self_);
  }
  if (t_current != nullptr) {
    return FailedPrecondition(
        "this thread is being recorded already; end that recording first (recordings on one "
        "thread do not nest, two threads can record at once)");
  }
  for (const SelectorPtr& selector : {options.save, options.halt}) {
    if (selector != nullptr && !selector->AnswersLive()) {
      return InvalidArgument("selector " + selector->ToString() +
                             " can only be asked of a finished trace; record with save=\"all\" and "
                             "use trace.find_sites");
    }
  }
  const bool use_hook = !callbacks && options.use_hook;
  std::shared_ptr<Recorder> recorder(new Recorder(std::move(options), std::move(call_sites)));
  recorder->builder_.tables().info.recorder = use_hook    ? "hook"
                                              : callbacks ? "callbacks"
                                                          : "interpreter";
  recorder->callbacks_ = callbacks;
  recorder->elsewhere_before_ = g_elsewhere;
  if (use_hook) {
    Result<tf::HookLease> lease = tf::AcquireHook(RecorderTargets());
    if (!lease.ok()) return lease.status();
    recorder->hook_ = std::move(lease).value();
  }
  {
    const std::lock_guard lock(g_living_mutex);
    Living().push_back(recorder.get());
  }
  t_current = recorder.get();
  return recorder;
}

Recorder::~Recorder() {
  if (t_current == this) t_current = nullptr;
  const std::lock_guard lock(g_living_mutex);
  std::erase(Living(), this);
}

int64_t Recorder::Now() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              start_)
      .count();
}

Result<std::shared_ptr<const Trace>> Recorder::Stop(const std::string& error) {
  if (stopped_) return FailedPrecondition("this recording has ended already");
  if (t_current != this) {
    return FailedPrecondition("a recording must be ended on the thread that started it");
  }
  stopped_ = true;
  t_current = nullptr;
  hook_ = tf::HookLease();
  TraceInfo& info = builder_.tables().info;
  info.duration_ns = Now();
  info.error = error;
  info.halted = halted_;
  info.num_executed = run_counter_;
  if (const int64_t count = g_elsewhere - elsewhere_before_; count > 0) {
    AddNote(std::to_string(count) +
            " ops ran meanwhile on threads that are not recorded; what they gave to this run "
            "counts as constants");
  }
  NoteNamesOfNothing();
  ResolveLateShapes();
  FillLocations();
  FinishStream();
  return std::move(builder_).Finish(payloads_);
}

// A run that was cut may not have come to what a name means.
void Recorder::NoteNamesOfNothing() {
  const TraceTables& tables = builder_.tables();
  if (stopped_at_ != kNoId || !tables.info.error.empty()) return;
  if (options_.draws != nullptr) {
    if (const std::string left = options_.draws->LeftOver(); !left.empty()) AddNote(left);
  }
  const std::pair<const char*, const SelectorPtr*> given[] = {
      {"save", &options_.save}, {"halt", &options_.halt}, {"functions", &options_.open_functions}};
  for (const auto& [option, selector] : given) {
    if (*selector == nullptr) continue;
    for (const std::string& part : PartsWithoutName(tables, **selector)) {
      AddNote(std::string(option) + "=: nothing in this run has the name in " + part);
    }
  }
}

// What was streamed is read from there from now on; what could not be is said to be missing.
void Recorder::FinishStream() {
  if (options_.sink == nullptr) return;
  builder_.Close();
  const EventSink::Kept kept = options_.sink->Finish(builder_.tables());
  Progress();
  payloads_->ReadFrom(kept.payloads);
  std::vector<TensorRecord>& tensors = builder_.tables().tensors;
  for (TensorId id = 0; id < tensors.size(); ++id) {
    if (tensors[id].state == PayloadState::kKept && payloads_->Handle(id) == nullptr &&
        !kept.has[id]) {
      tensors[id].state = PayloadState::kNotKept;
    }
  }
  payloads_->StreamTo(nullptr, false);
}

// A selector may ask for the line while the run goes on, and what is streamed tells it; else lines
// are worked out at the end. A selector's text is how it is written, with the selectors that it is
// made of.
bool Recorder::AsksForLines() const {
  for (const SelectorPtr& selector : {options_.save, options_.halt, options_.open_functions}) {
    if (selector != nullptr && selector->ToString().find("line(") != std::string::npos) return true;
  }
  return false;
}

LocationId Recorder::RowOf(LocationId key) {
  std::vector<LocationRecord>& rows = builder_.tables().locations;
  const auto [it, inserted] = location_rows_.try_emplace(key, static_cast<LocationId>(rows.size()));
  if (inserted) {
    const CallSite site = call_sites_->Resolve(key);
    rows.push_back({builder_.Intern(site.file), builder_.Intern(site.function),
                    builder_.Intern(site.text), site.line});
  }
  return it->second;
}

void Recorder::FillLocations() {
  if (call_sites_ == nullptr || lines_now_) return;
  for (OpRecord& op : builder_.tables().ops) {
    if (op.location != kNoId) op.location = RowOf(op.location);
  }
}

// Under asynchronous execution a shape may be known only when the op has finished.
void Recorder::ResolveLateShapes() {
  if (!builder_.tables().info.asynchronous) return;
  std::vector<TensorRecord>& tensors = builder_.tables().tensors;
  for (TensorId id = 0; id < tensors.size(); ++id) {
    TFE_TensorHandle* handle = payloads_->Handle(id);
    if (handle == nullptr || tensors[id].shape_known) continue;
    const Result<Dims> dims = tf::HandleDims(handle);
    if (!dims.ok()) continue;
    tensors[id].dims = builder_.InternDims(*dims);
    tensors[id].shape_known = true;
    tensors[id].nbytes = NumElements(*dims) * static_cast<int64_t>(DTypeSize(tensors[id].dtype));
  }
}

void Recorder::SayOverBudget(const std::string& what) {
  builder_.tables().info.degraded = what;
  if (options_.warn) options_.warn(what);
}

void Recorder::AddNote(const std::string& note) {
  std::vector<std::string>& notes = builder_.tables().info.notes;
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

}  // namespace flowscope::capture
