#include "interp/attr_value.h"

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "fake_runtime/function_writer.h"

namespace flowscope::interp {
namespace {

AttrValue Parse(const std::string& bytes) {
  const Result<AttrValue> value = ParseAttrValue(bytes);
  EXPECT_TRUE(value.ok()) << value.status().ToString();
  return value.ok() ? *value : AttrValue();
}

std::string MustSubstitute(const std::string& attr, const Bindings& bindings,
                           std::string& unbound) {
  const Result<std::string> value = Substitute(attr, bindings, unbound);
  EXPECT_TRUE(value.ok()) << value.status().ToString();
  return value.ok() ? *value : "";
}

TEST(AttrValueTest, TellsEveryKind) {
  EXPECT_EQ(Parse("").kind, AttrKind::kNone);
  EXPECT_EQ(Parse(fake::IntAttr(-3)).number, -3);
  EXPECT_EQ(Parse(fake::BoolAttr(true)).number, 1);
  EXPECT_EQ(Parse(fake::FloatAttr(0.5)).real, 0.5);
  EXPECT_EQ(Parse(fake::TypeAttr(DType::kInt32)).kind, AttrKind::kType);
  EXPECT_EQ(Parse(fake::ShapeAttr({1, 2})).kind, AttrKind::kShape);
  EXPECT_EQ(Parse(fake::TensorAttr({}, {1})).kind, AttrKind::kTensor);
  const std::string text = fake::StringAttr("SAME");
  EXPECT_EQ(Parse(text).bytes, "SAME");
  const std::string placeholder = fake::PlaceholderAttr("T");
  EXPECT_EQ(Parse(placeholder).kind, AttrKind::kPlaceholder);
  EXPECT_EQ(Parse(placeholder).bytes, "T");
}

TEST(AttrValueTest, CountsAListOfTypes) {
  const AttrValue value = Parse(fake::TypesAttr({DType::kFloat32, DType::kInt32, DType::kString}));
  EXPECT_EQ(value.kind, AttrKind::kList);
  EXPECT_EQ(value.num_types, 3u);
  EXPECT_EQ(Parse(fake::TypesAttr({})).num_types, 0u);
}

TEST(AttrValueTest, NamesFunctions) {
  const std::string one = fake::FuncAttr("f");
  ASSERT_EQ(Parse(one).functions.size(), 1u);
  EXPECT_EQ(Parse(one).functions[0].name, "f");
  const std::string many = fake::FunctionsAttr({"f", "g"});
  const AttrValue value = Parse(many);
  ASSERT_EQ(value.functions.size(), 2u);
  EXPECT_EQ(value.functions[1].name, "g");
}

TEST(AttrValueTest, AnUnknownFieldIsAnUnknownKind) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_string(77, "new");
  EXPECT_EQ(Parse(bytes).kind, AttrKind::kUnknown);
}

TEST(AttrValueTest, BadBytesAreCorrupt) {
  EXPECT_EQ(ParseAttrValue("\x12\x7f").status().code(), StatusCode::kCorruption);
  std::string unbound;
  EXPECT_EQ(Substitute("\x12\x7f", {}, unbound).status().code(), StatusCode::kCorruption);
}

TEST(AttrValueTest, ReadsAnInt32Scalar) {
  EXPECT_EQ(ScalarInt32(fake::IntTensorAttr({}, {7})), 7);
  EXPECT_EQ(ScalarInt32(fake::IntTensorAttr({2}, {7, 8})), std::nullopt);
  EXPECT_EQ(ScalarInt32(fake::TensorAttr({}, {7})), std::nullopt);
  EXPECT_EQ(ScalarInt32(fake::IntAttr(7)), std::nullopt);
  std::string content;
  {
    protozero::pbf_writer attr(content);
    protozero::pbf_writer tensor(attr, 8);
    tensor.add_enum(1, static_cast<int32_t>(DType::kInt32));
    tensor.add_string(4, std::string("\x05\0\0\0", 4));
  }
  EXPECT_EQ(ScalarInt32(content), 5);
}

TEST(SubstituteTest, PutsTheBoundValueInPlace) {
  std::string unbound;
  const Bindings bindings = {{"T", fake::TypeAttr(DType::kInt32)}};
  EXPECT_EQ(MustSubstitute(fake::PlaceholderAttr("T"), bindings, unbound),
            fake::TypeAttr(DType::kInt32));
  EXPECT_EQ(MustSubstitute(fake::IntAttr(4), bindings, unbound), fake::IntAttr(4));
  EXPECT_EQ(unbound, "");
}

TEST(SubstituteTest, NamesAPlaceholderWithoutAValue) {
  std::string unbound;
  EXPECT_EQ(MustSubstitute(fake::PlaceholderAttr("N"), {}, unbound), fake::PlaceholderAttr("N"));
  EXPECT_EQ(unbound, "N");
}

TEST(SubstituteTest, LooksIntoTheAttributesOfFunctions) {
  std::string unbound;
  const Bindings bindings = {{"T", fake::TypeAttr(DType::kInt32)}};
  EXPECT_EQ(MustSubstitute(fake::BoundFuncAttr("f", {{"U", fake::PlaceholderAttr("T")}}), bindings,
                           unbound),
            fake::BoundFuncAttr("f", {{"U", fake::TypeAttr(DType::kInt32)}}));
  EXPECT_EQ(MustSubstitute(fake::FunctionsAttr({"f", "g"}), bindings, unbound),
            fake::FunctionsAttr({"f", "g"}));
}

TEST(SubstituteTest, EndlessNestingIsCorrupt) {
  std::string attr = fake::PlaceholderAttr("T");
  for (int i = 0; i < 200; ++i) attr = fake::BoundFuncAttr("f", {{"U", attr}});
  std::string unbound;
  EXPECT_EQ(Substitute(attr, {}, unbound).status().code(), StatusCode::kCorruption);
}

}  // namespace
}  // namespace flowscope::interp
