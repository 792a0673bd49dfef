// Everything that fixes how a trace lies on disk. docs/trace_format.md tells the same for people
// who write a reader of their own; a change here is a change there, and of what a reader of an
// older number does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace flowscope::store {

// Grows when a file of the new kind would be misread by a reader of the old one. A column or table
// that is added does not: readers take what they know and leave fields that are absent at their
// default.
inline constexpr int64_t kFormatNumber = 1;
inline constexpr int64_t kOldestFormatNumber = 1;

inline constexpr std::string_view kFolderSuffix = ".flow";
inline constexpr std::string_view kZipSuffix = ".flow.zip";
inline constexpr std::string_view kDatabaseName = "trace.sqlite";
inline constexpr std::string_view kShardPrefix = "tensors-";  // then five digits
inline constexpr std::string_view kShardSuffix = ".safetensors";
inline constexpr std::string_view kOpenShardSuffix = ".part";  // header not written yet

// Entries of a shard are named by the tensor that brought the bytes; equal bytes are stored once.
inline constexpr std::string_view kEntryPrefix = "t";
// Entries that carry nothing and make the next one begin at a multiple of kAlignment.
inline constexpr std::string_view kFillerPrefix = "_pad";
inline constexpr size_t kAlignment = 64;

// A shard is closed when its data or its header has reached this.
inline constexpr uint64_t kShardBytes = uint64_t{1} << 30;
inline constexpr uint64_t kMaxHeaderBytes = uint64_t{1} << 20;
inline constexpr size_t kMaxShards = 100000;

// How the bytes of an entry stand for the value: as they are in memory; strings as the n + 1
// offsets (little-endian uint64, from the end of the offsets) and then the bytes; either of those
// as one zstd frame.
inline constexpr std::string_view kEncodingRaw = "raw";
inline constexpr std::string_view kEncodingStrings = "strings";
inline constexpr std::string_view kEncodingZstd = "zstd";
inline constexpr std::string_view kEncodingZstdStrings = "zstd+strings";

// Chains of open scopes are as deep as the model's own calls; deeper ones are no recording.
inline constexpr uint32_t kMaxDepth = 4000;

}  // namespace flowscope::store
