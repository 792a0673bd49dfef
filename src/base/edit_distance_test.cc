#include "base/edit_distance.h"

#include <gtest/gtest.h>

namespace flowscope {
namespace {

TEST(EditDistanceTest, KnownDistances) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("abc", "abc"), 0u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("abc", ""), 3u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("relu", "relus"), 1u);
  EXPECT_EQ(EditDistance("relu", "rlu"), 1u);
}

TEST(EditDistanceTest, SwappedNeighboursAreOneEdit) {
  EXPECT_EQ(EditDistance("ab", "ba"), 1u);
  EXPECT_EQ(EditDistance("dense", "desne"), 1u);
  EXPECT_EQ(EditDistance("ca", "abc"), 2u);  // swap, then put b between
  EXPECT_EQ(EditDistance("a\xff",
                         "\xff"
                         "a"),
            1u);
}

TEST(EditDistanceTest, IsTheSameBothWays) {
  EXPECT_EQ(EditDistance("saturday", "sunday"), EditDistance("sunday", "saturday"));
  EXPECT_EQ(EditDistance("saturday", "sunday"), 3u);
}

using Names = std::vector<std::string>;

TEST(NearestTest, OrdersByDistanceThenByPlace) {
  const std::string_view candidates[] = {"dense_2", "dense", "dens", "conv2d", "dense_1"};
  EXPECT_EQ(Nearest("dense", candidates, 5), (Names{"dense", "dens", "dense_2", "dense_1"}));
  EXPECT_EQ(Nearest("dense", candidates, 2), (Names{"dense", "dens"}));
  EXPECT_EQ(Nearest("dense", candidates, 0), Names{});
}

TEST(NearestTest, IgnoresCase) {
  const std::string_view candidates[] = {"MatMul", "Relu"};
  EXPECT_EQ(Nearest("matmull", candidates, 3), Names{"MatMul"});
}

TEST(NearestTest, FindsWhatContainsTheQuery) {
  const std::string_view candidates[] = {"encoder.block.0.attention", "decoder", "atention"};
  EXPECT_EQ(Nearest("attention", candidates, 3), (Names{"atention", "encoder.block.0.attention"}));
}

TEST(NearestTest, NothingNearGivesNothing) {
  const std::string_view candidates[] = {"conv2d", "softmax"};
  EXPECT_EQ(Nearest("gru", candidates, 3), Names{});
  EXPECT_EQ(Nearest("x", {}, 3), Names{});
}

TEST(NearestTest, EqualCandidatesComeOnce) {
  const std::string_view candidates[] = {"relu", "relu", "relu"};
  EXPECT_EQ(Nearest("rellu", candidates, 3), Names{"relu"});
}

}  // namespace
}  // namespace flowscope
