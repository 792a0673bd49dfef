// How the printed forms write things that several of them show.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "trace/trace.h"

namespace flowscope {

// As Python writes a tuple: "()", "(4,)", "(2, 3)".
std::string TupleText(std::span<const int64_t> numbers);

// "float32 (2, 3)"; "float32 ?" where the shape is unknown.
std::string TensorText(const Trace& trace, TensorId tensor);

// "model.py:12 in call", with the line's text after a colon if wanted and known; empty where no
// line is known. The file is its last two path components.
std::string LocationText(const Trace& trace, OpId op, bool with_source);

// Innermost module call, "dense:1"; empty outside every module.
std::string ModuleCallText(const Trace& trace, OpId op);

// The value in one line; says "not kept" or shows stored statistics where there is no value.
std::string GlanceText(const Trace& trace, TensorId tensor);

// The op that made the tensor, by label; for others "literal" or what else it is.
std::string ProducerText(const Trace& trace, TensorId tensor);

// "1 op", "2 ops", "1,234 ops".
std::string Counted(int64_t count, std::string_view noun);

// Joins the parts that are not empty.
std::string JoinParts(std::span<const std::string> parts, std::string_view separator);

}  // namespace flowscope
