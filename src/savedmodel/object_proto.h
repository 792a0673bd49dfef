// The graph of Python objects in a SavedModel, as it is written.
#pragma once

#include <vector>

#include <protozero/pbf_reader.hpp>

#include "savedmodel/meta_graph.h"

namespace flowscope::savedmodel {

// Throws protozero's exceptions; a child with a number beyond the list is left out.
std::vector<SavedObject> ReadObjectGraph(protozero::pbf_reader reader);

}  // namespace flowscope::savedmodel
