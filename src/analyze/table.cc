#include "analyze/table.h"

namespace flowscope {

size_t Column::size() const {
  return std::visit([](const auto& rows) { return rows.size(); }, values);
}

size_t Table::num_rows() const { return columns.empty() ? 0 : columns.front().size(); }

const Column* Table::Find(std::string_view name) const {
  for (const Column& column : columns) {
    if (column.name == name) return &column;
  }
  return nullptr;
}

}  // namespace flowscope
