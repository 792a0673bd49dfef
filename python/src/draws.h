// Recorded draws put in place of fresh ones.
#pragma once

#include <memory>

#include <nanobind/nanobind.h>

#include "capture/options.h"

namespace flowscope::python {

// What RecordOptions::draws is for a Trace whose draws are to come back; null for None.
std::shared_ptr<capture::DrawSource> DrawsOf(nanobind::handle trace);

}  // namespace flowscope::python
