#include "trace/lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/testing.h"

namespace flowscope {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Two blocks that share a layer, a convolution by its automatic name, and variables:
//   op 0 input_1_1, 1 readvariableop_1_2, 2 matmul_1_3:1, 3 relu_1_4, 4 readvariableop_1_2:2,
//   5 matmul_1_3:2, 6 conv2d_1_5, 7 conv2d_2_6
class LookupTest : public ::testing::Test {
 protected:
  LookupTest() {
    const TensorId x = m_.Input("x", {2});
    kernel_ = m_.Variable("encoder.dense.kernel", {2}, {.aliases = {"tied.kernel"}});
    m_.Module("self");
    m_.Module("encoder");
    dense_ = m_.Module("encoder.dense", {.aliases = {"dense_7", "decoder.dense"}});
    m_.Module("encoder.conv", {.class_name = "Conv2D", .aliases = {"conv2d_1"}});
    m_.Module("never", {.aliases = {"never_3"}});
    m_.Call("self", [&] {
      m_.Call("encoder", [&] {
        m_.Call("encoder.dense", [&] { m_.Op("MatMul", {m_.Read(kernel_), x}); });
        m_.Op("Relu", {x});
        m_.Call("encoder.dense", [&] { m_.Op("MatMul", {m_.Read(kernel_), x}); });
        m_.Call("encoder.conv", [&] { m_.Op("Conv2D", {m_.Op("Conv2D", {x})}); });
      });
    });
    trace_ = m_.Finish();
    lookup_ = std::make_unique<Lookup>(*trace_);
  }

  std::string Find(std::string_view key) const {
    const Result<Entity> found = lookup_->Find(key);
    return found.ok() ? DescribeEntity(*trace_, *found) : found.status().ToString();
  }

  TraceMaker m_;
  VariableId kernel_ = 0;
  ModuleId dense_ = 0;
  std::shared_ptr<const Trace> trace_;
  std::unique_ptr<Lookup> lookup_;
};

TEST_F(LookupTest, Addresses) {
  EXPECT_EQ(Find("encoder.dense"), "module encoder.dense");
  EXPECT_EQ(Find("self"), "module self");
  EXPECT_EQ(Find("encoder.dense.kernel"), "variable encoder.dense.kernel");
  EXPECT_EQ(lookup_->Find("encoder.dense").value(), (Entity{EntityKind::kModule, dense_}));
}

TEST_F(LookupTest, CallsOfAModule) {
  EXPECT_EQ(Find("encoder.dense:2"), "module call encoder.dense:2");
  EXPECT_EQ(Find("encoder:1"), "module call encoder:1");
}

TEST_F(LookupTest, ALayerWithOnePassStandsForItsOp) {
  EXPECT_EQ(Find("relu_1_4"), "op relu_1_4:1");
  EXPECT_EQ(Find("relu_1"), "op relu_1_4:1");
  EXPECT_EQ(Find("relu_1_4:1"), "op relu_1_4:1");
  EXPECT_EQ(Find("relu_1:1"), "op relu_1_4:1");
}

TEST_F(LookupTest, ALayerWithSeveralPassesStaysALayer) {
  EXPECT_EQ(Find("matmul_1_3"), "layer matmul_1_3");
  EXPECT_EQ(Find("matmul_1"), "layer matmul_1_3");
  EXPECT_EQ(Find("matmul_1_3:2"), "op matmul_1_3:2");
  EXPECT_EQ(Find("matmul_1:1"), "op matmul_1_3:1");
}

TEST_F(LookupTest, AModuleWithOneCallStaysAModule) {
  EXPECT_EQ(Find("encoder.conv"), "module encoder.conv");
}

TEST_F(LookupTest, Aliases) {
  EXPECT_EQ(Find("dense_7"), "module encoder.dense");
  EXPECT_EQ(Find("decoder.dense"), "module encoder.dense");
  EXPECT_EQ(Find("dense_7:2"), "module call encoder.dense:2");
  EXPECT_EQ(Find("tied.kernel"), "variable encoder.dense.kernel");
}

TEST_F(LookupTest, AShortLabelThatIsAnAliasTooIsAmbiguous) {
  const Result<Entity> found = lookup_->Find("conv2d_1");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::kAmbiguous);
  EXPECT_THAT(found.status().message(),
              AllOf(HasSubstr("op conv2d_1_5:1"), HasSubstr("module encoder.conv")));
  EXPECT_EQ(Find("conv2d_1_5"), "op conv2d_1_5:1");
}

