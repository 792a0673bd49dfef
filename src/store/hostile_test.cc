// Files that lie. Each is an error that says what is wrong, or gives what is right of it; none
// crashes, hangs, writes, or takes memory beyond its size.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "store/sqlite.h"
#include "store/testing.h"
#include "store/trace_format.h"

namespace flowscope::store {
namespace {

class HostileTest : public StoreTest {
 protected:
  // Loads and asks everything. An error of loading, else whatever the values say.
  static Status Load(const std::string& path) {
    const Result<std::shared_ptr<const Trace>> trace = OpenTrace(path);
    if (!trace.ok()) return trace.status();
    Exercise(**trace);
    return Status::Ok();
  }

  // A changed database whose checksums are gone: nothing but the checks of the reader are left.
  Status LoadChanged(const std::string& sql) {
    SaveOptions overwrite;
    overwrite.overwrite = true;
    const std::string path = SaveSmall("small.flow", overwrite);
    ChangeDatabase(path, sql + "; DROP TABLE IF EXISTS checksums");
    return Load(path);
  }
};

// tests/fuzz and ./dev prove go through all of them.
constexpr size_t kFlipStride = 53;

TEST_F(HostileTest, AnyBitOfTheDatabaseMayFlip) {
  const std::string path = SaveSmall();
  const std::string name = path + "/trace.sqlite";
  const std::string good = ReadFile(name);
  int refused = 0;
  int flipped = 0;
  for (size_t at = 0; at < good.size(); at += kFlipStride) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    WriteFile(name, bad);
    ++flipped;
    if (!Load(path).ok()) ++refused;
  }
  EXPECT_GT(refused, flipped / 20);
}

TEST_F(HostileTest, AColumnByAnotherNameIsNoticed) {
  const std::string path = SaveSmall();
  ChangeDatabase(path, "ALTER TABLE \"sites\" RENAME COLUMN \"ordinal\" TO \"ordinaj\"");
  const Status status = Load(path);
  EXPECT_EQ(status.code(), StatusCode::kCorruption);
  EXPECT_NE(status.message().find("table sites has other columns"), std::string::npos)
      << status.message();
}

TEST_F(HostileTest, TheDatabaseMayEndAnywhere) {
  const std::string path = SaveSmall();
  const std::string name = path + "/trace.sqlite";
  const std::string good = ReadFile(name);
  for (size_t size = 0; size < good.size(); size += 997) {
    WriteFile(name, good.substr(0, size));
    EXPECT_FALSE(Load(path).ok()) << size;
  }
}

TEST_F(HostileTest, AFlippedBitOfAValueIsNoticed) {
  const std::string path = SaveSmall();
  const std::string name = path + "/tensors-00000.safetensors";
  const std::string good = ReadFile(name);
  const Result<std::shared_ptr<const Trace>> live = OpenTrace(path);
  const size_t values = good.size() - 8 - static_cast<unsigned char>(good[0]) -
                        256 * static_cast<unsigned char>(good[1]);
  int noticed = 0;
  for (size_t at = good.size() - values; at < good.size(); at += 3) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    WriteFile(name, bad);
    const Result<std::shared_ptr<const Trace>> trace = OpenTrace(path);
    ASSERT_TRUE(trace.ok());
    for (TensorId id = 0; id < (*trace)->tables().tensors.size(); ++id) {
      if ((*trace)->ReadTensor(id).status().code() == StatusCode::kCorruption) ++noticed;
    }
  }
  EXPECT_GT(noticed, 40);
}

TEST_F(HostileTest, AShardMayEndAnywhereOrBeMissing) {
  const std::string path = SaveSmall();
  const std::string name = path + "/tensors-00000.safetensors";
  const std::string good = ReadFile(name);
  for (size_t size = 0; size < good.size(); size += 61) {
    WriteFile(name, good.substr(0, size));
    EXPECT_TRUE(Load(path).ok()) << size;
  }
  std::filesystem::remove(name);
  EXPECT_TRUE(Load(path).ok());
  const auto trace = OpenTrace(path);
  EXPECT_EQ((*trace)->ReadTensor(0).status().code(), StatusCode::kNotFound);
}

TEST_F(HostileTest, EveryBitOfAZipMayFlip) {
  const std::string path = SaveSmall("a.flow.zip");
  const std::string good = ReadFile(path);
  const size_t tail = std::min<size_t>(good.size(), 600);
  for (size_t at = good.size() - tail; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    WriteFile(path, bad);
    (void)Load(path);
  }
  for (size_t size = 0; size < good.size(); size += 1117) {
    WriteFile(path, good.substr(0, size));
    EXPECT_FALSE(Load(path).ok());
  }
}

constexpr const char* kEndlessView = R"sql(
DROP TABLE "notes";
CREATE VIEW "notes" AS WITH RECURSIVE c(id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM c)
  SELECT id, 'x' AS text FROM c)sql";

TEST_F(HostileTest, WhatComputesIsRefused) {
  for (const char* sql : {
           "CREATE VIEW \"v\" AS SELECT 1",
           "CREATE TRIGGER \"t\" AFTER INSERT ON \"ops\" BEGIN DELETE FROM \"ops\"; END",
           "CREATE INDEX \"i\" ON \"ops\"(\"kind\")",
           kEndlessView,
           "CREATE TABLE \"g\"(\"id\" INTEGER PRIMARY KEY, \"x\" AS (zeroblob(1000000000)))",
           "CREATE TABLE \"d\"(\"id\" INTEGER PRIMARY KEY, \"x\" DEFAULT (randomblob(9)))",
           "CREATE TABLE \"w\"(\"id\" INTEGER PRIMARY KEY) WITHOUT ROWID",
           "CREATE VIRTUAL TABLE \"f\" USING fts4(\"x\")",
       }) {
    EXPECT_EQ(LoadChanged(sql).code(), StatusCode::kCorruption) << sql;
  }
}

