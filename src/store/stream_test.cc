// Recordings that are written while they run.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <future>
#include <thread>

#include "base/stats.h"
#include "store/stream_testing.h"

namespace flowscope::store {
namespace {

TEST_F(StreamTest, AFinishedStreamIsATrace) {
  const auto writer = Start("a.flow");
  TraceMaker m;
  Record(m, *writer, 300);
  const auto live = m.Finish();
  const EventSink::Kept kept = writer->Finish(live->tables());
  ASSERT_TRUE(writer->status().ok()) << writer->status().ToString();
  ASSERT_NE(kept.payloads, nullptr);
  const auto loaded = OpenTrace(Path("a.flow"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_FALSE((*loaded)->info().interrupted);
  ASSERT_EQ((*loaded)->num_ops(), live->num_ops());
  for (TensorId id = 0; id < live->tables().tensors.size(); ++id) {
    EXPECT_EQ(ContentHash(*live->ReadTensor(id)), ContentHash(*(*loaded)->ReadTensor(id)));
    EXPECT_EQ(ContentHash(*live->ReadTensor(id)), ContentHash(*kept.payloads->Read(id)));
  }
}

TEST_F(StreamTest, WhatWasCommittedIsThereWithoutAnEnd) {
  const auto writer = Start("a.flow");
  EXPECT_EQ((*OpenTrace(Path("a.flow")))->num_ops(), 0U);
  TraceMaker m;
  Record(m, *writer, 1000);
  std::shared_ptr<const Trace> trace;
  for (int i = 0; i < 500 && (trace == nullptr || trace->num_ops() < 900); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto loaded = OpenTrace(Path("a.flow"));
    ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
    trace = *loaded;
  }
  EXPECT_GE(trace->num_ops(), 900U);
  EXPECT_TRUE(trace->info().interrupted);
  EXPECT_TRUE(Lint(*trace).empty()) << Lint(*trace).front();
  for (const OpRecord& op : trace->tables().ops) {
    if (op.module_call == kNoId) continue;
    const ModuleCallRecord& call = trace->module_call(op.module_call);
    EXPECT_LE(op.start_ns + op.duration_ns, call.start_ns + call.duration_ns);
  }
  for (TensorId id = 0; id < trace->tables().tensors.size(); ++id) {
    ASSERT_TRUE(trace->ReadTensor(id).ok()) << id << trace->ReadTensor(id).status().ToString();
    EXPECT_EQ(ContentHash(*m.payloads().Read(id)), ContentHash(*trace->ReadTensor(id)));
  }
}

// As a machine that stopped can leave it: the end of a file never reached the disk.
void LoseEnd(const std::string& path, size_t kept) {
  std::string bytes = ReadFile(path);
  ASSERT_GT(bytes.size(), kept) << path;
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(kept), bytes.end(), '\0');
  WriteFile(path, bytes);
}

TEST_F(StreamTest, BytesThatNeverReachedTheDiskAreToldAndTheRestIsRead) {
  {
    const auto writer = Start("a.flow");
    TraceMaker m;
    Record(m, *writer, 1000);
  }
  const std::string part = Path("a.flow/tensors-00000.part");
  LoseEnd(part, std::filesystem::file_size(part) - 4096);
  const auto loaded = OpenTrace(Path("a.flow"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  const auto last = static_cast<TensorId>((*loaded)->tables().tensors.size() - 1);
  EXPECT_TRUE((*loaded)->ReadTensor(10).ok());
  EXPECT_EQ((*loaded)->ReadTensor(last).status().code(), StatusCode::kCorruption);
}

TEST_F(StreamTest, ALogWithoutItsEndIsReadAsFarAsItIsProved) {
  size_t committed = 0;
  {
    const auto writer = Start("a.flow");
    TraceMaker m;
    Record(m, *writer, 1000);
    for (int i = 0; i < 500 && committed < 900; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      committed = (*OpenTrace(Path("a.flow")))->num_ops();
    }
    std::filesystem::create_directory(Path("b.flow"));
    for (const char* name : {"trace.sqlite", "trace.sqlite-wal", "tensors-00000.part"}) {
      std::filesystem::copy_file(Path("a.flow/") + name, Path("b.flow/") + name);
    }
  }
  const std::string log = Path("b.flow/trace.sqlite-wal");
  LoseEnd(log, std::filesystem::file_size(log) / 2);
  const auto loaded = OpenTrace(Path("b.flow"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_LT((*loaded)->num_ops(), committed);
  EXPECT_TRUE(Lint(**loaded).empty()) << Lint(**loaded).front();
}

// A recording of 200 ops that was cut off.
class CutOffTest : public StreamTest {
 protected:
  void SetUp() override {
    StreamTest::SetUp();
    const auto writer = Start("a.flow");
    Record(m_, *writer, 200);
  }
  Result<std::shared_ptr<const Trace>> Open() const { return OpenTrace(Path("a.flow")); }

  // Where the last value that was committed ends in the shard. Bytes of others may follow.
  size_t EndOfLastValue() const {
    const auto trace = Open();
    const auto last = static_cast<TensorId>((*trace)->tables().tensors.size() - 1);
    const Result<Payload> value = (*trace)->ReadTensor(last);
    EXPECT_TRUE(value.ok()) << value.status().ToString();
    const std::string_view bytes(static_cast<const char*>(value->data), value->nbytes);
    const size_t at = ReadFile(Path("a.flow/tensors-00000.part")).rfind(bytes);
    EXPECT_NE(at, std::string::npos);
    return at + bytes.size();
  }

  TraceMaker m_;
};

TEST_F(CutOffTest, RowsThatAreNotThoseThatWereCommittedAreRefused) {
  ASSERT_GE((*Open())->num_ops(), 100U);
  const std::pair<const char*, const char*> changes[] = {
      {"ops", "UPDATE ops SET pass = pass + 1 WHERE id = 7"},
      {"ops", "DELETE FROM ops WHERE id = (SELECT max(id) FROM ops)"},
      {"edges", "UPDATE edges SET edge_class = 'control' WHERE id = 3"},
      {"strings", "UPDATE strings SET text = 'Rely' WHERE text = 'Relu'"},
      {"info", "UPDATE info SET value = 'other' WHERE key = 'name'"},
      {"payloads", "UPDATE payloads SET file_offset = file_offset + 64 WHERE tensor = 5"},
      {"tensors", "UPDATE tensors SET nbytes = 4 WHERE id = 2"},
      {"sites", "DROP TABLE sites"},
      {"shapes", "ALTER TABLE shapes RENAME COLUMN dims TO dimt"},
  };
  for (const auto& [table, sql] : changes) {
    std::filesystem::copy(Path("a.flow"), Path("b.flow"));
    ChangeDatabase(Path("b.flow"), sql);
    const auto loaded = OpenTrace(Path("b.flow"));
    ASSERT_FALSE(loaded.ok()) << sql;
    EXPECT_EQ(loaded.status().code(), StatusCode::kCorruption) << sql;
    EXPECT_NE(loaded.status().message().find(std::string("table ") + table), std::string::npos)
        << sql << ": " << loaded.status().message();
    std::filesystem::remove_all(Path("b.flow"));
  }
}

TEST_F(CutOffTest, ValuesThatAreNotThoseThatWereCommittedAreRefused) {
  const std::string part = Path("a.flow/tensors-00000.part");
  const std::string good = ReadFile(part);
  const size_t at = EndOfLastValue() - 1;
  for (size_t bit = 0; bit < 8; ++bit) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
    WriteFile(part, bad);
    const auto loaded = Open();
    ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
    size_t refused = 0;
    for (TensorId id = 0; id < (*loaded)->tables().tensors.size(); ++id) {
      const auto value = (*loaded)->ReadTensor(id);
      if (value.ok()) {
        EXPECT_EQ(ContentHash(*m_.payloads().Read(id)), ContentHash(*value));
      } else {
        EXPECT_EQ(value.status().code(), StatusCode::kCorruption);
        ++refused;
      }
    }
    EXPECT_EQ(refused, 1U);
  }
}

TEST_F(CutOffTest, ValuesThatAreCutOffAreCountedInANote) {
  const std::string part = Path("a.flow/tensors-00000.part");
  std::filesystem::resize_file(part, EndOfLastValue() - 1);
  const auto loaded = Open();
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  const auto& notes = (*loaded)->info().notes;
  const auto told = std::find_if(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("values that were committed are not whole") != std::string::npos;
  });
  ASSERT_NE(told, notes.end());
  EXPECT_NE(told->find("tensors-00000.part is cut off"), std::string::npos) << *told;
}

TEST_F(CutOffTest, OneOfAWriterThatKeptNoHashesOfRowsIsRead) {
  const size_t count = (*Open())->num_ops();
  ChangeDatabase(Path("a.flow"), "DROP TABLE progress");
  const auto loaded = Open();
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_EQ((*loaded)->num_ops(), count);
}

TEST_F(StreamTest, AValueThatIsToldTwiceCountsOnce) {
  {
    const auto writer = Start("a.flow");
    TraceMaker m;
    m.Input("x", {4}, {1, 2, 3, 4});
    m.Input("y", {4}, {5, 6, 7, 8});
    const Result<Payload> x = m.payloads().Read(0);
    const Result<Payload> y = m.payloads().Read(1);
    writer->OnValue(0, 16, [x] { return *x; });
    writer->OnProgress(m.tables());
    writer->OnValue(0, 16, [y] { return *y; });
    Record(m, *writer, 100);
  }
  const auto loaded = OpenTrace(Path("a.flow"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  const Result<Payload> first = (*loaded)->ReadTensor(0);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_EQ(*static_cast<const float*>(first->data), 1);
}

// A recording that is given up is gone while its last rows wait to be written.
TEST_F(StreamTest, ABatchOutlivesItsTables) {
  Batch batch;
  {
    TraceMaker m;
    m.Input("a path", {4}, {1, 2, 3, 4});
    batch = BatchMaker().Make(m.tables(), 1);
  }
  const auto strings = std::find_if(batch.begin(), batch.end(), [](const RowBatch& rows) {
    return rows.shape.name == "strings";
  });
  ASSERT_NE(strings, batch.end());
  EXPECT_TRUE(std::any_of(strings->cells.begin(), strings->cells.end(),
                          [](const Cell& cell) { return cell.text == "a path"; }));
}

TEST_F(StreamTest, RepairWritesTheEnd) {
  {
    const auto writer = Start("a.flow");
    TraceMaker m;
    Record(m, *writer, 200);
  }
  const auto before = OpenTrace(Path("a.flow"));
  ASSERT_TRUE(before.ok());
  ASSERT_TRUE(RepairTrace(Path("a.flow")).ok()) << RepairTrace(Path("a.flow")).ToString();
  EXPECT_TRUE(std::filesystem::exists(Path("a.flow/tensors-00000.safetensors")));
  EXPECT_FALSE(std::filesystem::exists(Path("a.flow/trace.sqlite-wal")));
  const auto after = OpenTrace(Path("a.flow"));
  ASSERT_TRUE(after.ok()) << after.status().ToString();
  EXPECT_TRUE((*after)->info().interrupted);
  EXPECT_EQ((*after)->num_ops(), (*before)->num_ops());
  ASSERT_GT((*after)->num_ops(), 100U);
  EXPECT_EQ(ContentHash(*(*after)->ReadTensor(50)), ContentHash(*(*before)->ReadTensor(50)));
  EXPECT_TRUE(RepairTrace(Path("a.flow")).ok());
}

TEST_F(StreamTest, WaitsWhereTooMuchIsPending) {
  StreamOptions options;
  options.max_pending = 10'000;
  const auto writer = Start("a.flow", options);
  TraceMaker m;
  m.Input("x", {4}, {1, 2, 3, 4});
  std::atomic<int> pending = 0;
  int most = 0;
  for (int i = 0; i < 200; ++i) {
    most = std::max(most, ++pending);
    writer->OnValue(0, 4000, [&pending, value = m.payloads().Read(0)] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      --pending;
      return value;
    });
  }
  EXPECT_LE(most, 4);
}

// Files may not grow further than that while this lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t largest) {
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{largest, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

// The writing thread finds all batches waiting, and gives them one transaction.
TEST_F(StreamTest, ADiskThatFillsKeepsTheBatchesBefore) {
  constexpr int kCount = 320;
  constexpr int64_t kFloats = 8192;
  constexpr rlim_t kLargest = rlim_t{8} << 20;
  const auto writer = Start("a.flow");
  const FileSizeLimit limit(kLargest);
  TraceMaker m;
  std::promise<void> all_told;
  writer->OnValue(m.Input("x", {1}, {1}), 4, [&] {
    all_told.get_future().wait();
    return *m.payloads().Read(0);
  });
  TensorId told = 1;
  for (int i = 0; i < kCount; ++i) {
    std::vector<float> values(kFloats, static_cast<float>(i));
    m.Op("Relu", {0}, {.dims = {kFloats}, .values = std::move(values)});
    Tell(m, *writer, told++);
    writer->OnProgress(m.tables());
  }
  all_told.set_value();
  const auto live = m.Finish();
  EXPECT_NE(writer->Finish(live->tables()).payloads, nullptr);
  EXPECT_FALSE(writer->status().ok());
  const auto loaded = OpenTrace(Path("a.flow"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_TRUE((*loaded)->info().interrupted);
  EXPECT_TRUE(Lint(**loaded).empty());
  EXPECT_GE((*loaded)->num_ops(), size_t{kCount / 2});
  EXPECT_LT((*loaded)->num_ops(), live->num_ops());
  size_t values = 0;
  for (TensorId id = 0; id < (*loaded)->tables().tensors.size(); ++id) {
    const Result<Payload> value = (*loaded)->ReadTensor(id);
    if (!value.ok()) continue;
    ++values;
    EXPECT_EQ(ContentHash(*value), ContentHash(*live->ReadTensor(id))) << id;
  }
  EXPECT_GE(values, size_t{kCount / 2});
}

TEST_F(StreamTest, AFolderThatVanishesIsOneError) {
  const auto writer = Start("a.flow");
  TraceMaker m;
  Record(m, *writer, 10);
  std::filesystem::remove_all(Path("a.flow"));
  const EventSink::Kept kept = writer->Finish(m.Finish()->tables());
  EXPECT_FALSE(writer->status().ok());
  EXPECT_NE(writer->status().message().find("a.flow"), std::string::npos);
  EXPECT_EQ(kept.payloads, nullptr);
}

TEST_F(StreamTest, WhatIsThereIsLeftAlone) {
  SaveSmall("a.flow");
  EXPECT_EQ(StreamWriter::Create(Path("a.flow"), {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(StreamWriter::Create(Path("a.flow.zip"), {}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(StreamWriter::Create(Path("no/a.flow"), {}).status().code(), StatusCode::kIo);
  StreamOptions overwrite;
  overwrite.overwrite = true;
  EXPECT_TRUE(StreamWriter::Create(Path("a.flow"), overwrite).ok());
}

}  // namespace
}  // namespace flowscope::store
