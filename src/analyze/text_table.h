// Aligned columns of text for terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace flowscope {

enum class Align { kLeft, kRight };
enum class Emphasis { kPlain, kStrong, kFaint };

struct TextColumn {
  std::string title;
  Align align = Align::kLeft;
  bool elastic = false;  // gives way, the widest first, down to its title's width
};

// Columns that one terminal cell per code point takes; escape sequences are not understood.
size_t DisplayWidth(std::string_view utf8);

// At most `width` columns: the middle gives way to "…", since both ends of a name tell most.
std::string Shorten(std::string_view utf8, size_t width);

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}

  // One cell per column.
  void AddRow(std::vector<std::string> cells, Emphasis emphasis = Emphasis::kPlain);
  // A line that is not divided into columns.
  void AddNote(std::string text);

  // Title line, rule, rows; every line ends with a newline and has no trailing spaces. Columns
  // whose cells are all empty are left out. `color` adds terminal escapes for emphasis.
  std::string Render(size_t max_width, bool color) const;

 private:
  struct Row {
    std::vector<std::string> cells;  // one for a note
    Emphasis emphasis = Emphasis::kPlain;
    bool is_note = false;
  };

  std::vector<size_t> Widths(size_t max_width) const;
  size_t* WidestElastic(std::vector<size_t>& widths) const;
  std::string Line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const;

  std::vector<TextColumn> columns_;
  std::vector<Row> rows_;
};

// `text` in terminal escapes where `color`, as it is otherwise.
std::string Emphasize(const std::string& text, Emphasis emphasis, bool color);

// "Title    part · part · part", broken between parts, and at spaces of a part that is too long for
// one line, so that no line is wider than `max_width` unless one word is. The text begins in column
// `indent`. Empty parts are left out; no parts, no line.
std::string TitledLine(std::string_view title, const std::vector<std::string>& parts, size_t indent,
                       size_t max_width);

}  // namespace flowscope
