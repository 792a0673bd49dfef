// Between Python's EagerTensor objects and handles of the C API.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "base/status.h"
#include "tf/c_api.h"

namespace flowscope::python {

// Looks up TensorFlow's exported conversions under the package folder. Unavailable, naming the
// missing symbol, where this TensorFlow does not export them. Idempotent.
Status LoadEagerTensorSymbols(const std::string& tensorflow_dir);

// Borrowed handle of an EagerTensor, null for every other object. Needs the GIL.
TFE_TensorHandle* HandleOf(nanobind::handle object);

// The context in the capsule that Python's own context keeps. Throws Python's error for any other.
TFE_Context* ContextOf(nanobind::handle capsule);

// A new EagerTensor that takes over one reference to `handle`.
nanobind::object EagerTensorFrom(TFE_TensorHandle* handle);

// Tensors of a nested structure with their paths: lists, tuples, dicts, dataclasses, and composite
// tensors (ragged, sparse) by their components. Needs the GIL; handles are borrowed from `object`,
// except those of composites, which `keep_alive` holds.
using NamedHandles = std::vector<std::pair<std::string, TFE_TensorHandle*>>;
void CollectTensors(nanobind::handle object, const std::string& path, NamedHandles& found,
                    std::vector<nanobind::object>& keep_alive);

}  // namespace flowscope::python
