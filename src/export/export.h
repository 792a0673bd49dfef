// Parts of a trace for other programs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "export/values.h"
#include "trace/trace.h"

namespace flowscope::exports {

struct ExportOptions {
  std::string format = {};    // "npz", "safetensors" or "csv"; empty: by the end of the path
  std::string table = "ops";  // for csv, as in analyze/tables.h
  bool overwrite = false;     // a plain file that is there
};

// Writes values of `ops` (npz, safetensors) or rows of a table (csv) to a file beside `path`, which
// is renamed then. InvalidArgument for a format that is not known; Unsupported, with the way that
// there is, for one that only Python writes.
Result<Exported> Export(const Trace& trace, std::span<const OpId> ops, const std::string& path,
                        const ExportOptions& options);

// The rows that csv writes.
Result<std::string> CsvOf(const Trace& trace, std::span<const OpId> ops, std::string_view table);

// The format that `options` and the path name. InvalidArgument where there is no such format.
Result<std::string> FormatOf(const std::string& path, const ExportOptions& options);

}  // namespace flowscope::exports
