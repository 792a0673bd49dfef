#include "base/units.h"

#include <gtest/gtest.h>

namespace flowscope {
namespace {

TEST(UnitsTest, Bytes) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.0 KB");
  EXPECT_EQ(FormatBytes(1127), "1.1 KB");
  EXPECT_EQ(FormatBytes(1024 * 1024 - 1), "1.0 MB");
  EXPECT_EQ(FormatBytes(25690112), "24.5 MB");
  EXPECT_EQ(FormatBytes(uint64_t{3} << 30), "3.0 GB");
  EXPECT_EQ(FormatBytes(UINT64_MAX), "16.0 EB");
}

TEST(UnitsTest, CountsInFull) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1234), "1,234");
  EXPECT_EQ(FormatCount(-12345678), "-12,345,678");
  EXPECT_EQ(FormatCount(100000), "100,000");
  EXPECT_EQ(FormatCount(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(UnitsTest, CountsInShort) {
  EXPECT_EQ(FormatCountShort(0), "0");
  EXPECT_EQ(FormatCountShort(999), "999");
  EXPECT_EQ(FormatCountShort(1000), "1.0K");
  EXPECT_EQ(FormatCountShort(1234567), "1.2M");
  EXPECT_EQ(FormatCountShort(999999), "1.0M");
  EXPECT_EQ(FormatCountShort(25583592), "25.6M");
  EXPECT_EQ(FormatCountShort(-1800000000), "-1.8B");
  EXPECT_EQ(FormatCountShort(3000000000000), "3.0T");
  EXPECT_EQ(FormatCountShort(INT64_MIN), "-9223.4Q");
}

TEST(UnitsTest, Durations) {
  EXPECT_EQ(FormatDuration(0), "0 ns");
  EXPECT_EQ(FormatDuration(850), "850 ns");
  EXPECT_EQ(FormatDuration(1000), "1 us");
  EXPECT_EQ(FormatDuration(12340), "12.3 us");
  EXPECT_EQ(FormatDuration(999499), "999 us");
  EXPECT_EQ(FormatDuration(999500), "1 ms");
  EXPECT_EQ(FormatDuration(4520000), "4.52 ms");
  EXPECT_EQ(FormatDuration(648000000), "648 ms");
  EXPECT_EQ(FormatDuration(1230000000), "1.23 s");
  EXPECT_EQ(FormatDuration(59940000000), "59.9 s");
  EXPECT_EQ(FormatDuration(59960000000), "1 min 0 s");
  EXPECT_EQ(FormatDuration(125000000000), "2 min 5 s");
  EXPECT_EQ(FormatDuration(3725000000000), "1 h 2 min");
  EXPECT_EQ(FormatDuration(-1500), "-1.5 us");
}

TEST(UnitsTest, RoundingNeverShowsAThousand) {
  EXPECT_EQ(FormatDuration(9995), "10 us");
  EXPECT_EQ(FormatDuration(99950), "100 us");
}

}  // namespace
}  // namespace flowscope
