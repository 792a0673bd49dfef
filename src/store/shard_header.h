// The header of a safetensors shard, piece by piece.
#pragma once

#include <cstdint>
#include <string>

#include "base/content_hash.h"
#include "base/payload.h"
#include "store/payload_codec.h"
#include "trace/ids.h"

namespace flowscope::store {

// Where a value lies.
struct StoredValue {
  uint32_t shard = 0;
  TensorId entry = kNoId;  // the tensor after which the entry is named
  uint64_t offset = 0;     // in the file
  uint64_t nbytes = 0;     // in the file
  Encoding encoding = Encoding::kRaw;
  ContentKey hash;
};

std::string ShardName(uint32_t number);      // "tensors-00007.safetensors"
std::string OpenShardName(uint32_t number);  // "tensors-00007.part"

class ShardHeader {
 public:
  // `begin` counts from the end of the header, as safetensors does. Entries follow each other
  // without holes.
  void AddValue(const StoredValue& value, DType dtype, const Dims& dims, uint64_t begin);
  void AddFiller(uint64_t begin, uint64_t nbytes);
  // Bytes of the header so far, with room for one more value, its filler and its metadata.
  uint64_t SizeWithOneMore(size_t rank) const;
  std::string Text() const;

 private:
  std::string entries_;
  std::string metadata_;  // what safetensors' own dtypes do not say
  uint32_t num_fillers_ = 0;
};

}  // namespace flowscope::store
