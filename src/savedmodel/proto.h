// Reading the protocol buffers of a SavedModel.
#pragma once

#include <optional>

#include <protozero/pbf_reader.hpp>

#include "base/payload.h"
#include "trace/proto.h"

namespace flowscope::savedmodel {

using proto::kBytes;
using proto::kVarint;
using proto::ToDType;
using proto::View;

// A TensorShapeProto; nullopt for an unknown rank. Throws protozero's exceptions.
std::optional<Dims> ReadShape(protozero::pbf_reader reader);

}  // namespace flowscope::savedmodel
