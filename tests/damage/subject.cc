#include "damage/subject.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/stats.h"
#include "damage/heap.h"
#include "store/reader.h"
#include "store/recover.h"
#include "store/stream_writer.h"
#include "store/writer.h"
#include "trace/lint.h"
#include "trace/testing.h"

namespace flowscope::damage {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Broken(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

void Require(const Status& status) {
  if (!status.ok()) Broken(status.ToString());
}

constexpr int kCallsInFirstBatch = 4;

// Ops, values and scopes of several kinds. `told` is called after each op.
template <typename Told>
void Record(TraceMaker& m, Told told) {
  m.At("model.py", 7, "x = self.dense(x)");
  const TensorId x = m.Input("x", {1, 3}, {1, 2, 3});
  const VariableId kernel = m.Variable("dense.kernel", {3, 4});
  const TensorId y = m.Call("self", [&] {
    return m.Call("dense", [&] { return m.Op("MatMul", {x, m.Read(kernel)}, {.dims = {1, 4}}); });
  });
  told();
  m.Assign(kernel, m.Constant("c", {3, 4}));
  told();
  TensorId z = y;
  for (uint32_t i = 0; i < 3; ++i) {
    m.Iteration("while", i,
                [&] { z = m.Op("Relu", {z}, {.dims = {1, 4}, .values = {float(i), 1, 2, 3}}); });
    told();
  }
  const TensorId text = m.Op("AsString", {z}, {.dims = {2}});
  m.SetStrings(text, {"", "first and second"});
  told();
  const TensorId wide = m.Op("Cast", {z}, {.dims = {2}});
  m.SetValue(wide, DType::kComplex128, std::vector<unsigned char>(32, 3));
  m.Op("AddV2", {z, m.Literal(2)}, {.dims = {64}});
  m.Output("output", z);
  m.info().notes.push_back("a note");
  told();
}

std::shared_ptr<const Trace> MakeTrace() {
  TraceMaker m;
  Record(m, [] {});
  return m.Finish();
}

void AddFiles(Subject& subject) {
  if (!fs::is_directory(subject.path)) {
    subject.files = {subject.path};
  } else {
    for (const auto& entry : fs::directory_iterator(subject.path)) {
      if (!entry.path().string().ends_with("-shm")) subject.files.push_back(entry.path().string());
    }
  }
  std::sort(subject.files.begin(), subject.files.end());
  for (const std::string& file : subject.files) subject.num_bytes += fs::file_size(file);
}

State Now(const std::string& path) {
  auto trace = store::OpenTrace(path);
  Require(trace.status());
  return State(*trace);
}

Subject Saved(const std::string& folder, const std::string& name, bool compress) {
  Subject subject{name, folder + "/" + name, {}, 0, {}};
  store::SaveOptions options;
  options.compress = compress;
  Require(store::SaveTrace(*MakeTrace(), subject.path, options));
  AddFiles(subject);
  subject.states.push_back(Now(subject.path));
  return subject;
}

// The recording's thread commits all of that.
void WaitFor(size_t ops, const std::string& path) {
  for (int i = 0; i < 500; ++i) {
    const auto trace = store::OpenTrace(path);
    if (trace.ok() && (*trace)->num_ops() == ops) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  Broken("not all was committed");
}

// Tells the values of tensors from `told` on.
void TellValues(TraceMaker& m, EventSink& sink, TensorId& told) {
  for (; told < m.tables().tensors.size(); ++told) {
    const Result<Payload> value = m.payloads().Read(told);
    if (value.ok()) sink.OnValue(told, 16, [value] { return *value; });
  }
}

// A recording that ended: its database is the one that was streamed.
Subject Streamed(const std::string& folder) {
  Subject subject{"streamed.flow", folder + "/streamed.flow", {}, 0, {}};
  auto writer = store::StreamWriter::Create(subject.path, {});
  Require(writer.status());
  TraceMaker m;
  TensorId told = 0;
  Record(m, [&] {
    TellValues(m, **writer, told);
    (*writer)->OnProgress(m.tables());
  });
  const auto trace = m.Finish();
  (*writer)->Finish(trace->tables());
  Require((*writer)->status());
  AddFiles(subject);
  subject.states.push_back(Now(subject.path));
  return subject;
}

// A copy of what stands there while the recording goes on: database, log and an open shard.
Subject CutOff(const std::string& folder) {
  Subject subject{"cut.flow", folder + "/cut.flow", {}, 0, {}};
  const std::string live = folder + "/live.flow";
  auto writer = store::StreamWriter::Create(live, {});
  Require(writer.status());
  subject.states.push_back(Now(live));
  TraceMaker m;
  TensorId told = 0;
  int calls = 0;
  const auto commit = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(110));  // a batch is due
    (*writer)->OnProgress(m.tables());
    WaitFor(m.tables().ops.size(), live);
    subject.states.push_back(Now(live));
  };
  Record(m, [&] {
    TellValues(m, **writer, told);
    if (++calls == kCallsInFirstBatch) commit();
  });
  commit();
  fs::create_directory(subject.path);
  for (const auto& entry : fs::directory_iterator(live)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with("-shm")) fs::copy_file(entry.path(), subject.path + "/" + name);
  }
  AddFiles(subject);
  return subject;
}

