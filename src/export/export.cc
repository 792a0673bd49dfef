#include "export/export.h"

#include <algorithm>
#include <array>

#include "analyze/tables.h"
#include "export/csv.h"
#include "export/new_file.h"
#include "export/npz.h"
#include "export/safetensors.h"

namespace flowscope::exports {
namespace {

constexpr std::array<std::string_view, 4> kFormats = {"npz", "safetensors", "csv", "parquet"};

std::string Listed() {
  std::string text;
  for (const std::string_view format : kFormats) {
    text.append(text.empty() ? "" : ", ").append(format);
  }
  return text;
}

Status WriteCsv(const Trace& trace, std::span<const OpId> ops, const ExportOptions& options,
                store::File file) {
  const Result<std::string> csv = CsvOf(trace, ops, options.table);
  if (!csv.ok()) return csv.status();
  FLOWSCOPE_RETURN_IF_ERROR(file.WriteAt(0, csv->data(), csv->size()));
  return file.Close();
}

}  // namespace

Result<std::string> FormatOf(const std::string& path, const ExportOptions& options) {
  std::string format = options.format;
  if (format.empty()) {
    const size_t dot = path.rfind('.');
    const size_t slash = path.rfind('/');
    const bool has_end = dot != std::string::npos && (slash == std::string::npos || dot > slash);
    format = has_end ? path.substr(dot + 1) : "";
  }
  if (std::ranges::find(kFormats, format) != kFormats.end()) return format;
  if (options.format.empty()) {
    return InvalidArgument("the end of '" + path + "' names no format; choose one of " + Listed());
  }
  return InvalidArgument("no format \"" + format + "\": choose one of " + Listed());
}

Result<std::string> CsvOf(const Trace& trace, std::span<const OpId> ops, std::string_view table) {
  if (table == "ops") return ToCsv(OpTable(trace, ops));
  if (table == "stats") return ToCsv(StatsTable(trace, ops));
  if (ops.size() < trace.num_ops()) {
    return InvalidArgument("a selection of ops goes with the tables ops and stats, not with " +
                           std::string(table));
  }
  const Result<Table> made = TableOfKind(trace, table);
  if (!made.ok()) return made.status();
  return ToCsv(*made);
}

Result<Exported> Export(const Trace& trace, std::span<const OpId> ops, const std::string& path,
                        const ExportOptions& options) {
  const Result<std::string> format = FormatOf(path, options);
  if (!format.ok()) return format.status();
  if (*format == "parquet") {
    return Unsupported(
        "parquet is written from Python, where pyarrow is installed: fs.load(TRACE).export(\"" +
        path + "\")");
  }
  Exported exported;
  std::vector<NamedValue> values;
  if (*format != "csv") {
    Result<std::vector<NamedValue>> found = ValuesOf(trace, ops, exported);
    if (!found.ok()) return found.status();
    values = std::move(found).value();
  }
  Result<NewFile> file = NewFile::Create(path, options.overwrite);
  if (!file.ok()) return file.status();
  Result<store::File> open = file->Open();
  if (!open.ok()) return open.status();
  store::File to = std::move(open).value();
  FLOWSCOPE_RETURN_IF_ERROR(*format == "csv"   ? WriteCsv(trace, ops, options, std::move(to))
                            : *format == "npz" ? WriteNpz(trace, values, std::move(to))
                                               : WriteSafetensors(trace, values, std::move(to)));
  FLOWSCOPE_RETURN_IF_ERROR(file->PutIntoPlace());
  return exported;
}

}  // namespace flowscope::exports
