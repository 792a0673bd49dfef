#include "analyze/summary.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "analyze/summary_footer.h"
#include "analyze/summary_tree.h"
#include "analyze/text.h"
#include "analyze/text_table.h"
#include "analyze/trace_facts.h"
#include "base/units.h"

namespace flowscope {
namespace {

Status CheckChoice(std::string_view what, std::string_view given,
                   std::span<const std::string_view> choices) {
  std::string all;
  for (const std::string_view choice : choices) {
    if (choice == given) return Status::Ok();
    all += fmt::format("{}\"{}\"", all.empty() ? "" : ", ", choice);
  }
  return InvalidArgument(
      fmt::format("unknown summary {} \"{}\": choose one of {}", what, given, all));
}

Status Check(const SummaryOptions& options) {
  static constexpr std::array<std::string_view, 3> kLevels = {"auto", "module", "op"};
  static constexpr std::array<std::string_view, 2> kViews = {"overview", "compute"};
  FLOWSCOPE_RETURN_IF_ERROR(CheckChoice("level", options.level, kLevels));
  FLOWSCOPE_RETURN_IF_ERROR(CheckChoice("view", options.view, kViews));
  if (options.max_rows < 0 || options.depth < 0) {
    return InvalidArgument("max_rows and depth of a summary must be 0 (all) or more");
  }
  return Status::Ok();
}

// Eighths of a cell, so that three cells show 24 steps.
std::string Bar(double share) {
  static constexpr std::array<std::string_view, 9> kParts = {"",  "▏", "▎", "▍", "▌",
                                                             "▋", "▊", "▉", "█"};
  auto eighths = std::lround(share * 24);
  if (eighths == 0 && share > 0) eighths = 1;
  std::string bar;
  for (; eighths >= 8; eighths -= 8) bar += kParts[8];
  return bar + std::string(kParts[static_cast<size_t>(eighths)]);
}

std::string ShareText(const SummaryNode& node, const SummaryNode& model) {
  if (!node.params || !model.params || *model.params == 0) return "";
  const double share = static_cast<double>(*node.params) / static_cast<double>(*model.params);
  return fmt::format("{:5.1f} {}", 100 * share, Bar(share));
}

std::string ParamsText(const SummaryNode& node) {
  if (node.params) return FormatCount(*node.params);
  return node.kind == RowKind::kOps ? "" : "?";
}

// Sources and modules that were not called did nothing that could cost.
bool DidRun(const SummaryNode& node) {
  return node.kind == RowKind::kOps ? node.cost.ops > 0 : node.passes > 0;
}

// A "+" stands for ops without a formula.
std::string FlopsText(const SummaryNode& node) {
  const Cost& cost = node.cost;
  if (!DidRun(node)) return "";
  if (cost.ops > 0 && cost.ops_without_formula == cost.ops) return "?";
  return FormatCountShort(cost.flops) + (cost.ops_without_formula > 0 ? "+" : "");
}

// "blocks.0..11": what differs is the number at the end.
std::string RepeatedName(const SummaryNode& node) {
  const std::string& first = node.name;
  const std::string& last = node.last_name;
  const size_t digits = first.find_last_not_of("0123456789") + 1;
  const size_t last_digits = last.find_last_not_of("0123456789") + 1;
  const bool numbered = digits < first.size() && last_digits < last.size() &&
                        first.substr(0, digits) == last.substr(0, last_digits);
  return numbered ? first + ".." + last.substr(last_digits) : first + " .. " + last;
}

std::string NameText(const SummaryNode& node) {
  std::string text = node.repeats > 1 ? RepeatedName(node) : node.name;
  if (!node.type.empty()) text += fmt::format(" ({})", node.type);
  if (node.repeats > 1) text += fmt::format(" x{} each", FormatCount(node.repeats));
  return text;
}

class TableWriter {
 public:
  TableWriter(const SummaryNode& model, bool compute) : model_(model), compute_(compute) {
    std::vector<TextColumn> columns = {{"name (type)", Align::kLeft, true},
                                       {"output", Align::kLeft, true},
                                       {"params", Align::kRight}};
    const std::vector<TextColumn> rest =
        compute
            ? std::vector<TextColumn>{{"FLOPs", Align::kRight},
                                      {"read", Align::kRight},
                                      {"written", Align::kRight},
                                      {"time", Align::kRight},
                                      {"passes", Align::kRight}}
            : std::vector<TextColumn>{
                  {"% params", Align::kLeft}, {"FLOPs", Align::kRight}, {"passes", Align::kRight}};
    columns.insert(columns.end(), rest.begin(), rest.end());
    table_ = TextTable(std::move(columns));
  }

