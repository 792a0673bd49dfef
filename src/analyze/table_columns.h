// Makes columns of a Table row by row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "analyze/table.h"

namespace flowscope {

inline std::optional<std::string> OrNull(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

// `Rows` is one of Column's vectors; `cell(i)` gives row i, or nullopt for a null.
template <typename Rows, typename Cell>
Column MakeColumn(std::string name, size_t num_rows, Cell cell) {
  Rows rows(num_rows);
  std::vector<uint8_t> valid(num_rows, 1);
  bool any_null = false;
  for (size_t i = 0; i < num_rows; ++i) {
    std::optional<typename Rows::value_type> value = cell(static_cast<uint32_t>(i));
    if (value) {
      rows[i] = std::move(*value);
    } else {
      valid[i] = 0;
      any_null = true;
    }
  }
  if (!any_null) valid.clear();
  return {std::move(name), std::move(rows), std::move(valid)};
}

template <typename Cell>
Column StringColumn(std::string name, size_t num_rows, Cell cell) {
  return MakeColumn<Column::Strings>(std::move(name), num_rows, std::move(cell));
}

template <typename Cell>
Column IntColumn(std::string name, size_t num_rows, Cell cell) {
  return MakeColumn<Column::Ints>(std::move(name), num_rows, std::move(cell));
}

template <typename Cell>
Column DoubleColumn(std::string name, size_t num_rows, Cell cell) {
  return MakeColumn<Column::Doubles>(std::move(name), num_rows, std::move(cell));
}

template <typename Cell>
Column BoolColumn(std::string name, size_t num_rows, Cell cell) {
  return MakeColumn<Column::Bools>(std::move(name), num_rows, std::move(cell));
}

// `cell(id)` as a question about a row: row i is about ids[i].
template <typename Id, typename Cell>
auto About(std::span<const Id> ids, Cell cell) {
  return [ids, cell = std::move(cell)](size_t row) { return cell(ids[row]); };
}

}  // namespace flowscope
