#include "store/zip_writer.h"

#include <array>
#include <utility>

#include "store/crc32.h"
#include "store/trace_format.h"
#include "store/zip_format.h"

namespace flowscope::store {
namespace {

constexpr uint64_t kZip64Local = 20;    // head and two sizes
constexpr uint64_t kZip64Central = 28;  // head, two sizes and the offset

}  // namespace

Result<uint64_t> ZipWriter::Begin(std::string name) {
  Entry entry{std::move(name), 0, offset_};
  const uint64_t head = offset_ + kZipLocalBytes + entry.name.size() + kZip64Local + 4;
  entry.data = head + (kAlignment - head % kAlignment) % kAlignment;
  AddLocal(entry);
  FLOWSCOPE_RETURN_IF_ERROR(WriteHead(entry.offset));
  entries_.push_back(std::move(entry));
  return entries_.back().data;
}

// The head once more, now that all of it is known.
Status ZipWriter::End(uint64_t size, uint32_t crc) {
  Entry& entry = entries_.back();
  entry.size = size;
  entry.crc = crc;
  offset_ = entry.data + size;
  AddLocal(entry);
  return WriteHead(entry.offset);
}

Status ZipWriter::Add(std::string name, std::span<const std::string_view> pieces) {
  const Result<uint64_t> begin = Begin(std::move(name));
  if (!begin.ok()) return begin.status();
  uint64_t size = 0;
  uint32_t crc = 0;
  for (const std::string_view piece : pieces) {
    FLOWSCOPE_RETURN_IF_ERROR(file_.WriteAt(*begin + size, piece.data(), piece.size()));
    file_.BeginSync(*begin + size, piece.size());
    crc = Crc32(crc, piece);
    size += piece.size();
  }
  return End(size, crc);
}

Status ZipWriter::AddFile(std::string name, const std::string& path) {
  const Result<File> source = File::OpenRead(path);
  if (!source.ok()) return source.status();
  const auto mapping = Mapping::Map(*source);
  if (!mapping.ok()) return mapping.status();
  return Add(std::move(name), std::array{(*mapping)->bytes()});
}

Status ZipWriter::Finish() {
  for (const Entry& entry : entries_) AddCentral(entry);
  AddEnd(offset_, head_.size());
  FLOWSCOPE_RETURN_IF_ERROR(WriteHead(offset_));
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

void ZipWriter::AddLocal(const Entry& entry) {
  const uint64_t head = entry.offset + kZipLocalBytes + entry.name.size() + kZip64Local + 4;
  const uint64_t filler = entry.data - head;
  Number(kZipLocalMagic, 4);
  Common(entry);
  Number(kZip64Local + 4 + filler, 2);
  head_ += entry.name;
  Number(kZip64Extra, 2);
  Number(kZip64Local - 4, 2);
  Number(entry.size, 8);
  Number(entry.size, 8);
  Number(kZipAlignExtra, 2);
  Number(filler, 2);
  head_.append(filler, '\0');
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

Status ZipWriter::WriteHead(uint64_t offset) {
  const Status status = file_.WriteAt(offset, head_.data(), head_.size());
  head_.clear();
  return status;
}

}  // namespace flowscope::store
