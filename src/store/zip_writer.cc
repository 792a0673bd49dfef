#include "store/zip_writer.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "store/trace_format.h"
#include "store/zip_format.h"

namespace flowscope::store {
namespace {

// The zip checksum, eight bytes at a time.
class Crc32 {
 public:
  Crc32() {
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320 : 0);
      tables_[0][i] = value;
    }
    for (uint32_t i = 0; i < 256; ++i) {
      for (size_t k = 1; k < 8; ++k) {
        const uint32_t before = tables_[k - 1][i];
        tables_[k][i] = (before >> 8) ^ tables_[0][before & 0xff];
      }
    }
  }

  uint32_t Of(std::span<const std::string_view> pieces) const {
    uint32_t crc = 0xffffffff;
    for (const std::string_view piece : pieces) crc = Continue(crc, piece);
    return ~crc;
  }

 private:
  uint32_t Continue(uint32_t crc, std::string_view bytes) const {
    const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
    size_t left = bytes.size();
    for (; left >= 8; left -= 8, at += 8) {
      const uint32_t low = crc ^ (at[0] | at[1] << 8 | at[2] << 16 | uint32_t{at[3]} << 24);
      crc = tables_[7][low & 0xff] ^ tables_[6][(low >> 8) & 0xff] ^
            tables_[5][(low >> 16) & 0xff] ^ tables_[4][low >> 24] ^ tables_[3][at[4]] ^
            tables_[2][at[5]] ^ tables_[1][at[6]] ^ tables_[0][at[7]];
    }
    for (; left > 0; --left, ++at) crc = (crc >> 8) ^ tables_[0][(crc ^ *at) & 0xff];
    return crc;
  }

  std::array<std::array<uint32_t, 256>, 8> tables_{};
};

const Crc32& TheCrc32() {
  static const Crc32 crc;
  return crc;
}

constexpr uint64_t kZip64Local = 20;    // head and two sizes
constexpr uint64_t kZip64Central = 28;  // head, two sizes and the offset

Result<std::vector<std::string>> FilesOf(const std::string& folder) {
  Result<std::vector<std::string>> names = NamesIn(folder);
  if (!names.ok()) return names;
  std::erase_if(*names, [](const std::string& name) { return name.starts_with('.'); });
  std::sort(names->begin(), names->end());
  return names;
}

}  // namespace

Status ZipWriter::Add(const std::string& name, std::span<const std::string_view> pieces) {
  Entry entry{name, 0, offset_, TheCrc32().Of(pieces)};
  for (const std::string_view piece : pieces) entry.size += piece.size();
  Number(kZipLocalMagic, 4);
  Common(entry);
  const uint64_t data = offset_ + kZipLocalBytes + name.size() + kZip64Local + 4;
  const uint64_t filler = (kAlignment - data % kAlignment) % kAlignment;
  Number(kZip64Local + 4 + filler, 2);
  head_ += name;
  Number(kZip64Extra, 2);
  Number(kZip64Local - 4, 2);
  Number(entry.size, 8);
  Number(entry.size, 8);
  Number(kZipAlignExtra, 2);
  Number(filler, 2);
  head_.append(filler, '\0');
  FLOWSCOPE_RETURN_IF_ERROR(WriteHead());
  for (const std::string_view piece : pieces) {
    FLOWSCOPE_RETURN_IF_ERROR(file_.WriteAt(offset_, piece.data(), piece.size()));
    file_.BeginSync(offset_, piece.size());
    offset_ += piece.size();
  }
  entries_.push_back(std::move(entry));
  return Status::Ok();
}

Status ZipWriter::Finish() {
  const uint64_t begin = offset_;
  for (const Entry& entry : entries_) AddCentral(entry);
  const uint64_t size = head_.size();
  AddEnd(begin, size);
  FLOWSCOPE_RETURN_IF_ERROR(WriteHead());
  return file_.Close();
}

void ZipWriter::Number(uint64_t value, int nbytes) {
  for (int i = 0; i < nbytes; ++i) head_.push_back(static_cast<char>(value >> (8 * i)));
}

// From the version to the length of the name, alike in both kinds of header. Sizes stand in the
// zip64 field.
void ZipWriter::Common(const Entry& entry) {
  Number(kZipVersion, 2);
  Number(kZipUtf8Flag, 2);
  Number(kZipStored, 2);
  Number(0, 2);     // time
  Number(0x21, 2);  // 1 January 1980
  Number(entry.crc, 4);
  Number(kZip32Max, 4);
  Number(kZip32Max, 4);
  Number(entry.name.size(), 2);
}

void ZipWriter::AddCentral(const Entry& entry) {
  Number(kZipCentralMagic, 4);
  Number(kZipVersion, 2);
  Common(entry);
  Number(kZip64Central, 2);
  head_.append(2 + 2 + 2 + 4, '\0');  // comment, disk, attributes
  Number(kZip32Max, 4);
  head_ += entry.name;
  Number(kZip64Extra, 2);
  Number(kZip64Central - 4, 2);
  Number(entry.size, 8);
  Number(entry.size, 8);
  Number(entry.offset, 8);
}

void ZipWriter::AddEnd(uint64_t begin, uint64_t size) {
  Number(kZip64EndMagic, 4);
  Number(kZip64EndBytes - 12, 8);
  Number(kZipVersion, 2);
  Number(kZipVersion, 2);
  head_.append(4 + 4, '\0');  // disks
  Number(entries_.size(), 8);
  Number(entries_.size(), 8);
  Number(size, 8);
  Number(begin, 8);
  Number(kZip64LocatorMagic, 4);
  Number(0, 4);
  Number(begin + size, 8);
  Number(1, 4);
  Number(kZipEndMagic, 4);
  head_.append(2 + 2, '\0');
  Number(0xffff, 2);
  Number(0xffff, 2);
  Number(kZip32Max, 4);
  Number(kZip32Max, 4);
  Number(0, 2);
}

Status ZipWriter::WriteHead() {
  FLOWSCOPE_RETURN_IF_ERROR(file_.WriteAt(offset_, head_.data(), head_.size()));
  offset_ += head_.size();
  head_.clear();
  return Status::Ok();
}

Status WriteZip(const std::string& folder, const std::string& path) {
  const Result<std::vector<std::string>> names = FilesOf(folder);
  if (!names.ok()) return names.status();
  Result<File> file = File::Create(path);
  if (!file.ok()) return file.status();
  ZipWriter zip(std::move(file).value());
  for (const std::string& name : *names) {
    const Result<File> source = File::OpenRead(folder + "/" + name);
    if (!source.ok()) return source.status();
    const auto mapping = Mapping::Map(*source);
    if (!mapping.ok()) return mapping.status();
    FLOWSCOPE_RETURN_IF_ERROR(zip.Add(name, std::array{(*mapping)->bytes()}));
  }
  return zip.Finish();
}

}  // namespace flowscope::store
