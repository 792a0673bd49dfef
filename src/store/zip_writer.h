// A zip of files as they are, which other programs can open.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/files.h"

namespace flowscope::store {

// Entries begin at a multiple of kAlignment, so that they can be mapped. Nothing is compressed. Not
// thread-safe.
class ZipWriter {
 public:
  explicit ZipWriter(File file) : file_(std::move(file)) {}

  // An entry whose size is not known yet. Gives where its bytes begin: they are written there into
  // the file by whoever began it, who ends it before the next one.
  Result<uint64_t> Begin(std::string name);
  Status End(uint64_t size, uint32_t crc);
  File& file() { return file_; }

  // One entry, of the pieces one after the other.
  Status Add(std::string name, std::span<const std::string_view> pieces);
  // One entry, as the file `path` is.
  Status AddFile(std::string name, const std::string& path);
  Status Finish();

 private:
  struct Entry {
    std::string name;
    uint64_t size = 0;
    uint64_t offset = 0;  // of its head
    uint64_t data = 0;
    uint32_t crc = 0;
  };

  void Number(uint64_t value, int nbytes);
  void Common(const Entry& entry);
  void AddLocal(const Entry& entry);
  void AddCentral(const Entry& entry);
  void AddEnd(uint64_t begin, uint64_t size);
  Status WriteHead(uint64_t offset);

  File file_;
  std::string head_;     // to be written
  uint64_t offset_ = 0;  // after the last entry
  std::vector<Entry> entries_;
};

}  // namespace flowscope::store
