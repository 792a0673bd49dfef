#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "store/container.h"
#include "store/files.h"
#include "store/zip_format.h"

namespace flowscope::store {
namespace {

// Little-endian numbers at places that may lie outside.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  bool Has(uint64_t offset, uint64_t nbytes) const {
    return offset <= bytes_.size() && nbytes <= bytes_.size() - offset;
  }
  // Zero outside; callers have asked Has.
  uint64_t Number(uint64_t offset, int nbytes) const {
    if (!Has(offset, static_cast<uint64_t>(nbytes))) return 0;
    uint64_t value = 0;
    for (int i = nbytes - 1; i >= 0; --i) {
      const auto byte = static_cast<unsigned char>(bytes_[offset + static_cast<uint64_t>(i)]);
      value = value << 8 | byte;
    }
    return value;
  }
  std::string_view Text(uint64_t offset, uint64_t nbytes) const {
    return Has(offset, nbytes) ? bytes_.substr(offset, nbytes) : std::string_view();
  }
  uint64_t size() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
};

std::optional<Directory> FindDirectory(const Bytes& bytes) {
  const uint64_t size = bytes.size();
  for (uint64_t comment = 0; comment <= kZipMaxComment; ++comment) {
    if (size < kZipEndBytes + comment) break;
    const uint64_t end = size - kZipEndBytes - comment;
    if (bytes.Number(end, 4) != kZipEndMagic || bytes.Number(end + 20, 2) != comment) continue;
    Directory found{bytes.Number(end + 16, 4), bytes.Number(end + 12, 4)};
    const bool wide = found.offset == kZip32Max || found.size == kZip32Max;
    if (wide && end >= kZip64LocatorBytes &&
        bytes.Number(end - kZip64LocatorBytes, 4) == kZip64LocatorMagic) {
      const uint64_t record = bytes.Number(end - kZip64LocatorBytes + 8, 8);
      if (!bytes.Has(record, kZip64EndBytes) || bytes.Number(record, 4) != kZip64EndMagic) {
        return std::nullopt;
      }
      found = {bytes.Number(record + 48, 8), bytes.Number(record + 40, 8)};
    }
    if (!bytes.Has(found.offset, found.size)) return std::nullopt;
    return found;
  }
  return std::nullopt;
}

struct Found {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t packed = 0;
};

// The 64-bit numbers that stand in the extra field where 32 bits are not enough.
void ReadWide(const Bytes& bytes, uint64_t at, uint64_t nbytes, Found& entry) {
  const uint64_t end = at + nbytes;
  while (at + 4 <= end) {
    const uint64_t size = bytes.Number(at + 2, 2);
    if (bytes.Number(at, 2) == kZip64Extra) {
      uint64_t field = at + 4;
      for (uint64_t* value : {&entry.size, &entry.packed, &entry.offset}) {
        if (*value != kZip32Max || field + 8 > at + 4 + size) continue;
        *value = bytes.Number(field, 8);
        field += 8;
      }
      return;
    }
    at += 4 + size;
  }
}

class Zip : public Container {
 public:
  Zip(std::shared_ptr<const Mapping> mapping, std::string path)
      : mapping_(std::move(mapping)), bytes_(mapping_->bytes()), path_(std::move(path)) {}

  Status ReadDirectory() {
    const std::optional<Directory> directory = FindDirectory(bytes_);
    if (!directory) return Broken("it has no directory at its end");
    uint64_t at = directory->offset;
    const uint64_t end = directory->offset + directory->size;
    while (at + kZipCentralBytes <= end && bytes_.Number(at, 4) == kZipCentralMagic) {
      FLOWSCOPE_RETURN_IF_ERROR(ReadEntry(at, end));
    }
    return at == end ? Status::Ok() : Broken("its directory is damaged");
  }

  Result<Member> Open(const std::string& name) const override {
    const auto it = members_.find(name);
    if (it == members_.end()) return NotFound(path_ + " has no file " + name);
    return Member{bytes_.Text(it->second.offset, it->second.size), mapping_};
  }

  std::string path() const override { return path_; }

 private:
  Status Broken(std::string_view what) const {
    return Corruption(fmt::format("{} is no zip of a trace: {}", path_, what));
  }

  Status ReadEntry(uint64_t& at, uint64_t end) {
    const uint64_t name_size = bytes_.Number(at + 28, 2);
    const uint64_t extra_size = bytes_.Number(at + 30, 2);
    const uint64_t comment_size = bytes_.Number(at + 32, 2);
    const uint64_t next = at + kZipCentralBytes + name_size + extra_size + comment_size;
    if (next > end) return Broken("its directory is damaged");
    Found entry{bytes_.Number(at + 42, 4), bytes_.Number(at + 24, 4), bytes_.Number(at + 20, 4)};
    ReadWide(bytes_, at + kZipCentralBytes + name_size, extra_size, entry);
    const std::string_view path = bytes_.Text(at + kZipCentralBytes, name_size);
    const bool stored = bytes_.Number(at + 10, 2) == kZipStored;
    at = next;
    if (path.empty() || path.back() == '/') return Status::Ok();  // a folder
    // Only the last part counts, so a path that leads outside leads nowhere.
    const std::string name(path.substr(path.rfind('/') + 1));
    if (!stored || entry.packed != entry.size) {
      return Unsupported(
          fmt::format("{} is compressed ({}): a trace is read from a zip only where "
                      "its files are stored as they are; unpack it and load the "
                      "folder",
                      path_, name));
    }
    return AddMember(name, entry);
  }

  Status AddMember(const std::string& name, const Found& entry) {
    if (!bytes_.Has(entry.offset, kZipLocalBytes) ||
        bytes_.Number(entry.offset, 4) != kZipLocalMagic) {
      return Broken(name + " is not where the directory says");
    }
    const uint64_t data = entry.offset + kZipLocalBytes + bytes_.Number(entry.offset + 26, 2) +
                          bytes_.Number(entry.offset + 28, 2);
    if (!bytes_.Has(data, entry.size)) return Broken(name + " is cut off");
    if (!members_.emplace(name, Found{data, entry.size, entry.size}).second) {
      return Broken("it has two files " + name);
    }
    return Status::Ok();
  }

  std::shared_ptr<const Mapping> mapping_;
  Bytes bytes_;
  std::string path_;
  std::map<std::string, Found> members_;
};

}  // namespace

Result<std::unique_ptr<Container>> OpenZip(const std::string& path) {
  const Result<File> file = File::OpenRead(path);
  if (!file.ok()) return file.status();
  Result<std::shared_ptr<const Mapping>> mapping = Mapping::Map(*file);
  if (!mapping.ok()) return mapping.status();
  auto zip = std::make_unique<Zip>(std::move(mapping).value(), path);
  FLOWSCOPE_RETURN_IF_ERROR(zip->ReadDirectory());
  return std::unique_ptr<Container>(std::move(zip));
}

}  // namespace flowscope::store
