#include "library/json.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/stats.h"

namespace flowscope::library {
namespace {

// Of a value that may lie anywhere in a file.
template <typename T>
T At(const Payload& value, int64_t index) {
  T element;
  std::memcpy(&element, static_cast<const char*>(value.data) + index * sizeof(T), sizeof(T));
  return element;
}

// Whole numbers of 64 bits are more than a double can hold.
Json ElementJson(const Payload& value, int64_t index) {
  if (value.dtype == DType::kString) return value.strings[static_cast<size_t>(index)];
  if (value.dtype == DType::kBool) return At<uint8_t>(value, index) != 0;
  if (value.dtype == DType::kInt64) return At<int64_t>(value, index);
  if (value.dtype == DType::kUint64) return At<uint64_t>(value, index);
  const std::optional<double> number = ElementAsDouble(value, index);
  if (!number || IsComplex(value.dtype)) return FormatElement(value, index);
  return IsFloating(value.dtype) ? NumberJson(*number) : Json(static_cast<int64_t>(*number));
}

}  // namespace

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Json NumberJson(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json TextOrNull(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

Json CellJson(const Column& column, size_t row) {
  if (!column.is_valid(row)) return nullptr;
  if (const auto* strings = std::get_if<Column::Strings>(&column.values)) return (*strings)[row];
  if (const auto* ints = std::get_if<Column::Ints>(&column.values)) return (*ints)[row];
  if (const auto* doubles = std::get_if<Column::Doubles>(&column.values)) {
    return NumberJson((*doubles)[row]);
  }
  return std::get<Column::Bools>(column.values)[row] != 0;
}

Json RowJson(const Table& table, size_t row) {
  Json entry = Json::object();
  for (const Column& column : table.columns) entry[column.name] = CellJson(column, row);
  return entry;
}

Json RowsJson(const Table& table) {
  Json rows = Json::array();
  for (size_t row = 0; row < table.num_rows(); ++row) rows.push_back(RowJson(table, row));
  return rows;
}

Json ElementsJson(const Payload& value, int64_t max_values) {
  Json values = Json::array();
  const int64_t count = std::min(value.num_elements(), max_values);
  for (int64_t i = 0; i < count; ++i) values.push_back(ElementJson(value, i));
  return values;
}

Json ValueJson(const Payload& value, int64_t max_values) {
  Json json = {
      {"dtype", DTypeName(value.dtype)}, {"shape", value.dims}, {"hash", ContentHash(value)}};
  if (value.num_elements() <= max_values) json["values"] = ElementsJson(value, max_values);
  return json;
}

}  // namespace flowscope::library
