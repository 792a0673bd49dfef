#include "flowscope/export.h"

#include "export/export.h"
#include "library/filter.h"

namespace flowscope::api {

Result<ExportReport> Export(const Trace& trace, const std::string& path,
                            const ExportOptions& options) {
  const exports::ExportOptions how{options.format, options.table, options.overwrite};
  Result<std::string> format = exports::FormatOf(path, how);
  if (!format.ok()) return format.status();
  const Result<library::FilteredOps> ops = library::OpsOf(*trace.record(), options.filter);
  if (!ops.ok()) return ops.status();
  const Result<exports::Exported> exported = exports::Export(*trace.record(), ops->ids, path, how);
  if (!exported.ok()) return exported.status();
  return ExportReport{std::move(format).value(), ops->ids.size(), exported->num_values,
                      exported->not_kept};
}

Result<std::string> ToCsv(const Trace& trace, const ExportOptions& options) {
  const Result<library::FilteredOps> ops = library::OpsOf(*trace.record(), options.filter);
  if (!ops.ok()) return ops.status();
  return exports::CsvOf(*trace.record(), ops->ids, options.table);
}

}  // namespace flowscope::api
