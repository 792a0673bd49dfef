// What the tests of the store share: a folder for each test, a small trace with everything in it,
// and files changed on purpose.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "store/reader.h"
#include "store/writer.h"
#include "trace/lint.h"
#include "trace/testing.h"

namespace flowscope::store {

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "store-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  // The small trace, saved; its path.
  std::string SaveSmall(const std::string& name = "small.flow", SaveOptions options = {}) {
    const Status status = SaveTrace(*MakeSmall(), Path(name), options);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return Path(name);
  }

  static std::shared_ptr<const Trace> MakeSmall() {
    TraceMaker m;
    m.At("model.py", 7, "x = self.dense(x)");
    const TensorId x = m.Input("x", {1, 3}, {1, 2, 3});
    const VariableId kernel = m.Variable("dense.kernel", {3, 4});
    const TensorId y = m.Call("self", [&] {
      return m.Call("dense", [&] { return m.Op("MatMul", {x, m.Read(kernel)}, {.dims = {1, 4}}); });
    });
    m.Assign(kernel, m.Constant("c", {3, 4}));
    TensorId z = y;
    m.Iteration("while", 0, [&] { z = m.Op("Relu", {z}); });
    m.Iteration("while", 1, [&] { z = m.Op("Relu", {z}); });
    m.Op("AddV2", {z, m.Literal(2)});
    m.Output("output", z);
    m.info().notes.push_back("a note");
    return m.Finish();
  }

  std::string folder_;
};

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

inline void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Runs SQL on a saved trace's database, as somebody with another SQLite could.
inline void ChangeDatabase(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((path + "/trace.sqlite").c_str(), &database), SQLITE_OK);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK)
      << sql << ": " << error;
  sqlite3_close(database);
}

// Asks everything that follows ids: what was loaded must answer without harm.
inline void Exercise(const Trace& trace) {
  (void)Lint(trace);
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    (void)trace.OpLabel(id);
    (void)trace.Parents(id);
    (void)trace.Children(id);
    (void)trace.ModuleAddress(id);
    (void)trace.RegionPath(trace.op(id).region);
    (void)trace.AccessesOfOp(id);
  }
  for (TensorId id = 0; id < trace.tables().tensors.size(); ++id) {
    if (const Result<Payload> payload = trace.ReadTensor(id); payload.ok()) {
      (void)ContentHash(*payload);
    }
    (void)trace.StoredStats(id);
  }
}

}  // namespace flowscope::store
