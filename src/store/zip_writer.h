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

// Entries begin at a multiple of kAlignment, so that they can be mapped. Nothing is compressed.
class ZipWriter {
 public:
  explicit ZipWriter(File file) : file_(std::move(file)) {}

  // One entry, of the pieces one after the other.
  Status Add(const std::string& name, std::span<const std::string_view> pieces);
  Status Finish();

 private:
  struct Entry {
    std::string name;
    uint64_t size = 0;
    uint64_t offset = 0;
    uint32_t crc = 0;
  };

  void Number(uint64_t value, int nbytes);
  void Common(const Entry& entry);
  void AddCentral(const Entry& entry);
  void AddEnd(uint64_t begin, uint64_t size);
  Status WriteHead();

  File file_;
  std::string head_;  // to be written at `offset_`
  uint64_t offset_ = 0;
  std::vector<Entry> entries_;
};

// Writes the files of `folder` (no folders in it, hidden files left out) to a new file `path`.
Status WriteZip(const std::string& folder, const std::string& path);

}  // namespace flowscope::store
