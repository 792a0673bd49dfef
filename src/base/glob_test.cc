#include "base/glob.h"

#include <string>

#include <gtest/gtest.h>

namespace flowscope {
namespace {

TEST(GlobTest, LiteralsMatchThemselvesOnly) {
  EXPECT_TRUE(GlobMatch("", ""));
  EXPECT_TRUE(GlobMatch("relu_1", "relu_1"));
  EXPECT_FALSE(GlobMatch("relu", "relu_1"));
  EXPECT_FALSE(GlobMatch("relu_1", "relu"));
  EXPECT_FALSE(GlobMatch("", "a"));
  EXPECT_FALSE(GlobMatch("Relu", "relu"));
}

TEST(GlobTest, AStarIsAnyRun) {
  EXPECT_TRUE(GlobMatch("*", ""));
  EXPECT_TRUE(GlobMatch("*", "encoder.blocks.3"));
  EXPECT_TRUE(GlobMatch("blocks.*.attn", "blocks.3.attn"));
  EXPECT_TRUE(GlobMatch("blocks.*.attn", "blocks.3.inner/x.attn"));
  EXPECT_FALSE(GlobMatch("blocks.*.attn", "blocks.attn"));
  EXPECT_TRUE(GlobMatch("*attn*", "x.attn"));
  EXPECT_TRUE(GlobMatch("a**b", "ab"));
  EXPECT_FALSE(GlobMatch("*.attn", "blocks.3.attn.query"));
}

TEST(GlobTest, TheLastStarGetsAnotherTry) {
  EXPECT_TRUE(GlobMatch("*ab", "aab"));
  EXPECT_TRUE(GlobMatch("a*b*c", "a_b_b_c"));
  EXPECT_TRUE(GlobMatch("*a?c", "abcaxc"));
  EXPECT_FALSE(GlobMatch("a*b*c", "a_c_b"));
}

TEST(GlobTest, AQuestionMarkIsOneByte) {
  EXPECT_TRUE(GlobMatch("relu_?", "relu_1"));
  EXPECT_FALSE(GlobMatch("relu_?", "relu_"));
  EXPECT_FALSE(GlobMatch("relu_?", "relu_12"));
  EXPECT_TRUE(GlobMatch("???", "a.b"));
}

TEST(GlobTest, Sets) {
  EXPECT_TRUE(GlobMatch("block[135]", "block3"));
  EXPECT_FALSE(GlobMatch("block[135]", "block2"));
  EXPECT_TRUE(GlobMatch("block[0-9].x", "block7.x"));
  EXPECT_FALSE(GlobMatch("block[0-9]", "blocka"));
  EXPECT_TRUE(GlobMatch("[!0-9]", "a"));
  EXPECT_FALSE(GlobMatch("[!0-9]", "5"));
  EXPECT_TRUE(GlobMatch("[a-cx-z]*", "yes"));
  EXPECT_FALSE(GlobMatch("[a-c]", ""));
}

TEST(GlobTest, OddSets) {
  EXPECT_TRUE(GlobMatch("[]]", "]"));
  EXPECT_TRUE(GlobMatch("[!]]", "a"));
  EXPECT_FALSE(GlobMatch("[!]]", "]"));
  EXPECT_TRUE(GlobMatch("[a-]", "-"));
  EXPECT_TRUE(GlobMatch("[-a]", "-"));
  EXPECT_TRUE(GlobMatch("[*]", "*"));
  EXPECT_FALSE(GlobMatch("[*]", "a"));
  EXPECT_FALSE(GlobMatch("[z-a]", "m"));
  EXPECT_TRUE(GlobMatch("[\xe0-\xff]", "\xf0"));
}

TEST(GlobTest, AnOpenBracketWithoutItsEndIsItself) {
  EXPECT_TRUE(GlobMatch("a[", "a["));
  EXPECT_TRUE(GlobMatch("a[bc", "a[bc"));
  EXPECT_FALSE(GlobMatch("a[bc", "ab"));
  EXPECT_TRUE(GlobMatch("[]", "[]"));
  EXPECT_TRUE(GlobMatch("[!]", "[!]"));
}

TEST(GlobTest, ManyStarsEndSoon) {
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "a*";
  EXPECT_FALSE(GlobMatch(pattern + "b", std::string(4000, 'a')));
}

TEST(GlobTest, HasGlob) {
  EXPECT_FALSE(HasGlob("encoder.blocks.3"));
  EXPECT_TRUE(HasGlob("blocks.*"));
  EXPECT_TRUE(HasGlob("relu_?"));
  EXPECT_TRUE(HasGlob("block[12]"));
}

}  // namespace
}  // namespace flowscope