TEST_F(LookupTest, UniqueSubstring) {
  EXPECT_EQ(Find("relu"), "op relu_1_4:1");
  EXPECT_EQ(Find("matmul"), "layer matmul_1_3");
  EXPECT_EQ(Find("matmul:2"), "op matmul_1_3:2");
  EXPECT_EQ(Find("nse_7"), "module encoder.dense");
  EXPECT_EQ(Find(".conv"), "module encoder.conv");
}

TEST_F(LookupTest, ASubstringOfSeveralThingsListsThem) {
  EXPECT_THAT(Find("dens"), AllOf(HasSubstr("ambiguous"), HasSubstr("module encoder.dense,"),
                                  HasSubstr("variable encoder.dense.kernel")));
  EXPECT_EQ(lookup_->Find("conv2d").status().code(), StatusCode::kAmbiguous);
}

TEST_F(LookupTest, AMissNamesWhatIsNear) {
  EXPECT_THAT(Find("encoder.dence"), AllOf(HasSubstr("not found"), HasSubstr("encoder.dense")));
  EXPECT_THAT(Find("relu_9"), HasSubstr("relu_1"));
  EXPECT_EQ(lookup_->Find("zzzzzzzzzz").status().code(), StatusCode::kNotFound);
}

TEST_F(LookupTest, PathsWithAliases) {
  EXPECT_EQ(Find("dense_7.kernel"), "variable encoder.dense.kernel");
  EXPECT_EQ(Find("decoder.dense.kernel"), "variable encoder.dense.kernel");
  EXPECT_EQ(Find("encoder.dense_7"), "module encoder.dense");
  EXPECT_EQ(Find("encoder.conv2d_1"), "module encoder.conv");
  EXPECT_EQ(Find("self.encoder.dense"), "module encoder.dense");
  EXPECT_EQ(Find("self.encoder.dense:2"), "module call encoder.dense:2");
  EXPECT_THAT(Find("self.encoder.dense:3"), HasSubstr("module encoder.dense has 2 calls"));
  EXPECT_EQ(lookup_->Find("never.dense_7").status().code(), StatusCode::kNotFound);
}

TEST_F(LookupTest, AnInputGoesByItsName) { EXPECT_EQ(Find("x"), "op input_1_1:1"); }

TEST_F(LookupTest, AMissBelowAModuleSaysWhatItHolds) {
  EXPECT_THAT(Find("encoder.zzzzzzzzzzzz"), HasSubstr("encoder holds encoder.dense, encoder.conv"));
}

TEST_F(LookupTest, AMissedGlobSaysWhoTakesGlobs) {
  EXPECT_THAT(Find("encoder.d*"), HasSubstr("trace.find_sites(\"encoder.d*\")"));
  EXPECT_THAT(Find("zzzzzzzz*"), HasSubstr("trace.find_sites(\"zzzzzzzz*\")"));
}

TEST(Lookup, AModuleNameThatSeveralHaveListsThem) {
  TraceMaker m;
  m.Module("a", {.name = "same"});
  m.Module("b", {.name = "same"});
  m.Module("c");
  m.Module("c.same", {.name = "same"});
  const auto trace = m.Finish();
  const Result<Entity> found = Lookup(*trace).Find("same");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::kAmbiguous);
  EXPECT_THAT(found.status().message(),
              AllOf(HasSubstr("module a,"), HasSubstr("module b,"), HasSubstr("module c.same")));
}

TEST_F(LookupTest, AMissedNumberSaysHowManyThereAre) {
  EXPECT_THAT(Find("matmul_1_3:3"), HasSubstr("layer matmul_1_3 has 2 passes"));
  EXPECT_THAT(Find("relu_1:0"), HasSubstr("layer relu_1_4 has 1 pass"));
  EXPECT_THAT(Find("encoder.dense:9"), HasSubstr("module encoder.dense has 2 calls"));
  EXPECT_THAT(Find("never:1"), HasSubstr("module never has 0 calls"));
  EXPECT_THAT(Find("dense_7:3"), HasSubstr("module encoder.dense has 2 calls"));
}

