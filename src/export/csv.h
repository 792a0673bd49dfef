// Tables as CSV.
#pragma once

#include <string>

#include "analyze/table.h"

namespace flowscope::exports {

// RFC 4180 with a line of names: a cell without a value is empty, flags are true and false, numbers
// read back as they were.
std::string ToCsv(const Table& table);

}  // namespace flowscope::exports
