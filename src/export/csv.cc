#include "export/csv.h"

#include <string_view>
#include <variant>

#include <fmt/format.h>

namespace flowscope::exports {
namespace {

// An empty text is quoted, so that it is not a missing one.
void AppendText(std::string_view text, std::string& csv) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    csv += text;
    return;
  }
  csv += '"';
  for (const char c : text) {
    if (c == '"') csv += '"';
    csv += c;
  }
  csv += '"';
}

void AppendCell(const Column& column, size_t row, std::string& csv) {
  if (!column.is_valid(row)) return;
  if (const auto* strings = std::get_if<Column::Strings>(&column.values)) {
    AppendText((*strings)[row], csv);
  } else if (const auto* ints = std::get_if<Column::Ints>(&column.values)) {
    csv += fmt::format("{}", (*ints)[row]);
  } else if (const auto* doubles = std::get_if<Column::Doubles>(&column.values)) {
    csv += fmt::format("{}", (*doubles)[row]);
  } else {
    csv += std::get<Column::Bools>(column.values)[row] != 0 ? "true" : "false";
  }
}

}  // namespace

std::string ToCsv(const Table& table) {
  std::string csv;
  const auto end = [&](size_t i) { csv += i + 1 < table.columns.size() ? "," : "\r\n"; };
  for (size_t i = 0; i < table.columns.size(); ++i) {
    AppendText(table.columns[i].name, csv);
    end(i);
  }
  for (size_t row = 0; row < table.num_rows(); ++row) {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      AppendCell(table.columns[i], row, csv);
      end(i);
    }
  }
  return csv;
}

}  // namespace flowscope::exports
