// What the library writes as JSON, and the values in it.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "analyze/table.h"
#include "base/payload.h"

namespace flowscope::library {

using Json = nlohmann::ordered_json;

// Text that is no UTF-8 is shown with replacement characters.
std::string Dump(const Json& json);

// JSON has no NaN and no infinities: they are written as text.
Json NumberJson(double value);
Json TextOrNull(std::string_view text);

Json CellJson(const Column& column, size_t row);
Json RowJson(const Table& table, size_t row);
Json RowsJson(const Table& table);

// The first `max_values` elements in row-major order: numbers, text for strings and complex ones.
Json ElementsJson(const Payload& value, int64_t max_values);
// Dtype, shape and hash, with the elements where there are no more than `max_values`.
Json ValueJson(const Payload& value, int64_t max_values);

}  // namespace flowscope::library