TEST_F(HostileTest, RowsThatLeadNowhereAreRefused) {
  for (const char* sql : {
           "UPDATE ops SET site = 99999",
           "UPDATE ops SET inputs_count = 4000000000",
           "UPDATE ops SET inputs_first = 0, inputs_count = (SELECT count(*) FROM edges)",
           "UPDATE ops SET outputs_first = 0, outputs_count = (SELECT count(*) FROM tensors)",
           "UPDATE ops SET type = -1",
           "UPDATE ops SET kind = 'nothing'",
           "UPDATE ops SET pass = 'x'",
           "UPDATE edges SET tensor = 5000000000",
           "UPDATE tensors SET dtype = 'float31'",
           "UPDATE tensors SET shape = 77",
           "UPDATE tensors SET nbytes = -4",
           "UPDATE modules SET parent = 1",
           "UPDATE modules SET parent = id",
           "UPDATE module_calls SET parent = 1",
           "UPDATE regions SET parent = 1",
           "UPDATE strings SET text = 'same'",
           "UPDATE shapes SET dims = '[-1]' WHERE id = 1",
           "UPDATE shapes SET dims = '[4611686018427387904,4611686018427387904]' WHERE id = 1",
           "UPDATE shapes SET dims = '[4611686018427387904,4,0]' WHERE id = 1",
           "UPDATE shapes SET dims = 'rm -rf' WHERE id = 1",
           "UPDATE payloads SET shard = -1",
           "UPDATE payloads SET shard = 2000000000",
           "UPDATE payloads SET file_offset = -8",
           "UPDATE payloads SET encoding = 'pickle'",
           "UPDATE payloads SET hash = 'short'",
           "UPDATE payloads SET tensor = tensor + 1000",
           "DELETE FROM ops WHERE id = 2",
           "DELETE FROM strings WHERE id = 0",
           "UPDATE info SET value = 'one' WHERE key = 'format'",
           "DROP TABLE info",
       }) {
    const Status status = LoadChanged(sql);
    EXPECT_FALSE(status.ok()) << sql;
    EXPECT_NE(status.message().find("trace.sqlite"), std::string::npos)
        << sql << ": " << status.message();
  }
}

TEST_F(HostileTest, ValuesThatLieElsewhereAreErrorsOfTheirOwn) {
  for (const char* sql : {
           "UPDATE payloads SET file_offset = 9000000000000000000",
           "UPDATE payloads SET nbytes = 9000000000000000000",
           "UPDATE payloads SET nbytes = nbytes + 4",
           "UPDATE payloads SET file_offset = 0",
           "UPDATE payloads SET shard = 3",
           "UPDATE payloads SET encoding = 'zstd'",
           "UPDATE payloads SET encoding = 'strings'",
           "UPDATE shapes SET dims = '[1000000000000]' WHERE id > 1 AND dims = '[1,4]'",
       }) {
    const Status status = LoadChanged(sql);
    EXPECT_TRUE(status.ok()) << sql << ": " << status.ToString();
  }
}

TEST_F(HostileTest, TheOutsideIsNotReached) {
  const std::string path = SaveSmall();
  const std::string name = path + "/tensors-00000.safetensors";
  std::filesystem::rename(name, Path("outside"));
  std::filesystem::create_symlink(Path("outside"), name);
  const auto trace = OpenTrace(path);
  ASSERT_TRUE(trace.ok());
  EXPECT_FALSE((*trace)->ReadTensor(0).ok());
  std::filesystem::remove(name);
  ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
  EXPECT_TRUE(Load(path).ok());
  std::filesystem::rename(path + "/trace.sqlite", Path("database"));
  std::filesystem::create_symlink(Path("database"), path + "/trace.sqlite");
  EXPECT_FALSE(Load(path).ok());
}

TEST_F(HostileTest, AHeaderOfTenGigabytesIsNotRead) {
  const std::string path = SaveSmall();
  const std::string name = path + "/tensors-00000.safetensors";
  std::string bytes = ReadFile(name);
  const uint64_t huge = uint64_t{10} << 30;
  std::memcpy(bytes.data(), &huge, sizeof(huge));
  WriteFile(name, bytes);
  EXPECT_TRUE(Load(path).ok());
}

TEST_F(HostileTest, NothingIsWritten) {
  const std::string path = SaveSmall();
  std::filesystem::permissions(
      path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const auto before = std::filesystem::last_write_time(path);
  EXPECT_TRUE(Load(path).ok());
  EXPECT_EQ(std::filesystem::last_write_time(path), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path),
                          std::filesystem::directory_iterator()),
            2);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

TEST_F(HostileTest, OtherThingsAreNoTrace) {
  EXPECT_EQ(Load(Path("missing.flow")).code(), StatusCode::kNotFound);
  std::filesystem::create_directory(Path("empty.flow"));
  EXPECT_EQ(Load(Path("empty.flow")).code(), StatusCode::kNotFound);
  WriteFile(Path("text.flow"), "hello");
  EXPECT_EQ(Load(Path("text.flow")).code(), StatusCode::kCorruption);
  WriteFile(Path("empty.flow/trace.sqlite"), "");
  EXPECT_EQ(Load(Path("empty.flow")).code(), StatusCode::kCorruption);
}

}  // namespace
}  // namespace flowscope::store
