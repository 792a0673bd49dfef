// Any bytes as a saved trace: opened or refused, and whatever opens answers every question.
//
// The bytes are a zip, a database, or a database with a shard and a log beside it: the first byte
// says which.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/stats.h"
#include "store/reader.h"
#include "trace/lint.h"

namespace flowscope::store {
namespace {

std::string MakeFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "store-fuzz-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) std::abort();
  return pattern;
}

void Write(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

void Ask(const std::string& path) {
  const Result<std::shared_ptr<const Trace>> trace = OpenTrace(path);
  if (!trace.ok()) {
    if (trace.status().message().empty()) std::abort();
    return;
  }
  (void)Lint(**trace);
  for (TensorId id = 0; id < (*trace)->tables().tensors.size(); ++id) {
    if (const Result<Payload> value = (*trace)->ReadTensor(id); value.ok()) {
      (void)ContentHash(*value);
    }
  }
}

void Try(std::string_view bytes) {
  static const std::string folder = MakeFolder();
  if (bytes.empty()) return;
  const unsigned kind = static_cast<unsigned char>(bytes.front()) % 3;
  bytes.remove_prefix(1);
  const std::string path = folder + (kind == 0 ? "/t.flow.zip" : "/t.flow");
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
  Ask(path);
}

}  // namespace
}  // namespace flowscope::store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  flowscope::store::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
