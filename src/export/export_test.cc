#include "export/export.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyze/tables.h"
#include "export/csv.h"
#include "export/npy.h"
#include "trace/testing.h"

namespace flowscope::exports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ExportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "export-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Bytes(const std::string& name) const {
    std::stringstream bytes;
    bytes << std::ifstream(Path(name), std::ios::binary).rdbuf();
    return bytes.str();
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  Result<Exported> Write(const Trace& trace, const std::string& name, ExportOptions options = {}) {
    return Export(trace, AllOps(trace), Path(name), options);
  }

 private:
  std::string folder_;
};

// Bytes, floats and strings, and an op without a value.
std::shared_ptr<const Trace> MakeMixed() {
  TraceMaker m;
  const TensorId x = m.Input("x", {3}, {1, 2, 3});
  m.SetValue<uint8_t>(m.Op("Cast", {x}), DType::kUint8, {7, 8, 9});
  m.SetStrings(m.Op("AsString", {x}), {"a", "", "ccc"});
  m.Op("Neg", {x}, {.dims = {3}, .state = PayloadState::kNotKept});
  return m.Finish();
}

uint64_t LengthOf(const std::string& bytes) {
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  return length;
}

TEST_F(ExportTest, SafetensorsHasNoHolesAndWideElementsFirst) {
  const Result<Exported> exported = Write(*MakeMixed(), "v.safetensors");
  ASSERT_TRUE(exported.ok()) << exported.status().ToString();
  EXPECT_EQ(exported->num_values, 3U);
  EXPECT_EQ(exported->not_kept, 1U);
  const std::string bytes = Bytes("v.safetensors");
  const uint64_t length = LengthOf(bytes);
  EXPECT_EQ(length % 8, 0U);
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  EXPECT_EQ(header["input_1_1:1"]["dtype"], "F32");
  EXPECT_EQ(header["input_1_1:1"]["data_offsets"], (std::array{0, 12}));
  EXPECT_EQ(header["cast_1_2:1"]["data_offsets"], (std::array{12, 15}));
  EXPECT_EQ(header["asstring_1_3:1"]["data_offsets"], (std::array{15, 15 + 4 * 8 + 4}));
  const auto told =
      nlohmann::json::parse(header["__metadata__"]["asstring_1_3:1"].get<std::string>());
  EXPECT_EQ(told["dtype"], "string");
  EXPECT_EQ(told["shape"], (std::array{3}));
  EXPECT_EQ(header["__metadata__"].size(), 1U);
  EXPECT_EQ(bytes.size(), 8 + length + 15 + 36);
  EXPECT_EQ(bytes.substr(8 + length + 12, 3), "\x07\x08\x09");
}

TEST_F(ExportTest, NpzIsAZipOfArrays) {
  ASSERT_TRUE(Write(*MakeMixed(), "v.npz").ok());
  const std::string bytes = Bytes("v.npz");
  EXPECT_THAT(bytes, StartsWith("PK\x03\x04"));
  EXPECT_THAT(bytes, HasSubstr("cast_1_2:1.npy"));
  EXPECT_THAT(bytes, HasSubstr("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }"));
  EXPECT_THAT(bytes, HasSubstr("{'descr': '|S3', 'fortran_order': False, 'shape': (3,), }"));
}

TEST_F(ExportTest, NothingIsLeftBehind) {
  const auto trace = MakeMixed();
  EXPECT_EQ(Write(*trace, "v.txt").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Write(*trace, "v.parquet").status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(Write(*trace, "no/v.npz").status().code(), StatusCode::kIo);
  EXPECT_EQ(Write(*trace, "v.csv", {.table = "tables"}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_THAT(Names(), ElementsAre());
  ASSERT_TRUE(Write(*trace, "v.csv").ok());
  EXPECT_THAT(Write(*trace, "v.csv").status().message(), HasSubstr("exists"));
  EXPECT_TRUE(Write(*trace, "v.csv", {.overwrite = true}).ok());
  EXPECT_THAT(Names(), ElementsAre("v.csv"));
}

TEST_F(ExportTest, OnlyOpsWithoutAValueIsAnError) {
  const auto trace = MakeMixed();
  const std::vector<OpId> neg = {3};
  EXPECT_EQ(Export(*trace, neg, Path("v.npz"), {}).status().code(), StatusCode::kUnavailable);
}

TEST_F(ExportTest, ASelectionGoesWithTablesOfOps) {
  const auto trace = MakeMixed();
  const std::vector<OpId> one = {1};
  EXPECT_TRUE(CsvOf(*trace, one, "stats").ok());
  EXPECT_THAT(CsvOf(*trace, one, "layers").status().message(), HasSubstr("selection"));
}

TEST(Csv, QuotesWhatNeedsItAndTellsEmptyFromMissing) {
  Table table;
  table.columns.push_back(
      {"text", Column::Strings{"a,b", "say \"no\"", "", "x", "line\nbreak"}, {1, 1, 1, 0, 1}});
  table.columns.push_back({"flag", Column::Bools{1, 0, 1, 0, 1}, {}});
  table.columns.push_back({"number", Column::Doubles{0.1, 1e300, -0.0, 2, 1.0 / 3}, {}});
  EXPECT_EQ(ToCsv(table),
            "text,flag,number\r\n"
            "\"a,b\",true,0.1\r\n"
            "\"say \"\"no\"\"\",false,1e+300\r\n"
            "\"\",true,-0\r\n"
            ",false,2\r\n"
            "\"line\nbreak\",true,0.3333333333333333\r\n");
}

TEST(Npy, NamesDTypesAsNumPyDoes) {
  const auto descr = [](DType dtype) {
    Payload value;
    value.dtype = dtype;
    value.dims = {0};
    const Result<NpyArray> array = ToNpy(value);
    if (!array.ok()) return array.status().ToString();
    EXPECT_EQ(array->header.size() % 64, 0U);
    const size_t at = array->header.find("'descr': '") + 10;
    return array->header.substr(at, array->header.find('\'', at) - at);
  };
  EXPECT_EQ(descr(DType::kFloat32), "<f4");
  EXPECT_EQ(descr(DType::kBool), "|b1");
  EXPECT_EQ(descr(DType::kComplex128), "<c16");
  EXPECT_EQ(descr(DType::kBfloat16), "|V2");
  EXPECT_EQ(descr(DType::kFloat8E4m3fn), "|V1");
  EXPECT_EQ(descr(DType::kQint32), "<i4");
  EXPECT_EQ(descr(DType::kUint4), "|u1");
  EXPECT_THAT(descr(DType::kVariant), HasSubstr("unsupported"));
}

}  // namespace
}  // namespace flowscope::exports
