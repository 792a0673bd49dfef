#include "analyze/record_lines.h"

#include "analyze/summary_footer.h"
#include "analyze/text_table.h"
#include "base/units.h"

namespace flowscope {
namespace {

constexpr size_t kTextColumn = 11;

}  // namespace

std::string RecordLine(std::string_view title, const Parts& parts) {
  return TitledLine("  " + std::string(title), parts, kTextColumn, kSummaryWidth);
}

std::string BytesText(int64_t nbytes) { return FormatBytes(static_cast<uint64_t>(nbytes)); }

}  // namespace flowscope
