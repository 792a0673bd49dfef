// Values as the bytes of an entry, and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/payload.h"
#include "base/status.h"

namespace flowscope::store {

enum class Encoding : uint8_t { kRaw, kStrings, kZstd, kZstdStrings };
std::string_view EncodingName(Encoding encoding);
std::optional<Encoding> EncodingFromName(std::string_view name);

// Bytes that stand for a value: the payload's own memory, or memory made for it.
class Encoded {
 public:
  Encoding encoding = Encoding::kRaw;

  std::string_view bytes() const { return made_ ? std::string_view(memory_) : borrowed_; }
  void Borrow(std::string_view bytes) { borrowed_ = bytes; }
  void Make(std::string bytes) {
    memory_ = std::move(bytes);
    made_ = true;
  }

 private:
  std::string_view borrowed_;
  std::string memory_;
  bool made_ = false;
};

// Valid for as long as the payload. `compress`: with zstd where that makes it smaller.
Encoded Encode(const Payload& payload, bool compress);

// The value that `bytes` stand for. `owner` keeps them alive; what is decoded owns itself. The
// bytes come from a file: every length in them is checked, and no more is allocated than the
// value's shape calls for.
Result<Payload> Decode(Encoding encoding, std::string_view bytes, DType dtype, Dims dims,
                       std::shared_ptr<const void> owner);

}  // namespace flowscope::store
