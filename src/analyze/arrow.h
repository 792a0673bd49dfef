// Tables through the Arrow C data interface, so that pyarrow, polars and duckdb read them without a
// copy of ours in between and without Arrow at build time.
#pragma once

#include <memory>

#include "analyze/table.h"

struct ArrowArrayStream;

namespace flowscope {

// A stream of one record batch that owns its table. The caller calls release (through the struct's
// own callback) and then frees the struct itself; DeleteArrowStream does both.
ArrowArrayStream* NewArrowStream(std::shared_ptr<const Table> table);
void DeleteArrowStream(ArrowArrayStream* stream);

}  // namespace flowscope
