#include "base/content_hash.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/payload_testing.h"
#include "base/stats.h"

namespace flowscope {
namespace {

std::string HashOf(DType dtype, Dims dims, const std::vector<int32_t>& values) {
  return ContentHash(MakePayload(dtype, std::move(dims), values));
}

TEST(ContentHashTest, EqualContentHasEqualHash) {
  const Payload payload = MakePayload<int32_t>(DType::kInt32, {2, 2}, {1, 2, 3, 4});
  const std::string hash = ContentHash(payload);
  EXPECT_EQ(hash.size(), 32u);
  EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(ContentHash(Misaligned(payload, 3)), hash);
  EXPECT_EQ(HashOf(DType::kInt32, {2, 2}, {1, 2, 3, 4}), hash);
}

TEST(ContentHashTest, TextAndNumberAreTheSame) {
  const ContentKey key{0x0123456789abcdef, 0x8};
  EXPECT_EQ(key.Hex(), "0123456789abcdef0000000000000008");
  EXPECT_TRUE(ContentKey::FromHex(key.Hex()) == key);
  for (const char* wrong :
       {"", "0123456789abcdef000000000000000", "0123456789ABCDEF0000000000000008",
        "0123456789abcdef-000000000000008", "0123456789abcdefx00000000000000x"}) {
    EXPECT_FALSE(ContentKey::FromHex(wrong).has_value()) << wrong;
  }
}

TEST(ContentHashTest, DTypeShapeAndBytesAllCount) {
  std::set<std::string> hashes;
  hashes.insert(HashOf(DType::kInt32, {4}, {1, 2, 3, 4}));
  hashes.insert(HashOf(DType::kUint32, {4}, {1, 2, 3, 4}));
  hashes.insert(HashOf(DType::kInt32, {2, 2}, {1, 2, 3, 4}));
  hashes.insert(HashOf(DType::kInt32, {1, 4}, {1, 2, 3, 4}));
  hashes.insert(HashOf(DType::kInt32, {4}, {1, 2, 3, 5}));
  hashes.insert(HashOf(DType::kInt32, {0}, {}));
  hashes.insert(HashOf(DType::kInt32, {0, 0}, {}));
  hashes.insert(HashOf(DType::kInt32, {}, {1}));
  EXPECT_EQ(hashes.size(), 8u);
}

TEST(ContentHashTest, ZerosOfEitherSignDiffer) {
  EXPECT_NE(ContentHash(MakePayload<float>(DType::kFloat32, {0.0f})),
            ContentHash(MakePayload<float>(DType::kFloat32, {-0.0f})));
}

TEST(ContentHashTest, StringsKeepTheirBorders) {
  std::set<std::string> hashes;
  hashes.insert(ContentHash(MakeStrings({2}, {"ab", "c"})));
  hashes.insert(ContentHash(MakeStrings({2}, {"a", "bc"})));
  hashes.insert(ContentHash(MakeStrings({2}, {"abc", ""})));
  hashes.insert(ContentHash(MakeStrings({1}, {"abc"})));
  EXPECT_EQ(hashes.size(), 4u);
  EXPECT_EQ(ContentHash(MakeStrings({2}, {"ab", "c"})), ContentHash(MakeStrings({2}, {"ab", "c"})));
}

}  // namespace
}  // namespace flowscope
