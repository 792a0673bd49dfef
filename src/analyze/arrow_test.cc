#include "analyze/arrow.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/arrow_abi.h"

namespace flowscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool BitAt(const void* bits, int64_t index) {
  return (static_cast<const uint8_t*>(bits)[index / 8] >> (index % 8) & 1) != 0;
}

bool IsValid(const ArrowArray& array, int64_t row) {
  return array.buffers[0] == nullptr || BitAt(array.buffers[0], row);
}

std::string StringAt(const ArrowArray& array, int64_t row) {
  const auto* offsets = static_cast<const int32_t*>(array.buffers[1]);
  const auto* text = static_cast<const char*>(array.buffers[2]);
  return {text + offsets[row], text + offsets[row + 1]};
}

std::string CellText(const ArrowSchema& schema, const ArrowArray& array, int64_t row) {
  if (!IsValid(array, row)) return "null";
  const std::string format = schema.format;
  if (format == "u") return StringAt(array, row);
  if (format == "l") return std::to_string(static_cast<const int64_t*>(array.buffers[1])[row]);
  if (format == "g") return std::to_string(static_cast<const double*>(array.buffers[1])[row]);
  if (format == "b") return BitAt(array.buffers[1], row) ? "true" : "false";
  return "unknown format " + format;
}

// Reads as a consumer would: schema, batches until a released one, everything released.
class Reader {
 public:
  explicit Reader(Table table)
      : stream_(NewArrowStream(std::make_shared<const Table>(std::move(table)))) {
    EXPECT_EQ(stream_->get_schema(stream_, &schema_), 0);
    EXPECT_EQ(stream_->get_next(stream_, &batch_), 0);
  }
  ~Reader() {
    if (batch_.release != nullptr) batch_.release(&batch_);
    if (schema_.release != nullptr) schema_.release(&schema_);
    DeleteArrowStream(stream_);
  }

  const ArrowSchema& schema() const { return schema_; }
  ArrowArray& batch() { return batch_; }
  ArrowArrayStream* stream() { return stream_; }

  std::vector<std::string> ColumnTexts(int64_t column) const {
    std::vector<std::string> texts;
    const ArrowArray& array = *batch_.children[column];
    for (int64_t row = 0; row < array.length; ++row) {
      texts.push_back(CellText(*schema_.children[column], array, row));
    }
    return texts;
  }

 private:
  ArrowArrayStream* stream_;
  ArrowSchema schema_{};
  ArrowArray batch_{};
};

Table FourKinds() {
  return {{{"text", Column::Strings{"", "añ", "c"}, {}},
           {"number", Column::Ints{1, -5, int64_t{1} << 60}, {1, 0, 1}},
           {"real", Column::Doubles{0.5, 1.5, 2.5}, {0, 1, 0}},
           {"flag", Column::Bools{1, 0, 1}, {}}}};
}

TEST(ArrowTest, SchemaNamesEveryColumnWithItsFormat) {
  Reader reader(FourKinds());
  EXPECT_STREQ(reader.schema().format, "+s");
  ASSERT_EQ(reader.schema().n_children, 4);
  std::vector<std::string> columns;
  for (int64_t i = 0; i < 4; ++i) {
    const ArrowSchema& child = *reader.schema().children[i];
    columns.push_back(std::string(child.name) + ":" + child.format);
    EXPECT_EQ(child.flags, kArrowFlagNullable);
  }
  EXPECT_THAT(columns, ElementsAre("text:u", "number:l", "real:g", "flag:b"));
}

TEST(ArrowTest, GivesEveryCellAndEveryNull) {
  Reader reader(FourKinds());
  EXPECT_EQ(reader.batch().length, 3);
  EXPECT_THAT(reader.ColumnTexts(0), ElementsAre("", "añ", "c"));
  EXPECT_THAT(reader.ColumnTexts(1), ElementsAre("1", "null", "1152921504606846976"));
  EXPECT_THAT(reader.ColumnTexts(2), ElementsAre("null", "1.500000", "null"));
  EXPECT_THAT(reader.ColumnTexts(3), ElementsAre("true", "false", "true"));
}

TEST(ArrowTest, CountsNulls) {
  Reader reader(FourKinds());
  std::vector<int64_t> counts;
  for (int64_t i = 0; i < 4; ++i) counts.push_back(reader.batch().children[i]->null_count);
  EXPECT_THAT(counts, ElementsAre(0, 1, 2, 0));
}

TEST(ArrowTest, BitmapsGoBeyondOneByte) {
  Column::Bools flags(19, 0);
  std::vector<uint8_t> valid(19, 1);
  flags[8] = flags[18] = 1;
  valid[9] = 0;
  Reader reader(Table{{{"flag", flags, valid}}});
  std::vector<std::string> expected(19, "false");
  expected[8] = expected[18] = "true";
  expected[9] = "null";
  EXPECT_EQ(reader.ColumnTexts(0), expected);
}

TEST(ArrowTest, EndsAfterOneBatch) {
  Reader reader(FourKinds());
  ArrowArray next{};
  ASSERT_EQ(reader.stream()->get_next(reader.stream(), &next), 0);
  EXPECT_EQ(next.release, nullptr);
  EXPECT_EQ(reader.stream()->get_last_error(reader.stream()), nullptr);
}

TEST(ArrowTest, TablesWithoutRowsOrColumnsAreBatchesToo) {
  Reader no_rows(Table{{{"text", Column::Strings{}, {}}, {"number", Column::Ints{}, {}}}});
  EXPECT_EQ(no_rows.batch().length, 0);
  EXPECT_THAT(no_rows.ColumnTexts(0), IsEmpty());
  Reader no_columns(Table{});
  EXPECT_EQ(no_columns.schema().n_children, 0);
  EXPECT_EQ(no_columns.batch().length, 0);
}

TEST(ArrowTest, NumbersAreNotCopied) {
  auto table = std::make_shared<const Table>(FourKinds());
  ArrowArrayStream* stream = NewArrowStream(table);
  ArrowArray batch{};
  ASSERT_EQ(stream->get_next(stream, &batch), 0);
  EXPECT_EQ(batch.children[1]->buffers[1], std::get<Column::Ints>(table->columns[1].values).data());
  batch.release(&batch);
  EXPECT_EQ(batch.release, nullptr);
  DeleteArrowStream(stream);
}

// The specification lets a consumer take a child out of its parent and release both apart.
TEST(ArrowTest, AChildOutlivesItsParentAndTheStream) {
  ArrowArrayStream* stream = NewArrowStream(std::make_shared<const Table>(FourKinds()));
  ArrowSchema schema{};
  ArrowArray batch{};
  ASSERT_EQ(stream->get_schema(stream, &schema), 0);
  ASSERT_EQ(stream->get_next(stream, &batch), 0);
  DeleteArrowStream(stream);
  ArrowArray moved = std::exchange(*batch.children[1], {});
  ArrowSchema moved_schema = std::exchange(*schema.children[1], {});
  batch.release(&batch);
  schema.release(&schema);
  EXPECT_EQ(CellText(moved_schema, moved, 0), "1");
  EXPECT_EQ(CellText(moved_schema, moved, 2), "1152921504606846976");
  moved.release(&moved);
  moved_schema.release(&moved_schema);
}

TEST(ArrowTest, AReleasedStreamAndNoStreamCanBeDeleted) {
  ArrowArrayStream* stream = NewArrowStream(std::make_shared<const Table>(FourKinds()));
  stream->release(stream);
  EXPECT_EQ(stream->release, nullptr);
  DeleteArrowStream(stream);
  DeleteArrowStream(nullptr);
}

}  // namespace
}  // namespace flowscope
