// Any bytes as a saved trace: opened or refused, and whatever opens answers every question.
//
// The bytes are a zip, a database, or a database with a shard and a log beside it: the first byte
// says which.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/stats.h"
#include "fuzz/folder.h"
#include "fuzz/target.h"
#include "store/reader.h"
#include "store/writer.h"
#include "trace/lint.h"
#include "trace/testing.h"

namespace flowscope::store {
namespace {

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Write(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

bool Ask(const std::string& path) {
  const Result<std::shared_ptr<const Trace>> trace = OpenTrace(path);
  if (!trace.ok()) {
    if (trace.status().message().empty()) std::abort();
    return false;
  }
  (void)Lint(**trace);
  for (TensorId id = 0; id < (*trace)->tables().tensors.size(); ++id) {
    if (const Result<Payload> value = (*trace)->ReadTensor(id); value.ok()) {
      (void)ContentHash(*value);
    }
  }
  return true;
}

bool Try(std::string_view bytes) {
  static const fuzz::Folder folder;
  if (bytes.empty()) return false;
  const unsigned kind = static_cast<unsigned char>(bytes.front()) % 3;
  bytes.remove_prefix(1);
  const std::string path = folder.path() + (kind == 0 ? "/t.flow.zip" : "/t.flow");
  std::filesystem::remove_all(path);
  if (kind == 0) {
    Write(path, bytes);
  } else {
    std::filesystem::create_directory(path);
    const size_t half = kind == 1 ? bytes.size() : bytes.size() / 2;
    Write(path + "/trace.sqlite", bytes.substr(0, half));
    Write(path + "/tensors-00000.part", bytes);
    if (kind == 2) Write(path + "/trace.sqlite-wal", bytes.substr(half));
  }
  return Ask(path);
}

std::shared_ptr<const Trace> MakeSmall() {
  TraceMaker m;
  m.At("model.py", 7, "x = self.dense(x)");
  const TensorId x = m.Input("x", {1, 3}, {1, 2, 3});
  const VariableId kernel = m.Variable("dense.kernel", {3, 4});
  const TensorId y =
      m.Call("dense", [&] { return m.Op("MatMul", {x, m.Read(kernel)}, {.dims = {1, 4}}); });
  m.Assign(kernel, m.Constant("c", {3, 4}));
  m.Iteration("while", 0, [&] { m.Op("Relu", {y}); });
  m.Output("output", y);
  return m.Finish();
}

}  // namespace
}  // namespace flowscope::store

namespace flowscope::fuzz {

bool TryBytes(std::string_view bytes) { return store::Try(bytes); }

std::vector<std::string> Seeds() {
  const fuzz::Folder folder;
  const auto trace = store::MakeSmall();
  const std::string zip = folder.path() + "/t.flow.zip";
  const std::string plain = folder.path() + "/t.flow";
  if (!store::SaveTrace(*trace, zip, {}).ok() || !store::SaveTrace(*trace, plain, {}).ok()) {
    std::abort();
  }
  const std::string database = store::Read(plain + "/trace.sqlite");
  return {std::string(1, '\0') + store::Read(zip), "\x01" + database};
}

}  // namespace flowscope::fuzz