  // At most `max_rows` rows, then how many more there are.
  void Write(int64_t max_rows) {
    max_rows_ = max_rows;
    WriteNode(model_, "", "");
    if (left_out_ > 0) table_.AddNote("... " + Counted(left_out_, "more row"));
  }

  std::string Render(bool color) const { return table_.Render(kSummaryWidth, color); }

 private:
  void WriteNode(const SummaryNode& node, const std::string& guide, const std::string& below) {
    if (max_rows_ > 0 && rows_ >= max_rows_) {
      left_out_ += CountRows(node);
      return;
    }
    ++rows_;
    WriteRow(node, guide);
    for (size_t i = 0; i < node.children.size(); ++i) {
      const bool last = i + 1 == node.children.size();
      WriteNode(node.children[i], below + (last ? "└ " : "├ "), below + (last ? "  " : "│ "));
    }
  }

  void WriteRow(const SummaryNode& node, const std::string& guide) {
    if (node.kind == RowKind::kNote) return table_.AddNote(guide + node.name);
    std::vector<std::string> cells = {guide + NameText(node), node.output, ParamsText(node)};
    if (compute_) {
      AddComputeCells(node, cells);
    } else {
      cells.push_back(ShareText(node, model_));
      cells.push_back(FlopsText(node));
    }
    cells.push_back(FormatCount(node.passes));
    table_.AddRow(std::move(cells), EmphasisOf(node.kind));
  }

  static void AddComputeCells(const SummaryNode& node, std::vector<std::string>& cells) {
    cells.push_back(FlopsText(node));
    if (!DidRun(node)) {
      cells.insert(cells.end(), 3, "");
      return;
    }
    cells.push_back(FormatBytes(static_cast<uint64_t>(node.cost.bytes_read)));
    cells.push_back(FormatBytes(static_cast<uint64_t>(node.cost.bytes_written)));
    cells.push_back(FormatDuration(node.duration_ns));
  }

  static Emphasis EmphasisOf(RowKind kind) {
    if (kind == RowKind::kModel) return Emphasis::kStrong;
    return kind == RowKind::kOps ? Emphasis::kFaint : Emphasis::kPlain;
  }

  const SummaryNode& model_;
  bool compute_;
  TextTable table_{{}};
  int64_t max_rows_ = 0;
  int64_t rows_ = 0;
  int64_t left_out_ = 0;
};

// Layers before ops: what does not fit gives way from the ops outside layers, then from the depth.
// Returns the number of rows that were cut for their depth.
int64_t Fit(const SummaryOptions& options, bool ops_of_modules, SummaryNode& model) {
  int64_t rows = CountRows(model);
  if (options.depth > 0) CutDepth(model, options.depth);
  int64_t cut = rows - CountRows(model);
  if (ops_of_modules || options.max_rows == 0) return cut;
  if (CountRows(model) > options.max_rows) CollapseOps(model);
  rows = CountRows(model);
  while (CountRows(model) > options.max_rows && MaxDepth(model) > 1) {
    CutDepth(model, MaxDepth(model) - 1);
  }
  return cut + rows - CountRows(model);
}

std::string CutNote(int64_t cut) {
  if (cut == 0) return "";
  return fmt::format("{} inside those shown left out (depth, max_rows)\n", Counted(cut, "row"));
}

bool HasModules(const Trace& trace) {
  const ModuleId root = RootModule(trace);
  return trace.tables().modules.size() > (root == kNoId ? 0u : 1u);
}

}  // namespace

Result<std::string> Summarize(const Trace& trace, const SummaryOptions& options) {
  FLOWSCOPE_RETURN_IF_ERROR(Check(options));
  const bool ops = options.level == "op" || (options.level == "auto" && !HasModules(trace));
  const CostIndex costs(trace);
  SummaryNode model = BuildSummaryTree(trace, costs, ops);
  if (options.fold_repeats) FoldRepeats(model);
  const int64_t cut = Fit(options, ops, model);
  TableWriter table(model, options.view == "compute");
  table.Write(options.max_rows);

  std::string text = SummaryHeader(trace, options.color) + "\n" + table.Render(options.color);
  text += CutNote(cut);
  if (model.cost.ops_without_formula > 0) text += "+ and ?: ops without a formula, see Compute\n";
  return text + "\n" + SummaryFooter(trace, costs, options.color);
}

}  // namespace flowscope
