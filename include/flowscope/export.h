// Parts of a trace for other programs.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"
#include "flowscope/trace.h"

namespace flowscope::api {

struct ExportOptions {
  std::string format;         // "npz", "safetensors" or "csv"; empty: by the end of the path
  std::string table = "ops";  // for csv: what Trace::Table takes
  OpFilter filter;
  bool overwrite = false;  // a plain file that is there
};

struct ExportReport {
  std::string format;
  size_t num_ops = 0;     // that the filter selects
  size_t num_values = 0;  // that were written
  size_t not_kept = 0;    // of the selected ops, that the trace does not have
};

// Writes the values of the selected ops (npz, safetensors), each under its op's label, of a second
// output LABEL.1 and so on; or rows of a table (csv). The file is written beside `path` and
// renamed.
//
// InvalidArgument for an unknown format or a path that is taken; NotFound where no op is selected;
// Unavailable where none of them has a value; Unsupported for "parquet", which only Python writes.
Result<ExportReport> Export(const Trace& trace, const std::string& path,
                            const ExportOptions& options = {});

// The text that csv writes.
Result<std::string> ToCsv(const Trace& trace, const ExportOptions& options = {});

}  // namespace flowscope::api
