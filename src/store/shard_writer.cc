#include "store/shard_writer.h"

#include <algorithm>
#include <cstring>

#include "store/crc32.h"
#include "store/trace_format.h"

namespace flowscope::store {
namespace {

// Smaller values are gathered before they are written.
constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kSmallBytes = size_t{64} << 10;
// The disk is given so much at a time, while more is being written.
constexpr uint64_t kBytesToSync = uint64_t{8} << 20;
constexpr uint64_t kLeastHeaderBytes = 4096;
constexpr uint64_t kHeaderBytesPerValue = 256;

}  // namespace

ShardLimits LimitsFor(size_t num_values) {
  const uint64_t wanted = kLeastHeaderBytes + kHeaderBytesPerValue * num_values;
  const uint64_t header = std::min<uint64_t>(wanted, kMaxHeaderBytes);
  return {header / kAlignment * kAlignment - sizeof(uint64_t), kShardBytes};
}

Result<StoredValue> ShardWriter::Put(TensorId tensor, const Payload& payload) {
  StoredValue value;
  value.hash = ContentKeyOf(payload);
  const uint32_t known =
      by_hash_.Find(value.hash.low, [&](uint32_t at) { return stored_[at].hash == value.hash; });
  if (known != SlotTable::kNone) return stored_[known];
  const Encoded encoded = Encode(payload, compress_);
  value.encoding = encoded.encoding;
  value.nbytes = encoded.bytes().size();
  value.entry = tensor;
  if (open_ && Full(value.nbytes, payload.dims.size())) {
    FLOWSCOPE_RETURN_IF_ERROR(CloseShard());
  }
  if (!open_) FLOWSCOPE_RETURN_IF_ERROR(OpenShard());
  FLOWSCOPE_RETURN_IF_ERROR(Pad());
  value.shard = num_shards_ - 1;
  value.offset = data_begin() + data_size_;
  header_.AddValue(value, payload.dtype, payload.dims, data_size_);
  FLOWSCOPE_RETURN_IF_ERROR(Append(encoded.bytes()));
  by_hash_.Add(value.hash.low, static_cast<uint32_t>(stored_.size()),
               [this](uint32_t at) { return stored_[at].hash.low; });
  stored_.push_back(value);
  return value;
}

bool ShardWriter::Full(uint64_t nbytes, size_t rank) const {
  const bool data_full = data_size_ > 0 && data_size_ + nbytes > limits_.data_bytes;
  return data_full || header_.SizeWithOneMore(rank) > limits_.header_bytes;
}

Status ShardWriter::OpenShard() {
  if (num_shards_ >= kMaxShards) return Unsupported(folder_ + " has too many shards");
  FLOWSCOPE_RETURN_IF_ERROR(MakeFile());
  open_ = true;
  ++num_shards_;
  header_ = ShardHeader();
  data_size_ = 0;
  syncing_ = 0;
  written_ = 0;
  crc_ = 0;
  // Room for the header, empty as yet.
  const uint64_t nbytes = limits_.header_bytes;
  std::string room(sizeof(nbytes) + nbytes, ' ');
  std::memcpy(room.data(), &nbytes, sizeof(nbytes));
  std::memcpy(room.data() + sizeof(nbytes), "{}", 2);
  return file().WriteAt(base_, room.data(), room.size());
}

Status ShardWriter::MakeFile() {
  if (zip_ != nullptr) {
    const Result<uint64_t> begin = zip_->Begin(ShardName(num_shards_));
    if (begin.ok()) base_ = *begin;
    return begin.status();
  }
  Result<File> file = File::Create(folder_ + "/" + OpenShardName(num_shards_));
  if (!file.ok()) return file.status();
  file_ = std::move(file).value();
  return Status::Ok();
}

Status ShardWriter::Pad() {
  const uint64_t filler = (kAlignment - data_size_ % kAlignment) % kAlignment;
  if (filler == 0) return Status::Ok();
  header_.AddFiller(data_size_, filler);
  return Append(std::string(filler, '\0'));
}

Status ShardWriter::Append(std::string_view bytes) {
  if (bytes.size() < kSmallBytes) {
    buffer_ += bytes;
    data_size_ += bytes.size();
    return buffer_.size() < kBufferBytes ? Status::Ok() : Flush();
  }
  FLOWSCOPE_RETURN_IF_ERROR(Flush());
  FLOWSCOPE_RETURN_IF_ERROR(WriteData(data_begin() + data_size_, bytes));
  data_size_ += bytes.size();
  return Status::Ok();
}

Status ShardWriter::Flush() {
  if (buffer_.empty()) return Status::Ok();
  const uint64_t begin = data_begin() + data_size_ - buffer_.size();
  FLOWSCOPE_RETURN_IF_ERROR(WriteData(begin, buffer_));
  buffer_.clear();
  return Status::Ok();
}

bool ShardWriter::IsWritten(const StoredValue& value) const {
  if (value.nbytes == 0 || value.shard + 1 < num_shards_) return true;
  return value.offset + value.nbytes <= written_;
}

// Data comes in the order in which it lies there.
Status ShardWriter::WriteData(uint64_t begin, std::string_view bytes) {
  FLOWSCOPE_RETURN_IF_ERROR(file().WriteAt(base_ + begin, bytes.data(), bytes.size()));
  if (zip_ != nullptr) crc_ = Crc32(crc_, bytes);
  const uint64_t end = begin + bytes.size();
  written_ = end;
  if (end - syncing_ < kBytesToSync) return Status::Ok();
  file().BeginSync(base_ + syncing_, end - syncing_);
  syncing_ = end;
  return Status::Ok();
}

Status ShardWriter::CloseShard() {
  FLOWSCOPE_RETURN_IF_ERROR(Flush());
  std::string header = header_.Text();
  if (header.size() > limits_.header_bytes) return Internal("a shard's header has no room");
  header.resize(limits_.header_bytes, ' ');
  header.insert(0, reinterpret_cast<const char*>(&limits_.header_bytes), sizeof(uint64_t));
  FLOWSCOPE_RETURN_IF_ERROR(file().WriteAt(base_, header.data(), header.size()));
  open_ = false;
  ++num_closed_;
  if (zip_ != nullptr) {
    return zip_->End(header.size() + data_size_, CombineCrc32(Crc32(0, header), crc_, data_size_));
  }
  FLOWSCOPE_RETURN_IF_ERROR(file_.Sync());
  FLOWSCOPE_RETURN_IF_ERROR(file_.Close());
  return Rename(folder_ + "/" + OpenShardName(num_shards_ - 1),
                folder_ + "/" + ShardName(num_shards_ - 1));
}

Status ShardWriter::Finish() { return open_ ? CloseShard() : Status::Ok(); }

}  // namespace flowscope::store
