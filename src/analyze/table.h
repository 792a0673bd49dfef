// A small typed table: what summaries, data frames, Arrow streams and the command line's --json all
// read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"

namespace flowscope {

struct Column {
  using Strings = std::vector<std::string>;
  using Ints = std::vector<int64_t>;
  using Doubles = std::vector<double>;
  using Bools = std::vector<uint8_t>;

  std::string name;
  std::variant<Strings, Ints, Doubles, Bools> values;
  std::vector<uint8_t> valid;  // empty: all valid; else one flag per row, 0 is null

  size_t size() const;
  bool is_valid(size_t row) const { return valid.empty() || valid[row] != 0; }
};

// The columns have the same number of rows.
struct Table {
  std::vector<Column> columns;
  size_t num_rows() const;
  // nullptr where no column has this name.
  const Column* Find(std::string_view name) const;
};

}  // namespace flowscope
