#include "savedmodel/proto.h"

namespace flowscope::savedmodel {
namespace {

using protozero::pbf_reader;
using protozero::tag_and_type;

int64_t ReadDim(pbf_reader reader) {
  int64_t size = 0;
  while (reader.next()) {
    if (reader.tag_and_type() == tag_and_type(1, kVarint)) {
      size = reader.get_int64();
    } else {
      reader.skip();
    }
  }
  return size < 0 ? -1 : size;
}

}  // namespace

std::optional<Dims> ReadShape(pbf_reader reader) {
  Dims dims;
  bool known = true;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(2, kBytes):
        dims.push_back(ReadDim(reader.get_message()));
        break;
      case tag_and_type(3, kVarint):
        known = reader.get_int64() == 0;
        break;
      default:
        reader.skip();
    }
  }
  return known ? std::optional<Dims>(std::move(dims)) : std::nullopt;
}

}  // namespace flowscope::savedmodel
