// The end of a streaming recording, which makes its folder a finished trace where it stands.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>

#include "base/stats.h"
#include "store/sqlite.h"
#include "store/stream_testing.h"

namespace flowscope::store {
namespace {

constexpr int kOps = 400;

class FinishTest : public StreamTest {
 protected:
  // The hash of every table, as the trace's file says it.
  static std::map<std::string, std::string> Hashes(const std::string& path) {
    std::map<std::string, std::string> hashes;
    const std::string bytes = ReadFile(path + "/trace.sqlite");
    Result<Database> database = Database::FromBytes(bytes, path);
    EXPECT_TRUE(database.ok()) << database.status().ToString();
    Result<Statement> rows = database->Prepare("SELECT table_name, hash FROM checksums");
    EXPECT_TRUE(rows.ok()) << rows.status().ToString();
    while (rows.ok() && *rows->Step()) {
      hashes[std::string(rows->Column(0).text)] = rows->Column(1).text;
    }
    return hashes;
  }

  // Runs `work` in a process of its own; its number.
  static pid_t InChild(const std::function<int()>& work) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work());
    return child;
  }

  static int StatusOf(pid_t child) {
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
  }

  void ExpectValuesOf(const Trace& live, const Trace& trace) {
    for (TensorId id = 0; id < trace.tables().tensors.size(); ++id) {
      const Result<Payload> value = trace.ReadTensor(id);
      if (!value.ok()) continue;
      EXPECT_EQ(ContentHash(*value), ContentHash(*live.ReadTensor(id))) << id;
    }
  }
};

TEST_F(FinishTest, WhatWasStreamedIsWhatWouldHaveBeenSaved) {
  const auto writer = Start("a.flow");
  TraceMaker m;
  Record(m, *writer, 300);
  TensorId x = m.Input("late", {4}, {4, 3, 2, 1});
  for (uint32_t i = 0; i < 100; ++i) {  // one site, which is passed again and again
    m.Iteration("while", i,
                [&] { x = m.Op("Relu", {x}, {.dims = {4}, .values = {float(i), 1, 2, 3}}); });
    writer->OnProgress(m.tables());
  }
  for (TensorId id = 0; id <= x; ++id) Tell(m, *writer, id);
  m.info().notes.push_back("a note");
  m.tables().ops[5].error = m.tables().strings.Intern("found out later");
  const auto live = m.Finish();
  ASSERT_NE(writer->Finish(live->tables()).payloads, nullptr) << writer->status().ToString();
  ASSERT_TRUE(SaveTrace(*live, Path("b.flow"), {}).ok());
  auto streamed = Hashes(Path("a.flow"));
  auto saved = Hashes(Path("b.flow"));
  EXPECT_GT(saved.size(), 20U);
  streamed.erase("payloads");  // values lie elsewhere
  saved.erase("payloads");
  EXPECT_EQ(streamed, saved);
  EXPECT_TRUE(OpenTrace(Path("a.flow")).ok());
}

TEST_F(FinishTest, RowsThatAreNotThereAnyMoreAreRemoved) {
  const auto writer = Start("a.flow");
  TraceMaker m;
  Record(m, *writer, 200);
  TraceTables& tables = m.tables();
  for (int i = 0; i < 9; ++i) tables.origins.push_back({0, 0});
  for (int i = 0; i < 64; ++i) m.Op("Relu", {0});
  writer->OnProgress(tables);
  tables.origins.resize(2);
  const auto live = m.Finish();
  ASSERT_NE(writer->Finish(live->tables()).payloads, nullptr) << writer->status().ToString();
  const auto loaded = OpenTrace(Path("a.flow"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_EQ((*loaded)->tables().origins.size(), 2U);
}

TEST_F(FinishTest, OneDatabaseIsLeft) {
  const auto writer = Start("a.flow");
  TraceMaker m;
  Record(m, *writer, kOps);
  const auto inode = [&] {
    struct stat info{};
    EXPECT_EQ(::stat(Path("a.flow/trace.sqlite").c_str(), &info), 0);
    return info.st_ino;
  };
  const auto before = inode();
  ASSERT_NE(writer->Finish(m.Finish()->tables()).payloads, nullptr);
  EXPECT_EQ(inode(), before);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(Path("a.flow"))) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"tensors-00000.safetensors", "trace.sqlite"}));
  auto schema = Hashes(Path("a.flow"));
  EXPECT_FALSE(schema.contains("progress"));
}

