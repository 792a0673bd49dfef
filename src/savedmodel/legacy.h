// What of TensorFlow 1 only a session can run.
#pragma once

#include <string>

#include "savedmodel/meta_graph.h"

namespace flowscope::savedmodel {

// Why the nodes that the signature needs cannot be run one by one, naming the first such node;
// empty where they can. Needs TensorFlow's op registry for reference variables.
std::string WhyNotNodeByNode(const MetaGraph& graph, const Signature& signature);

}  // namespace flowscope::savedmodel
