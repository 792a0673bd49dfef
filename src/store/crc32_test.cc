#include "store/crc32.h"

#include <string>

#include <gtest/gtest.h>

namespace flowscope::store {
namespace {

// One bit at a time, as the checksum is defined.
uint32_t SlowCrc32(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~crc;
}

std::string Bytes(size_t count) {
  std::string bytes(count, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

TEST(Crc32, IsTheChecksumOfZip) {
  EXPECT_EQ(Crc32(0, ""), 0U);
  EXPECT_EQ(Crc32(0, "123456789"), 0xcbf43926U);
}

TEST(Crc32, AnyLengthAndAlignment) {
  const std::string bytes = Bytes(700);
  for (size_t begin = 0; begin < 17; ++begin) {
    for (size_t length = 0; length + begin <= bytes.size(); length += 1 + length / 90) {
      const std::string_view piece = std::string_view(bytes).substr(begin, length);
      ASSERT_EQ(Crc32(0, piece), SlowCrc32(piece)) << begin << " " << length;
    }
  }
}

TEST(Crc32, PiecesFollowEachOther) {
  const std::string bytes = Bytes(5000);
  const std::string_view all = bytes;
  for (const size_t at : {0, 1, 63, 64, 65, 2048, 4999, 5000}) {
    const uint32_t first = Crc32(0, all.substr(0, at));
    EXPECT_EQ(Crc32(first, all.substr(at)), Crc32(0, all)) << at;
    EXPECT_EQ(CombineCrc32(first, Crc32(0, all.substr(at)), all.size() - at), Crc32(0, all)) << at;
  }
}

TEST(Crc32, ASecondPieceMayBeLargerThanMemory) {
  // Zeros: 2^k of them are two halves of half as many.
  uint32_t zeros = Crc32(0, std::string(1, '\0'));
  uint64_t count = 1;
  for (; count < (uint64_t{1} << 40); count *= 2) zeros = CombineCrc32(zeros, zeros, count);
  EXPECT_EQ(CombineCrc32(CombineCrc32(7, zeros, count), zeros, count),
            CombineCrc32(7, CombineCrc32(zeros, zeros, count), 2 * count));
}

}  // namespace
}  // namespace flowscope::store