TEST_F(LookupTest, SpellingIsExact) {
  EXPECT_EQ(lookup_->Find("").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(lookup_->Find("relu_01_4").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(lookup_->Find("relu_1_99999999999").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(lookup_->Find("matmul_1_4").status().code(), StatusCode::kNotFound);
}

TEST_F(LookupTest, KeysAreSortedAndComplete) {
  const std::vector<std::string> keys = lookup_->Keys();
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  for (const char* key : {"encoder.dense", "encoder.dense:2", "dense_7", "matmul_1_3", "matmul_1",
                          "matmul_1_3:2", "encoder.dense.kernel", "tied.kernel"}) {
    EXPECT_THAT(keys, Contains(key));
  }
  EXPECT_THAT(keys, Not(Contains("encoder.conv:1")));  // says no more than encoder.conv
  for (const std::string& key : keys) {
    EXPECT_NE(lookup_->Find(key).status().code(), StatusCode::kNotFound) << key;
  }
}

TEST(Lookup, AKeyThatMatchesTwoKindsListsBoth) {
  TraceMaker m;
  m.Call("relu_1", [&] { m.Op("Relu"); });
  m.Call("relu_1", [&] { m.Op("Relu"); });
  const auto trace = m.Finish();
  const Lookup lookup(*trace);
  for (const char* key : {"relu_1", "relu_1:2"}) {
    const Status status = lookup.Find(key).status();
    EXPECT_EQ(status.code(), StatusCode::kAmbiguous) << key;
    EXPECT_THAT(status.message(), AllOf(HasSubstr("module"), HasSubstr("relu_1_1")));
  }
  EXPECT_EQ(lookup.Find("relu_1_1").value(), (Entity{EntityKind::kLayer, 0}));
}

TEST(Lookup, AModuleAndAVariableOfOneAddressAreAmbiguous) {
  TraceMaker m;
  m.Module("w");
  m.Variable("w", {1});
  const auto trace = m.Finish();
  EXPECT_THAT(Lookup(*trace).Find("w").status().message(),
              AllOf(HasSubstr("module w"), HasSubstr("variable w")));
}

TEST(Lookup, TwoModulesOfOneAddressAreAmbiguous) {
  TraceMaker m;
  m.Module("dense");
  m.Module("dense");
  const auto trace = m.Finish();
  EXPECT_EQ(Lookup(*trace).Find("dense").status().code(), StatusCode::kAmbiguous);
}

TEST(Lookup, AnAliasOfTwoModulesIsAmbiguous) {
  TraceMaker m;
  m.Module("a", {.aliases = {"shared"}});
  m.Module("b", {.aliases = {"shared"}});
  const auto trace = m.Finish();
  EXPECT_THAT(Lookup(*trace).Find("shared").status().message(),
              AllOf(HasSubstr("module a"), HasSubstr("module b")));
}

TEST(Lookup, AnAddressComesBeforeAnAliasOfAnother) {
  TraceMaker m;
  m.Module("a", {.aliases = {"b"}});
  const ModuleId b = m.Module("b");
  const auto trace = m.Finish();
  EXPECT_EQ(Lookup(*trace).Find("b").value(), (Entity{EntityKind::kModule, b}));
}

TEST(Lookup, ALongListOfMatchesIsCut) {
  TraceMaker m;
  for (int i = 0; i < 20; ++i) m.Op("Abs");
  const auto trace = m.Finish();
  EXPECT_THAT(Lookup(*trace).Find("abs").status().message(),
              AllOf(HasSubstr("20 things"), HasSubstr("and 12 more")));
}

TEST(Lookup, NearKeysOfALongTraceComeFromTheirNumbers) {
  TraceMaker m;
  for (int i = 0; i < 1000; ++i) m.Op(i % 2 == 0 ? "MatMul" : "Relu");
  const auto trace = m.Finish();
  const Lookup lookup(*trace);
  EXPECT_THAT(lookup.Near("matmull_444", 3), Contains("matmul_444"));
  EXPECT_THAT(lookup.Near("matmul_444_888", 3), Contains("matmul_444_887"));
  EXPECT_THAT(lookup.Near("relu_444_887:1", 3), Contains("relu_444_888"));
}

TEST(Lookup, AnEmptyTraceFindsNothing) {
  TraceMaker m;
  const auto trace = m.Finish();
  EXPECT_EQ(Lookup(*trace).Find("dense").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(Lookup(*trace).Keys().empty());
}

}  // namespace
}  // namespace flowscope
