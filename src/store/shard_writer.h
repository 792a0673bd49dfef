// Appends values to safetensors files. Equal values are stored once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/payload.h"
#include "base/slot_table.h"
#include "store/files.h"
#include "store/shard_header.h"
#include "store/zip_writer.h"

namespace flowscope::store {

struct ShardLimits {
  uint64_t header_bytes = 0;  // reserved; with the 8 bytes before it a multiple of kAlignment
  uint64_t data_bytes = 0;    // after which a shard is closed
};

// Limits for so many values: a small trace is a small file.
ShardLimits LimitsFor(size_t num_values);

// A shard is "tensors-N.part" with room for its header until it is closed; then the header is
// written and the file takes its name. Not thread-safe.
class ShardWriter {
 public:
  ShardWriter(std::string folder, ShardLimits limits, bool compress)
      : folder_(std::move(folder)), limits_(limits), compress_(compress) {}
  // Shards are entries of a zip, which outlives this and gets no others meanwhile; the disk is not
  // waited for.
  ShardWriter(ZipWriter& zip, ShardLimits limits, bool compress)
      : limits_(limits), compress_(compress), zip_(&zip) {}

  Result<StoredValue> Put(TensorId tensor, const Payload& payload);
  // Everything that was put is in files of the system afterwards.
  Status Flush();
  // What was put is, all of it, in a file of the system; also after a write that failed.
  bool IsWritten(const StoredValue& value) const;
  // Closes the shard that is open.
  Status Finish();

  uint32_t num_shards() const { return num_shards_; }
  // Shards that are whole and, outside of a zip, on the disk.
  uint32_t num_closed() const { return num_closed_; }

 private:
  Status OpenShard();
  Status CloseShard();
  Status Append(std::string_view bytes);
  Status WriteData(uint64_t begin, std::string_view bytes);
  File& file() { return zip_ != nullptr ? zip_->file() : file_; }
  Status MakeFile();
  Status Pad();
  bool Full(uint64_t nbytes, size_t rank) const;
  uint64_t data_begin() const { return sizeof(uint64_t) + limits_.header_bytes; }

  std::string folder_;
  ShardLimits limits_;
  bool compress_ = false;
  ZipWriter* zip_ = nullptr;
  File file_;
  bool open_ = false;  // a shard is
  uint64_t base_ = 0;  // where it begins in its file
  uint32_t crc_ = 0;   // in a zip, of the data
  ShardHeader header_;
  std::string buffer_;  // appended and not yet written
  uint64_t data_size_ = 0;
  uint64_t written_ = 0;  // where what is written of the open shard ends
  uint64_t syncing_ = 0;  // the disk has begun to take the file up to here
  uint32_t num_shards_ = 0;
  uint32_t num_closed_ = 0;
  std::vector<StoredValue> stored_;  // each distinct value
  SlotTable by_hash_;                // of stored_
};

}  // namespace flowscope::store