// A process that is killed so long after it has begun to end its recording.
TEST_F(FinishTest, AKillAtAnyMomentOfTheEndLeavesATrace) {
  constexpr int kKills = 40;
  constexpr int kMicrosecondsApart = 400;
  TraceMaker m;
  {  // Gone before the first fork: its thread may hold a lock of SQLite just then.
    const auto nobody = Start("nobody.flow");
    Record(m, *nobody, kOps);
  }
  const auto live = m.Finish();
  for (int i = 0; i < kKills; ++i) {
    const std::string path = Path("killed" + std::to_string(i) + ".flow");
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = InChild([&] {
      auto writer = StreamWriter::Create(path, {});
      TraceMaker again;
      Record(again, **writer, kOps);
      const auto trace = again.Finish();
      if (::write(pipe[1], "x", 1) != 1) return 1;
      (*writer)->Finish(trace->tables());
      ::pause();
      return 0;
    });
    ::close(pipe[1]);
    char byte = 0;
    ASSERT_EQ(::read(pipe[0], &byte, 1), 1);
    ::usleep(static_cast<useconds_t>(i * kMicrosecondsApart));
    ::kill(child, SIGKILL);
    StatusOf(child);
    ::close(pipe[0]);
    const auto loaded = OpenTrace(path);
    ASSERT_TRUE(loaded.ok()) << i << ": " << loaded.status().ToString();
    EXPECT_TRUE(Lint(**loaded).empty()) << i << ": " << Lint(**loaded).front();
    ExpectValuesOf(*live, **loaded);
    const bool interrupted = (*loaded)->info().interrupted;
    EXPECT_TRUE(interrupted || (*loaded)->num_ops() == live->num_ops()) << i;
    ASSERT_TRUE(RepairTrace(path).ok()) << i << ": " << RepairTrace(path).ToString();
    EXPECT_FALSE(std::filesystem::exists(path + "/trace.sqlite-wal")) << i;
    const auto repaired = OpenTrace(path);
    ASSERT_TRUE(repaired.ok()) << i << ": " << repaired.status().ToString();
    EXPECT_EQ((*repaired)->num_ops(), (*loaded)->num_ops()) << i;
    EXPECT_EQ((*repaired)->info().interrupted, interrupted) << i;
    ExpectValuesOf(*live, **repaired);
    std::filesystem::remove_all(path);
  }
}

// All of it is committed, and none of it worked in.
TEST_F(FinishTest, AnEndThatStandsInTheLogIsWhole) {
  const auto writer = Start("a.flow");
  TraceMaker m;
  Record(m, *writer, kOps);
  // Who reads keeps the log from being worked in.
  sqlite3* reader = nullptr;
  ASSERT_EQ(sqlite3_open(Path("a.flow/trace.sqlite").c_str(), &reader), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(reader, "BEGIN; SELECT * FROM sqlite_schema", nullptr, nullptr, nullptr),
            SQLITE_OK);
  const auto live = m.Finish();
  const EventSink::Kept kept = writer->Finish(live->tables());
  EXPECT_TRUE(writer->status().ok()) << writer->status().ToString();
  ASSERT_NE(kept.payloads, nullptr);
  EXPECT_TRUE(kept.payloads->Read(kOps).ok());
  const auto loaded = OpenTrace(Path("a.flow"));
  sqlite3_close(reader);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_FALSE((*loaded)->info().interrupted);
  EXPECT_EQ((*loaded)->num_ops(), live->num_ops());
  ASSERT_TRUE(RepairTrace(Path("a.flow")).ok());
  EXPECT_FALSE(std::filesystem::exists(Path("a.flow/trace.sqlite-wal")));
  EXPECT_FALSE((*OpenTrace(Path("a.flow")))->info().interrupted);
}

// Files may not grow further than that.
TEST_F(FinishTest, ADiskThatIsFullAtTheEndIsOneError) {
  for (const size_t room : {0, 5000, 30000, 100000}) {
    const std::string path = Path("full.flow");
    const pid_t child = InChild([&] {
      ::signal(SIGXFSZ, SIG_IGN);
      auto writer = StreamWriter::Create(path, {});
      TraceMaker m;
      Record(m, **writer, kOps);
      for (int i = 0; i < 500 && (*OpenTrace(path))->num_ops() < kOps / 2; ++i) ::usleep(10000);
      const auto trace = m.Finish();
      const rlim_t largest = std::filesystem::file_size(path + "/trace.sqlite-wal") + room;
      const rlimit limit{largest, largest};
      if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
      const EventSink::Kept kept = (*writer)->Finish(trace->tables());
      // What was written stays readable for the process that wrote it.
      if (kept.payloads == nullptr || !kept.payloads->Read(kOps / 4).ok()) return 3;
      if ((*writer)->status().ok()) return 0;
      const bool told = (*writer)->status().message().find(path) != std::string::npos;
      return told ? 1 : 4;
    });
    const int status = StatusOf(child);
    ASSERT_TRUE(WIFEXITED(status)) << room;
    EXPECT_LE(WEXITSTATUS(status), 1) << room;
    const auto loaded = OpenTrace(path);
    ASSERT_TRUE(loaded.ok()) << room << ": " << loaded.status().ToString();
    EXPECT_GE((*loaded)->num_ops(), size_t{kOps / 2}) << room;
    EXPECT_TRUE(Lint(**loaded).empty()) << room;
    std::filesystem::remove_all(path);
  }
}

}  // namespace
}  // namespace flowscope::store
