#include "store/payload_codec.h"

#include <zstd.h>

#include <array>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "store/trace_format.h"

// The library asks for these where somebody has them. Left open, they would be TensorFlow's.
extern "C" {
unsigned long long ZSTD_trace_compress_begin(const void* /*context*/) { return 0; }
void ZSTD_trace_compress_end(unsigned long long /*trace*/, const void* /*what*/) {}
unsigned long long ZSTD_trace_decompress_begin(const void* /*context*/) { return 0; }
void ZSTD_trace_decompress_end(unsigned long long /*trace*/, const void* /*what*/) {}
}

namespace flowscope::store {
namespace {

constexpr std::array<std::string_view, 4> kNames = {kEncodingRaw, kEncodingStrings, kEncodingZstd,
                                                    kEncodingZstdStrings};
constexpr int kZstdLevel = 1;
// Strings in a compressed entry: no more than this many bytes for each byte in the file.
constexpr uint64_t kMaxStringRatio = 1 << 16;

std::string EncodeStrings(const Payload& payload) {
  std::string bytes((payload.strings.size() + 1) * sizeof(uint64_t), '\0');
  uint64_t end = 0;
  for (size_t i = 0; i < payload.strings.size(); ++i) {
    end += payload.strings[i].size();
    std::memcpy(bytes.data() + (i + 1) * sizeof(end), &end, sizeof(end));
  }
  bytes.reserve(bytes.size() + end);
  for (const std::string_view text : payload.strings) bytes += text;
  return bytes;
}

struct StringOwner {
  std::shared_ptr<const void> bytes;
  std::vector<std::string_view> views;
};

Status Broken(std::string_view what) {
  return Corruption("the stored value is damaged: " + std::string(what));
}

Result<Payload> DecodeStrings(std::string_view bytes, Payload payload) {
  const auto count = static_cast<uint64_t>(payload.num_elements());
  if (bytes.size() / sizeof(uint64_t) <= count) return Broken("strings are cut off");
  const std::string_view text = bytes.substr((count + 1) * sizeof(uint64_t));
  auto owner = std::make_shared<StringOwner>();
  owner->views.reserve(count);
  uint64_t begin = 0;
  for (uint64_t i = 0; i <= count; ++i) {
    uint64_t end = 0;
    std::memcpy(&end, bytes.data() + i * sizeof(end), sizeof(end));
    if (end < begin || end > text.size() || (i == 0 && end != 0)) {
      return Broken("a string lies outside of its bytes");
    }
    if (i > 0) owner->views.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  if (begin != text.size()) return Broken("bytes are left over after the strings");
  owner->bytes = std::move(payload.owner);
  payload.nbytes = text.size();
  payload.strings = owner->views;
  payload.owner = std::move(owner);
  return payload;
}

// A zstd frame as memory of its own.
Status Decompress(std::string_view& bytes, uint64_t least, uint64_t most,
                  std::shared_ptr<const void>& owner) {
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size < least ||
      size > most) {
    return Broken("its compressed size is not that of its shape");
  }
  std::shared_ptr<char[]> memory(new (std::nothrow) char[size > 0 ? size : 1]);
  if (memory == nullptr) return Unavailable("there is no memory to decompress the value");
  const size_t got = ZSTD_decompress(memory.get(), size, bytes.data(), bytes.size());
  if (ZSTD_isError(got) != 0 || got != size) return Broken("its compressed bytes");
  bytes = {memory.get(), size};
  owner = std::move(memory);
  return Status::Ok();
}

}  // namespace

std::string_view EncodingName(Encoding encoding) { return kNames[static_cast<size_t>(encoding)]; }

std::optional<Encoding> EncodingFromName(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Encoding>(i);
  }
  return std::nullopt;
}

Encoded Encode(const Payload& payload, bool compress) {
  Encoded encoded;
  const bool strings = payload.dtype == DType::kString;
  if (strings) {
    encoded.Make(EncodeStrings(payload));
    encoded.encoding = Encoding::kStrings;
  } else {
    encoded.Borrow({static_cast<const char*>(payload.data), payload.nbytes});
  }
  const std::string_view bytes = encoded.bytes();
  if (!compress || bytes.empty()) return encoded;
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size =
      ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kZstdLevel);
  if (ZSTD_isError(size) != 0 || size >= bytes.size()) return encoded;
  packed.resize(size);
  encoded.Make(std::move(packed));
  encoded.encoding = strings ? Encoding::kZstdStrings : Encoding::kZstd;
  return encoded;
}

Result<Payload> Decode(Encoding encoding, std::string_view bytes, DType dtype, Dims dims,
                       std::shared_ptr<const void> owner) {
  const bool strings = encoding == Encoding::kStrings || encoding == Encoding::kZstdStrings;
  if (strings != (dtype == DType::kString)) return Broken("its encoding is not that of its dtype");
  Payload payload;
  payload.dtype = dtype;
  payload.dims = std::move(dims);
  const auto count = static_cast<uint64_t>(payload.num_elements());
  const uint64_t size = count * DTypeSize(dtype);
  if (encoding == Encoding::kZstd || encoding == Encoding::kZstdStrings) {
    const uint64_t least = strings ? (count + 1) * sizeof(uint64_t) : size;
    const uint64_t most = strings ? bytes.size() * kMaxStringRatio : size;
    FLOWSCOPE_RETURN_IF_ERROR(Decompress(bytes, least, most, owner));
  }
  payload.owner = std::move(owner);
  if (strings) return DecodeStrings(bytes, std::move(payload));
  if (bytes.size() != size) return Broken("its length is not that of its shape");
  payload.data = bytes.data();
  payload.nbytes = bytes.size();
  return payload;
}

}  // namespace flowscope::store
