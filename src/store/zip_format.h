// The parts of the zip format that we write and read. Numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flowscope::store {

inline constexpr uint32_t kZipLocalMagic = 0x04034b50;
inline constexpr uint32_t kZipCentralMagic = 0x02014b50;
inline constexpr uint32_t kZipEndMagic = 0x06054b50;
inline constexpr uint32_t kZip64EndMagic = 0x06064b50;
inline constexpr uint32_t kZip64LocatorMagic = 0x07064b50;
inline constexpr size_t kZipLocalBytes = 30;
inline constexpr size_t kZipCentralBytes = 46;
inline constexpr size_t kZipEndBytes = 22;
inline constexpr size_t kZip64EndBytes = 56;
inline constexpr size_t kZip64LocatorBytes = 20;
inline constexpr size_t kZipMaxComment = 0xffff;
inline constexpr uint16_t kZip64Extra = 0x0001;
inline constexpr uint16_t kZipAlignExtra = 0xd935;  // as Android's zipalign
inline constexpr uint32_t kZip32Max = 0xffffffff;
inline constexpr uint16_t kZipVersion = 45;  // with zip64
inline constexpr uint16_t kZipStored = 0;
inline constexpr uint16_t kZipUtf8Flag = 1 << 11;

}  // namespace flowscope::store
