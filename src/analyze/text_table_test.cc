#include "analyze/text_table.h"

#include <gtest/gtest.h>

namespace flowscope {
namespace {

TEST(TextTableTest, AlignsColumns) {
  TextTable table({{"name"}, {"count", Align::kRight}});
  table.AddRow({"a", "1"});
  table.AddRow({"longer", "1,234"});
  EXPECT_EQ(table.Render(80, false),
            "name    count\n"
            "─────────────\n"
            "a           1\n"
            "longer  1,234\n");
}

TEST(TextTableTest, CountsCodePointsNotBytes) {
  TextTable table({{"n"}, {"m"}});
  table.AddRow({"äöü", "x"});
  table.AddRow({"abc", "y"});
  EXPECT_EQ(table.Render(80, false), "n    m\n──────\näöü  x\nabc  y\n");
}

TEST(TextTableTest, LeavesOutAColumnWithoutCells) {
  TextTable table({{"name"}, {"empty"}, {"last"}});
  table.AddRow({"a", "", "z"});
  EXPECT_EQ(table.Render(80, false), "name  last\n──────────\na     z\n");
}

TEST(TextTableTest, ElasticColumnsGiveWay) {
  TextTable table({{"name", Align::kLeft, true}, {"count", Align::kRight}});
  table.AddRow({"a_very_long_name_of_a_layer", "7"});
  EXPECT_EQ(table.Render(18, false),
            "name         count\n"
            "──────────────────\n"
            "a_ver…layer      7\n");
}

TEST(TextTableTest, NotesStandAcrossColumns) {
  TextTable table({{"a"}, {"b"}});
  table.AddRow({"1", "2"});
  table.AddNote("... 3 more");
  EXPECT_EQ(table.Render(80, false), "a  b\n────\n1  2\n... 3 more\n");
}

TEST(TextTableTest, ColorAddsEscapesAndNothingElse) {
  TextTable table({{"a"}});
  table.AddRow({"1"}, Emphasis::kFaint);
  table.AddRow({"2"});
  EXPECT_EQ(table.Render(80, true), "\033[1ma\033[0m\n─\n\033[2m1\033[0m\n2\n");
}

TEST(ShortenTest, KeepsBothEnds) {
  EXPECT_EQ(Shorten("abc", 3), "abc");
  EXPECT_EQ(Shorten("abcdef", 5), "ab…ef");
  EXPECT_EQ(Shorten("abcdef", 4), "ab…f");
  EXPECT_EQ(Shorten("äöüäöü", 3), "ä…ü");
  EXPECT_EQ(Shorten("abcdef", 1), "…");
  EXPECT_EQ(Shorten("abcdef", 0), "");
}

TEST(TitledLineTest, JoinsPartsAndSkipsEmptyOnes) {
  EXPECT_EQ(TitledLine("Graph", {"1 op", "", "2 edges"}, 8, 80), "Graph   1 op · 2 edges\n");
  EXPECT_EQ(TitledLine("Graph", {}, 8, 80), "");
  EXPECT_EQ(TitledLine("Graph", {"", ""}, 8, 80), "");
}

TEST(TitledLineTest, BreaksBetweenParts) {
  EXPECT_EQ(TitledLine("T", {"aaaa", "bbbb", "cccc"}, 2, 13), "T aaaa · bbbb\n  cccc\n");
}

TEST(TitledLineTest, BreaksALongPartAtSpaces) {
  EXPECT_EQ(TitledLine("T", {"one two three"}, 2, 9), "T one two\n  three\n");
  EXPECT_EQ(TitledLine("T", {"unbreakable"}, 2, 6), "T unbreakable\n");
}

}  // namespace
}  // namespace flowscope
