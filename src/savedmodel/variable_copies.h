// Variables that a file has twice: the saver knows one, functions read the other.
//
// A layer of Keras that is a part of another object is saved so. TensorFlow's loader goes by the
// objects and never sees it; who runs the main graph has to give both the restored value.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "savedmodel/meta_graph.h"
#include "tf/handles.h"

namespace flowscope::savedmodel {

// Nodes that make a variable's handle: a copy, and the variable that its initial value is read of.
using VariableCopy = std::pair<std::string_view, std::string_view>;
std::vector<VariableCopy> VariableCopies(const MetaGraph& graph);

// Gives `to` the value of `from`. `dtype` is a serialized AttrValue.
Status CopyVariable(TFE_Context* context, TFE_TensorHandle* from, TFE_TensorHandle* to,
                    std::string_view dtype);

}  // namespace flowscope::savedmodel
