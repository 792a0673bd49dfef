#include "store/shard_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/dtype_rows.h"
#include "store/trace_format.h"

namespace flowscope::store {
namespace {

constexpr uint64_t kEntryBytes = 1024;
constexpr uint64_t kBytesPerDim = 48;

Dims EntryShape(const StoredValue& value, DType dtype, const Dims& dims) {
  if (value.encoding != Encoding::kRaw) return {static_cast<int64_t>(value.nbytes)};
  Dims shape = dims;
  if (RowOf(dtype).extra_dim) shape.push_back(static_cast<int64_t>(DTypeSize(dtype)));
  return shape;
}

}  // namespace

std::string ShardName(uint32_t number) {
  return fmt::format("{}{:05}{}", kShardPrefix, number, kShardSuffix);
}

std::string OpenShardName(uint32_t number) {
  return fmt::format("{}{:05}{}", kShardPrefix, number, kOpenShardSuffix);
}

void ShardHeader::AddValue(const StoredValue& value, DType dtype, const Dims& dims,
                           uint64_t begin) {
  const SafetensorsRow row = RowOf(dtype);
  const bool raw = value.encoding == Encoding::kRaw;
  entries_ +=
      fmt::format(R"("{}{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}},)", kEntryPrefix,
                  value.entry, raw ? row.dtype : "U8",
                  fmt::join(EntryShape(value, dtype, dims), ","), begin, begin + value.nbytes);
  if (raw && row.natural) return;
  metadata_ += fmt::format(R"(,"{}{}":"{{\"dtype\":\"{}\",\"shape\":[{}],\"encoding\":\"{}\"}}")",
                           kEntryPrefix, value.entry, DTypeName(dtype), fmt::join(dims, ","),
                           EncodingName(value.encoding));
}

// safetensors allows no holes, so what makes the next value begin where it should has a name too.
void ShardHeader::AddFiller(uint64_t begin, uint64_t nbytes) {
  entries_ += fmt::format(R"("{}{}":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}},)",
                          kFillerPrefix, num_fillers_++, nbytes, begin, begin + nbytes);
}

uint64_t ShardHeader::SizeWithOneMore(size_t rank) const {
  return entries_.size() + metadata_.size() + kEntryBytes + kBytesPerDim * rank;
}

std::string ShardHeader::Text() const {
  return fmt::format(R"({{{}"__metadata__":{{"format":"flowscope {}"{}}}}})", entries_,
                     kFormatNumber, metadata_);
}

}  // namespace flowscope::store
