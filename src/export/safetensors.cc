#include "export/safetensors.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <nlohmann/json.hpp>

#include "store/dtype_rows.h"
#include "store/payload_codec.h"

namespace flowscope::exports {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kHeaderUnit = 8;

// Entries follow each other without holes, so those of wide elements come first: then each begins
// at a multiple of its element's width.
std::vector<NamedValue> WidestFirst(const Trace& trace, std::span<const NamedValue> values) {
  std::vector<NamedValue> sorted(values.begin(), values.end());
  const auto width = [&trace](const NamedValue& value) {
    return DTypeSize(trace.tensor(value.tensor).dtype);
  };
  std::ranges::stable_sort(sorted, std::ranges::greater{}, width);
  return sorted;
}

class Header {
 public:
  void Add(const std::string& name, const Payload& value, const store::Encoded& encoded) {
    const store::SafetensorsRow row = store::RowOf(value.dtype);
    const bool raw = encoded.encoding == store::Encoding::kRaw;
    const uint64_t end = size_ + encoded.bytes().size();
    Dims shape = value.dims;
    if (!raw) shape = {static_cast<int64_t>(encoded.bytes().size())};
    if (raw && row.extra_dim) shape.push_back(static_cast<int64_t>(DTypeSize(value.dtype)));
    entries_[name] = {
        {"dtype", raw ? row.dtype : "U8"}, {"shape", shape}, {"data_offsets", {size_, end}}};
    size_ = end;
    if (raw && row.natural) return;
    const Json meaning = {{"dtype", DTypeName(value.dtype)},
                          {"shape", value.dims},
                          {"encoding", store::EncodingName(encoded.encoding)}};
    metadata_[name] = meaning.dump();
  }

  // With the length before it, padded by spaces.
  std::string Text() {
    if (!metadata_.empty()) entries_["__metadata__"] = std::move(metadata_);
    std::string json = entries_.dump(-1, ' ', false, Json::error_handler_t::replace);
    json.append((kHeaderUnit - json.size() % kHeaderUnit) % kHeaderUnit, ' ');
    const uint64_t length = json.size();
    std::string text(sizeof(length), '\0');
    std::memcpy(text.data(), &length, sizeof(length));
    return text + json;
  }

 private:
  Json entries_ = Json::object();
  Json metadata_ = Json::object();
  uint64_t size_ = 0;
};

// Reads one value after the other: no more than one is in memory.
template <typename Take>
Status ForEach(const Trace& trace, std::span<const NamedValue> values, const Take& take) {
  for (const NamedValue& named : values) {
    const Result<Payload> value = trace.ReadTensor(named.tensor);
    if (!value.ok()) return value.status();
    if (value->dtype != DType::kString && !IsPlainBytes(value->dtype)) {
      return Unsupported(named.name + " has no bytes that could be written");
    }
    FLOWSCOPE_RETURN_IF_ERROR(take(named.name, *value, store::Encode(*value, false)));
  }
  return Status::Ok();
}

}  // namespace

Status WriteSafetensors(const Trace& trace, std::span<const NamedValue> values, store::File file) {
  const std::vector<NamedValue> sorted = WidestFirst(trace, values);
  Header header;
  const auto name = [&](const std::string& name, const Payload& value,
                        const store::Encoded& encoded) {
    header.Add(name, value, encoded);
    return Status::Ok();
  };
  FLOWSCOPE_RETURN_IF_ERROR(ForEach(trace, sorted, name));
  const std::string text = header.Text();
  FLOWSCOPE_RETURN_IF_ERROR(file.WriteAt(0, text.data(), text.size()));
  uint64_t offset = text.size();
  const auto write = [&](const std::string&, const Payload&, const store::Encoded& encoded) {
    const std::string_view bytes = encoded.bytes();
    const Status written = file.WriteAt(offset, bytes.data(), bytes.size());
    offset += bytes.size();
    return written;
  };
  FLOWSCOPE_RETURN_IF_ERROR(ForEach(trace, sorted, write));
  return file.Close();
}

}  // namespace flowscope::exports
