// Recorded draws put in place of fresh ones.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

#include "base/status.h"
#include "tf/c_api.h"

namespace flowscope::python {

// What RecordOptions::replace_draws is for a Trace whose draws are to come back; null for None.
std::function<Status(const std::string&, std::string_view, std::span<TFE_TensorHandle*>)> DrawsOf(
    nanobind::handle trace);

}  // namespace flowscope::python
