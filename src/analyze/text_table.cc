#include "analyze/text_table.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace flowscope {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::string_view kEllipsis = "…";
constexpr std::string_view kRule = "─";
constexpr std::string_view kSeparator = " · ";

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

std::string_view FirstCodePoints(std::string_view utf8, size_t count) {
  size_t end = 0;
  for (; end < utf8.size(); ++end) {
    if (!IsContinuation(utf8[end]) && count-- == 0) break;
  }
  return utf8.substr(0, end);
}

std::string_view LastCodePoints(std::string_view utf8, size_t count) {
  return utf8.substr(FirstCodePoints(utf8, DisplayWidth(utf8) - count).size());
}

void TrimRight(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

std::string Pad(const std::string& cell, size_t width, Align align) {
  const size_t used = DisplayWidth(cell);
  const std::string spaces(width > used ? width - used : 0, ' ');
  return align == Align::kLeft ? cell + spaces : spaces + cell;
}

// Lines of at most `width` columns; a word that is longer stays whole.
std::vector<std::string> BreakAtSpaces(const std::string& text, size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (!line.empty() && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
      lines.push_back(std::exchange(line, word));
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  lines.push_back(line);
  return lines;
}

}  // namespace

size_t DisplayWidth(std::string_view utf8) {
  const auto continues = std::count_if(utf8.begin(), utf8.end(), IsContinuation);
  return utf8.size() - static_cast<size_t>(continues);
}

std::string Shorten(std::string_view utf8, size_t width) {
  if (DisplayWidth(utf8) <= width) return std::string(utf8);
  if (width == 0) return "";
  const size_t tail = (width - 1) / 2;
  const size_t head = width - 1 - tail;
  return std::string(FirstCodePoints(utf8, head)) + std::string(kEllipsis) +
         std::string(LastCodePoints(utf8, tail));
}

void TextTable::AddRow(std::vector<std::string> cells, Emphasis emphasis) {
  assert(cells.size() == columns_.size());
  rows_.push_back({std::move(cells), emphasis, false});
}

void TextTable::AddNote(std::string text) {
  rows_.push_back({{std::move(text)}, Emphasis::kFaint, true});
}

// nullptr where every elastic column is as narrow as its title.
size_t* TextTable::WidestElastic(std::vector<size_t>& widths) const {
  size_t* widest = nullptr;
  for (size_t i = 0; i < widths.size(); ++i) {
    if (!columns_[i].elastic || widths[i] <= DisplayWidth(columns_[i].title)) continue;
    if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
  }
  return widest;
}

// 0 for a column that is left out.
std::vector<size_t> TextTable::Widths(size_t max_width) const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const Row& row : rows_) {
    for (size_t i = 0; !row.is_note && i < row.cells.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row.cells[i]));
    }
  }
  size_t total = 0;
  for (size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == 0) continue;
    widths[i] = std::max(widths[i], DisplayWidth(columns_[i].title));
    total += widths[i] + (total == 0 ? 0 : kGap.size());
  }
  while (total > max_width) {
    size_t* widest = WidestElastic(widths);
    if (widest == nullptr) break;
    --*widest;
    --total;
  }
  return widths;
}

std::string TextTable::Line(const std::vector<std::string>& cells,
                            const std::vector<size_t>& widths) const {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (widths[i] == 0) continue;
    if (!line.empty()) line += kGap;
    line += Pad(Shorten(cells[i], widths[i]), widths[i], columns_[i].align);
  }
  TrimRight(line);
  return line;
}

std::string TextTable::Render(size_t max_width, bool color) const {
  const std::vector<size_t> widths = Widths(max_width);
  std::vector<std::string> titles;
  for (const TextColumn& column : columns_) titles.push_back(column.title);
  size_t total = 0;
  for (const size_t width : widths) {
    if (width > 0) total += width + (total == 0 ? 0 : kGap.size());
  }
  std::string text = Emphasize(Line(titles, widths), Emphasis::kStrong, color) + '\n';
  for (size_t i = 0; i < total; ++i) text += kRule;
  text += '\n';
  for (const Row& row : rows_) {
    const std::string line =
        row.is_note ? Shorten(row.cells[0], max_width) : Line(row.cells, widths);
    text += Emphasize(line, row.emphasis, color) + '\n';
  }
  return text;
}

std::string Emphasize(const std::string& text, Emphasis emphasis, bool color) {
  if (!color || emphasis == Emphasis::kPlain || text.empty()) return text;
  const std::string_view start = emphasis == Emphasis::kStrong ? "\033[1m" : "\033[2m";
  return std::string(start) + text + "\033[0m";
}

std::string TitledLine(std::string_view title, const std::vector<std::string>& parts, size_t indent,
                       size_t max_width) {
  const size_t room = max_width > indent ? max_width - indent : 1;
  std::vector<std::string> lines;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    const std::vector<std::string> pieces = BreakAtSpaces(part, room);
    const bool fits = !lines.empty() && DisplayWidth(lines.back()) + DisplayWidth(kSeparator) +
                                                DisplayWidth(pieces.front()) <=
                                            room;
    if (fits) {
      lines.back() += std::string(kSeparator) + pieces.front();
    } else {
      lines.push_back(pieces.front());
    }
    lines.insert(lines.end(), pieces.begin() + 1, pieces.end());
  }
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    text += Pad(i == 0 ? std::string(title) : "", indent, Align::kLeft) + lines[i] + "\n";
  }
  return text;
}

}  // namespace flowscope