// As a recording leaves it that was long enough for its log to be worked in.
Subject WorkedIn(const Subject& cut, const std::string& folder) {
  Subject subject{"worked.flow", folder + "/worked.flow", {}, 0, {cut.states.back()}};
  fs::copy(cut.path, subject.path);
  const std::string database = subject.path + "/trace.sqlite";
  Require(store::WorkLogIn(database, database));
  AddFiles(subject);
  return subject;
}

// Whether op `id` is the same in both.
bool SameOp(const Trace& a, const Trace& b, OpId id) {
  return a.OpLabel(id) == b.OpLabel(id) && a.str(a.op(id).type) == b.str(b.op(id).type) &&
         a.Parents(id) == b.Parents(id) && a.op(id).kind == b.op(id).kind &&
         a.ModuleAddress(id) == b.ModuleAddress(id) &&
         a.op(id).outputs.count == b.op(id).outputs.count;
}

void AskEverything(const Trace& trace) {
  const std::vector<std::string> broken = Lint(trace);
  if (!broken.empty()) Broken("lint: " + broken.front());
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    (void)trace.Children(id);
    (void)trace.RegionPath(trace.op(id).region);
    (void)trace.AccessesOfOp(id);
  }
  for (TensorId id = 0; id < trace.tables().tensors.size(); ++id) (void)trace.StoredStats(id);
}

}  // namespace

State::State(std::shared_ptr<const Trace> whole) : trace(std::move(whole)) {
  for (TensorId id = 0; id < trace->tables().tensors.size(); ++id) {
    const Result<Payload> value = trace->ReadTensor(id);
    hashes.push_back(value.ok() ? ContentHash(*value) : "");
  }
}

std::vector<Subject> MakeSubjects(const std::string& folder) {
  std::vector<Subject> subjects;
  subjects.push_back(Saved(folder, "plain.flow", false));
  subjects.push_back(Saved(folder, "packed.flow", true));
  subjects.push_back(Saved(folder, "plain.flow.zip", false));
  subjects.push_back(Streamed(folder));
  subjects.push_back(CutOff(folder));
  subjects.push_back(WorkedIn(subjects.back(), folder));
  return subjects;
}

Judge::Judge(const Subject& subject, std::string private_folder)
    : subject_(subject), private_folder_(std::move(private_folder)) {
  const size_t before = HeapNow();
  ResetPeak();
  if (Load() != Outcome::kWhole) Broken(subject.name + " is not whole");
  memory_of_intact_ = HeapPeak() - before;
}

Outcome Judge::Load() {
  const auto trace = store::OpenTrace(subject_.path);
  if (trace.ok()) return Compare(**trace);
  const Status status = trace.status();
  if (status.code() == StatusCode::kInternal ||
      status.message().find(subject_.path) == std::string::npos) {
    Broken("an error that helps nobody: " + status.ToString());
  }
  return Outcome::kRefused;
}

// Ops and values are those of `state`. A value that cannot be read says nothing.
bool Judge::Says(const State& state, const Trace& trace) {
  const size_t num_tensors = trace.tables().tensors.size();
  if (trace.num_ops() != state.trace->num_ops() || num_tensors != state.hashes.size()) return false;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    if (!SameOp(trace, *state.trace, id)) return false;
  }
  for (TensorId id = 0; id < num_tensors; ++id) {
    const Result<Payload> value = trace.ReadTensor(id);
    if (!value.ok()) {
      ++values_refused_;
    } else if (ContentHash(*value) != state.hashes[id]) {
      return false;
    }
  }
  return true;
}

Outcome Judge::Compare(const Trace& trace) {
  AskEverything(trace);
  if (Says(subject_.states.back(), trace)) return Outcome::kWhole;
  for (const State& state : subject_.states) {
    if (Says(state, trace)) return Outcome::kPrefix;
  }
  Broken(fmt::format("{} ops that are not those of any commit", trace.num_ops()));
}

// Names, sizes and times of everything that loading must not touch.
std::string Judge::Files() const {
  std::vector<std::string> lines;
  const auto add = [&lines](const fs::path& path) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) return;
    lines.push_back(fmt::format("{} {} {}.{} {}", path.string(), info.st_size, info.st_mtim.tv_sec,
                                info.st_mtim.tv_nsec, info.st_ino));
  };
  add(subject_.path);
  if (fs::is_directory(subject_.path)) {
    for (const auto& entry : fs::directory_iterator(subject_.path)) add(entry.path());
  }
  for (const auto& entry : fs::directory_iterator(private_folder_)) add(entry.path());
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

Outcome Judge::Try() {
  const std::string before = Files();
  const size_t held = HeapNow();
  ResetPeak();
  const Outcome outcome = Load();
  const size_t memory = HeapPeak() - held;
  most_memory_ = std::max(most_memory_, memory);
  if (memory > std::max<size_t>(memory_of_intact_, 2 * subject_.num_bytes)) {
    Broken(fmt::format("{} bytes of memory for {} of files", memory, subject_.num_bytes));
  }
  if (Files() != before) Broken("something was written:\n" + before + "\n" + Files());
  return outcome;
}

}  // namespace flowscope::damage
