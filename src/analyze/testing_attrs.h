// For tests: op attributes as TensorFlow serializes them.
//
//   std::string attrs = AttrList().Bool("transpose_a", true).Ints("ksize", {1, 2, 2, 1});
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace flowscope {

// Writes a NameAttrList: field 2 is a map from name to AttrValue.
class AttrList {
 public:
  AttrList& Bool(std::string_view name, bool value) {
    std::string attr;
    protozero::pbf_writer(attr).add_bool(5, value);
    return Add(name, attr);
  }
  AttrList& String(std::string_view name, std::string_view value) {
    std::string attr;
    protozero::pbf_writer(attr).add_bytes(2, value.data(), value.size());
    return Add(name, attr);
  }
  AttrList& Type(std::string_view name, int32_t value) {
    std::string attr;
    protozero::pbf_writer(attr).add_int32(6, value);
    return Add(name, attr);
  }
  AttrList& Int(std::string_view name, int64_t value) {
    std::string attr;
    protozero::pbf_writer(attr).add_int64(3, value);
    return Add(name, attr);
  }
  AttrList& Floats(std::string_view name, const std::vector<float>& values) {
    std::string list;
    protozero::pbf_writer(list).add_packed_float(4, values.begin(), values.end());
    std::string attr;
    protozero::pbf_writer(attr).add_message(1, list);
    return Add(name, attr);
  }
  AttrList& Ints(std::string_view name, const std::vector<int64_t>& values) {
    std::string list;
    protozero::pbf_writer(list).add_packed_int64(3, values.begin(), values.end());
    std::string attr;
    protozero::pbf_writer(attr).add_message(1, list);
    return Add(name, attr);
  }
  operator std::string() const { return bytes_; }  // NOLINT: implicit by design

 private:
  AttrList& Add(std::string_view name, const std::string& attr) {
    std::string entry;
    protozero::pbf_writer writer(entry);
    writer.add_string(1, name.data(), name.size());
    writer.add_message(2, attr);
    protozero::pbf_writer(bytes_).add_message(2, entry);
    return *this;
  }

  std::string bytes_;
};

}  // namespace flowscope
