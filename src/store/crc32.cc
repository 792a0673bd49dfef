#include "store/crc32.h"

#include <array>
#include <cstddef>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace flowscope::store {
namespace {

constexpr uint32_t kPolynomial = 0xedb88320;  // the lowest bit is the highest power

class CrcTables {
 public:
  constexpr CrcTables() {
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
      tables_[0][i] = value;
    }
    for (uint32_t i = 0; i < 256; ++i) {
      for (size_t k = 1; k < 8; ++k) {
        const uint32_t before = tables_[k - 1][i];
        tables_[k][i] = (before >> 8) ^ tables_[0][before & 0xff];
      }
    }
  }

  // Eight bytes at a time. The register, not the checksum: that has all bits turned.
  uint32_t Continue(uint32_t crc, const unsigned char* at, size_t left) const {
    for (; left >= 8; left -= 8, at += 8) {
      const uint32_t low = crc ^ (at[0] | at[1] << 8 | at[2] << 16 | uint32_t{at[3]} << 24);
      crc = tables_[7][low & 0xff] ^ tables_[6][(low >> 8) & 0xff] ^
            tables_[5][(low >> 16) & 0xff] ^ tables_[4][low >> 24] ^ tables_[3][at[4]] ^
            tables_[2][at[5]] ^ tables_[1][at[6]] ^ tables_[0][at[7]];
    }
    for (; left > 0; --left, ++at) crc = (crc >> 8) ^ tables_[0][(crc ^ *at) & 0xff];
    return crc;
  }

 private:
  std::array<std::array<uint32_t, 256>, 8> tables_{};
};

constexpr CrcTables kCrcTables;

#if defined(__x86_64__)

constexpr size_t kFoldBytes = 64;

bool HasFold() {
  static const bool has = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return has;
}

__attribute__((target("pclmul,sse4.1"))) __m128i LoadFold(const unsigned char* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

// 16 bytes, moved up by the distance that the two powers stand for, and what stands there.
__attribute__((target("pclmul,sse4.1"))) __m128i FoldOnto(__m128i bytes, __m128i powers,
                                                          __m128i there) {
  const __m128i low = _mm_clmulepi64_si128(bytes, powers, 0x00);
  const __m128i high = _mm_clmulepi64_si128(bytes, powers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), there);
}

// Sixteen bytes that have the register that all of them would give, from a register of zero.
// `blocks` of kFoldBytes, at least one. The powers of x modulo the polynomial are those of Gopal
// and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel
// 2009.
__attribute__((target("pclmul,sse4.1"))) std::array<unsigned char, 16> FoldBlocks(
    uint32_t crc, const unsigned char* at, size_t blocks) {
  const __m128i by_64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
  const __m128i by_16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  __m128i parts[4];
  for (size_t i = 0; i < 4; ++i) parts[i] = LoadFold(at + 16 * i);
  parts[0] = _mm_xor_si128(parts[0], _mm_cvtsi32_si128(static_cast<int>(crc)));
  for (size_t block = 1; block < blocks; ++block) {
    at += kFoldBytes;
    for (size_t i = 0; i < 4; ++i) parts[i] = FoldOnto(parts[i], by_64, LoadFold(at + 16 * i));
  }
  __m128i all = parts[0];
  for (size_t i = 1; i < 4; ++i) all = FoldOnto(all, by_16, parts[i]);
  std::array<unsigned char, 16> bytes;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes.data()), all);
  return bytes;
}

uint32_t ContinueFast(uint32_t crc, const unsigned char* at, size_t left) {
  const size_t blocks = left / kFoldBytes;
  if (blocks == 0 || !HasFold()) return kCrcTables.Continue(crc, at, left);
  const std::array<unsigned char, 16> folded = FoldBlocks(crc, at, blocks);
  crc = kCrcTables.Continue(0, folded.data(), folded.size());
  return kCrcTables.Continue(crc, at + blocks * kFoldBytes, left % kFoldBytes);
}

#else

uint32_t ContinueFast(uint32_t crc, const unsigned char* at, size_t left) {
  return kCrcTables.Continue(crc, at, left);
}

#endif

// The product of two polynomials modulo ours.
uint32_t MultiplyModulo(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = uint32_t{1} << 31; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return product;
}

}  // namespace

uint32_t Crc32(uint32_t crc, std::string_view bytes) {
  return ~ContinueFast(~crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

// The first piece moved up by the second's length: times x to the power of its bits.
uint32_t CombineCrc32(uint32_t first, uint32_t second, uint64_t second_bytes) {
  uint32_t power = uint32_t{1} << 23;  // x to the power of 8
  for (uint64_t left = second_bytes; left != 0; left >>= 1) {
    if ((left & 1) != 0) first = MultiplyModulo(first, power);
    power = MultiplyModulo(power, power);
  }
  return first ^ second;
}

}  // namespace flowscope::store
