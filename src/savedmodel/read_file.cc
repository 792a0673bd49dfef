#include "savedmodel/read_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace flowscope::savedmodel {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Status Failed(const std::string& path) {
  const std::string message = path + " cannot be read: " + std::strerror(errno);
  return errno == ENOENT ? NotFound(message) : IoError(message);
}

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return Failed(path);
  std::string bytes;
  std::array<char, 65536> part{};
  while (const size_t count = std::fread(part.data(), 1, part.size(), file.get())) {
    bytes.append(part.data(), count);
  }
  if (std::ferror(file.get()) != 0) return Failed(path);
  return bytes;
}

}  // namespace flowscope::savedmodel
