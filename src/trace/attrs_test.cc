#include "trace/attrs.h"

#include <limits>

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

namespace flowscope {
namespace {

using protozero::pbf_writer;

// A serialized message that `write` fills.
template <typename Write>
std::string Message(Write write) {
  std::string bytes;
  pbf_writer writer(bytes);
  write(writer);
  return bytes;
}

std::string String(const std::string& value) {
  return Message([&](pbf_writer& attr) { attr.add_string(2, value); });
}
std::string Int(int64_t value) {
  return Message([&](pbf_writer& attr) { attr.add_int64(3, value); });
}
std::string Float(float value) {
  return Message([&](pbf_writer& attr) { attr.add_float(4, value); });
}
std::string Bool(bool value) {
  return Message([&](pbf_writer& attr) { attr.add_bool(5, value); });
}
std::string Type(int32_t value) {
  return Message([&](pbf_writer& attr) { attr.add_enum(6, value); });
}

// Messages go in as bytes, because a nested pbf_writer leaves out an empty one.
void WriteShape(pbf_writer& parent, uint32_t field, const std::vector<int64_t>& dims) {
  parent.add_message(field, Message([&](pbf_writer& shape) {
                       for (const int64_t dim : dims) {
                         shape.add_message(2, Message([&](pbf_writer& message) {
                                             if (dim != 0) message.add_int64(1, dim);
                                           }));
                       }
                     }));
}

std::string Shape(const std::vector<int64_t>& dims) {
  return Message([&](pbf_writer& attr) { WriteShape(attr, 7, dims); });
}
std::string UnknownShape() {
  return Message([](pbf_writer& attr) { pbf_writer(attr, 7).add_bool(3, true); });
}
std::string Func(const std::string& name) {
  return Message([&](pbf_writer& attr) {
    pbf_writer func(attr, 10);
    func.add_string(1, name);
    pbf_writer(func, 2).add_string(1, "T");
  });
}
std::string Tensor() {
  return Message([](pbf_writer& attr) {
    pbf_writer tensor(attr, 8);
    tensor.add_enum(1, 3);
    WriteShape(tensor, 2, {2, 3});
    tensor.add_string(4, std::string(24, '\1'));
  });
}

template <typename Write>
std::string List(Write write) {
  return Message([&](pbf_writer& attr) { attr.add_message(1, Message(write)); });
}
std::string IntList(const std::vector<int64_t>& values) {
  return List([&](pbf_writer& list) { list.add_packed_int64(3, values.begin(), values.end()); });
}

AttrData Decode(const std::string& bytes) {
  Result<AttrData> data = DecodeAttr(bytes);
  EXPECT_TRUE(data.ok()) << data.status().ToString();
  return data.ok() ? *data : AttrData();
}

TEST(DecodeAttr, GivesEachKindItsValue) {
  EXPECT_EQ(Decode(String("SAME")).scalar, AttrScalar(std::string("SAME")));
  EXPECT_EQ(Decode(Int(-5)).scalar, AttrScalar(int64_t{-5}));
  EXPECT_EQ(Decode(Int(std::numeric_limits<int64_t>::min())).scalar,
            AttrScalar(std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(Decode(Float(0.5f)).scalar, AttrScalar(0.5));
  EXPECT_EQ(Decode(Bool(false)).scalar, AttrScalar(false));
  EXPECT_EQ(Decode(Type(1)).scalar, AttrScalar(std::string("float32")));
  EXPECT_EQ(Decode(Type(101)).scalar, AttrScalar(std::string("float32_ref")));
  EXPECT_EQ(Decode(Shape({2, -1, 0})).scalar, AttrScalar(std::vector<int64_t>{2, -1, 0}));
  EXPECT_EQ(Decode(Shape({})).scalar, AttrScalar(std::vector<int64_t>{}));
  EXPECT_EQ(Decode(Func("body_7")).scalar, AttrScalar(std::string("body_7")));
}

TEST(DecodeAttr, NamesTheKind) {
  EXPECT_EQ(Decode(String("")).kind, "string");
  EXPECT_EQ(Decode(Int(0)).kind, "int");
  EXPECT_EQ(Decode(Float(0)).kind, "float");
  EXPECT_EQ(Decode(Bool(false)).kind, "bool");
  EXPECT_EQ(Decode(Type(0)).kind, "type");
  EXPECT_EQ(Decode(Shape({})).kind, "shape");
  EXPECT_EQ(Decode(Func("")).kind, "func");
  EXPECT_EQ(Decode("").kind, "none");
  EXPECT_EQ(Decode(IntList({1})).kind, "list");
}

TEST(DecodeAttr, HasNoValueForTensorsAndUnknownRanks) {
  EXPECT_EQ(Decode(Tensor()).kind, "tensor");
  EXPECT_EQ(Decode(Tensor()).scalar, AttrScalar());
  EXPECT_EQ(Decode(UnknownShape()).kind, "shape");
  EXPECT_EQ(Decode(UnknownShape()).scalar, AttrScalar());
}

TEST(DecodeAttr, ReadsListsPackedOrNot) {
  const AttrData packed = Decode(IntList({1, -2, 3}));
  EXPECT_EQ(packed.list_kind, "int");
  EXPECT_EQ(packed.list, (std::vector<AttrScalar>{int64_t{1}, int64_t{-2}, int64_t{3}}));
  const AttrData loose = Decode(List([](pbf_writer& list) {
    list.add_int64(3, 1);
    list.add_int64(3, -2);
    list.add_int64(3, 3);
  }));
  EXPECT_EQ(loose.list, packed.list);

  const AttrData mixed_width = Decode(List([](pbf_writer& list) {
    const std::vector<float> floats = {0.5f, 2};
    list.add_packed_float(4, floats.begin(), floats.end());
  }));
  EXPECT_EQ(mixed_width.list, (std::vector<AttrScalar>{0.5, 2.0}));
  EXPECT_EQ(Decode(List([](pbf_writer&) {})).list_kind, "none");
}

TEST(DecodeAttr, ReadsListsOfMessages) {
  const AttrData functions = Decode(List([](pbf_writer& list) {
    pbf_writer(list, 9).add_string(1, "then");
    pbf_writer(list, 9).add_string(1, "else");
  }));
  EXPECT_EQ(functions.list_kind, "func");
  EXPECT_EQ(functions.list, (std::vector<AttrScalar>{std::string("then"), std::string("else")}));
  const AttrData shapes = Decode(List([](pbf_writer& list) {
    WriteShape(list, 7, {1});
    pbf_writer(list, 7).add_bool(3, true);
  }));
  EXPECT_EQ(shapes.list_kind, "shape");
  EXPECT_EQ(shapes.list, (std::vector<AttrScalar>{std::vector<int64_t>{1}, std::monostate()}));
}

TEST(FormatAttr, PrintsEachKind) {
  EXPECT_EQ(FormatAttr(String("SAME")), "\"SAME\"");
  EXPECT_EQ(FormatAttr(String("a\"b\\\n\x01\xff")), R"("a\"b\\\n\x01\xff")");
  EXPECT_EQ(FormatAttr(Int(-7)), "-7");
  EXPECT_EQ(FormatAttr(Bool(true)), "true");
  EXPECT_EQ(FormatAttr(Type(14)), "type: bfloat16");
  EXPECT_EQ(FormatAttr(Type(5000)), "type: dtype 5000");
  EXPECT_EQ(FormatAttr(Shape({2, -1})), "shape: [2, ?]");
  EXPECT_EQ(FormatAttr(UnknownShape()), "shape: ?");
  EXPECT_EQ(FormatAttr(Func("body_7")), "func: body_7");
  EXPECT_EQ(FormatAttr(Tensor()), "tensor: int32[2, 3]");
  EXPECT_EQ(FormatAttr(""), "none");
}

TEST(FormatAttr, PrintsFloatsAsTheyReadBack) {
  EXPECT_EQ(FormatAttr(Float(0.001f)), "0.001");
  EXPECT_EQ(FormatAttr(Float(2)), "2.0");
  EXPECT_EQ(FormatAttr(Float(-1e30f)), "-1e+30");
  EXPECT_EQ(FormatAttr(Float(std::numeric_limits<float>::infinity())), "inf");
}

TEST(FormatAttr, PrintsListsAndSaysWhatItLeavesOut) {
  EXPECT_EQ(FormatAttr(IntList({1, 2, 2, 1})), "[1, 2, 2, 1]");
  EXPECT_EQ(FormatAttr(IntList({})), "[]");
  const std::vector<int32_t> types = {1, 3};
  EXPECT_EQ(FormatAttr(List(
                [&](pbf_writer& list) { list.add_packed_enum(6, types.begin(), types.end()); })),
            "[float32, int32]");
  EXPECT_EQ(FormatAttr(List([](pbf_writer& list) { list.add_string(2, "NHWC"); })), "[\"NHWC\"]");
  const std::string many = FormatAttr(IntList(std::vector<int64_t>(100, 1)));
  EXPECT_NE(many.find("... (100)]"), std::string::npos) << many;
  const std::string large = FormatAttr(String(std::string(5000, 'x')));
  EXPECT_NE(large.find("... (5000 bytes)"), std::string::npos);
}

TEST(SplitAttrs, KeepsEachValueAsBytes) {
  const std::string list = Message([](pbf_writer& list) {
    list.add_string(1, "Conv2D");
    for (const auto& [key, value] : std::map<std::string, std::string>{
             {"T", Type(1)}, {"strides", IntList({1, 2})}, {"", ""}}) {
      pbf_writer entry(list, 2);
      entry.add_string(1, key);
      entry.add_string(2, value);
    }
  });
  const auto attrs = SplitAttrs(list);
  ASSERT_TRUE(attrs.ok());
  EXPECT_EQ(attrs->size(), 3u);
  EXPECT_EQ(attrs->at("T"), Type(1));
  EXPECT_EQ(FormatAttr(attrs->at("strides")), "[1, 2]");
  EXPECT_TRUE(SplitAttrs("")->empty());
}

TEST(Attrs, MalformedBytesAreCorruption) {
  EXPECT_EQ(SplitAttrs("\x12\x7f").status().code(), StatusCode::kCorruption);
  EXPECT_EQ(DecodeAttr("\x12\x7f").status().code(), StatusCode::kCorruption);
  EXPECT_EQ(DecodeAttr("\x28").status().code(), StatusCode::kCorruption);
  EXPECT_EQ(FormatAttr("\x12\x7f").substr(0, 19), "malformed attribute");
}

TEST(Attrs, AKnownFieldOfAnotherWireTypeIsSkipped) {
  const std::string bytes = Message([](pbf_writer& attr) {
    attr.add_fixed64(3, 9);
    attr.add_fixed32(2, 9);
    attr.add_int64(7, 9);
    attr.add_bool(5, true);
  });
  EXPECT_EQ(FormatAttr(bytes), "true");
}

// Sanitizers watch over what is read.
TEST(Attrs, SurviveEveryCutAndChange) {
  const std::vector<std::string> attrs = {String("SAME"), Int(-5),         Float(1),
                                          Type(1),        Shape({2, -1}),  Func("f"),
                                          Tensor(),       IntList({1, 2}), UnknownShape()};
  for (const std::string& bytes : attrs) {
    for (size_t length = 0; length < bytes.size(); ++length) {
      const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length));
      const std::string_view view(cut.data(), cut.size());
      EXPECT_EQ(DecodeAttr(view).ok(), FormatAttr(view).find("malformed") == std::string::npos);
    }
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string changed = bytes;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
      EXPECT_FALSE(FormatAttr(changed).empty());
    }
  }
}

}  // namespace
}  // namespace flowscope
