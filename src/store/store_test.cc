// What is saved and loaded is the same, in every form that a file can have.
#include <cmath>
#include <limits>

#include "base/stats.h"
#include "store/fields.h"
#include "store/shard_writer.h"
#include "store/sqlite.h"
#include "store/testing.h"
#include "store/trace_format.h"

namespace flowscope::store {
namespace {

template <typename Record>
std::string CellsOf(const Record& record) {
  std::vector<Cell> cells;
  VisitFields(record, FieldWriter(cells));
  std::string text;
  for (const Cell& cell : cells) {
    text += cell.type == Cell::Type::kNull ? "none" : std::to_string(cell.integer);
    text += std::string(cell.text) + ",";
  }
  return text;
}

void ExpectSamePools(const StringPool& a, const StringPool& b) {
  ASSERT_EQ(a.size(), b.size());
  for (uint32_t id = 0; id < a.size(); ++id) EXPECT_EQ(a.View(id), b.View(id));
}

void ExpectSameTables(const TraceTables& a, const TraceTables& b) {
  ExpectSamePools(a.strings, b.strings);
  ExpectSamePools(a.attrs, b.attrs);
  ExpectSamePools(a.dims_pool, b.dims_pool);
  std::vector<std::string> left;
  std::vector<std::string> right;
  const auto collect = [](std::vector<std::string>& into) {
    return [&into](const char* name, const auto& rows) {
      for (const auto& row : rows) into.push_back(std::string(name) + ": " + CellsOf(row));
    };
  };
  VisitTables(a, collect(left));
  VisitTables(b, collect(right));
  EXPECT_EQ(left, right);
  EXPECT_EQ(a.string_lists, b.string_lists);
  EXPECT_EQ(a.variable_lists, b.variable_lists);
  EXPECT_EQ(a.info.notes, b.info.notes);
  EXPECT_EQ(a.info.name, b.info.name);
  EXPECT_EQ(a.info.duration_ns, b.info.duration_ns);
  EXPECT_EQ(a.info.num_executed, b.info.num_executed);
}

void ExpectSameValues(const Trace& a, const Trace& b) {
  for (TensorId id = 0; id < a.tables().tensors.size(); ++id) {
    const Result<Payload> left = a.ReadTensor(id);
    const Result<Payload> right = b.ReadTensor(id);
    ASSERT_EQ(left.ok(), right.ok()) << id << right.status().ToString();
    if (!left.ok()) continue;
    EXPECT_EQ(ContentHash(*left), ContentHash(*right)) << "tensor " << id;
  }
}

std::shared_ptr<const Trace> Load(const std::string& path) {
  Result<std::shared_ptr<const Trace>> trace = OpenTrace(path);
  EXPECT_TRUE(trace.ok()) << trace.status().ToString();
  return trace.ok() ? *trace : nullptr;
}

TEST_F(StoreTest, GivesBackWhatWasSaved) {
  const auto live = MakeSmall();
  const auto loaded = Load(SaveSmall());
  ASSERT_NE(loaded, nullptr);
  ExpectSameTables(live->tables(), loaded->tables());
  ExpectSameValues(*live, *loaded);
  EXPECT_TRUE(Lint(*loaded).empty());
}

TEST_F(StoreTest, ZipAndCompressionGiveTheSame) {
  const auto live = MakeSmall();
  for (const bool compress : {false, true}) {
    for (const char* name : {"a.flow", "a.flow.zip"}) {
      SaveOptions options;
      options.compress = compress;
      options.overwrite = true;
      const auto loaded = Load(SaveSmall(name, options));
      ASSERT_NE(loaded, nullptr) << name;
      ExpectSameTables(live->tables(), loaded->tables());
      ExpectSameValues(*live, *loaded);
    }
  }
}

TEST_F(StoreTest, EveryDTypeComesBackToTheBit) {
  TraceMaker m;
  std::vector<DType> dtypes;
  for (int i = 1; i <= static_cast<int>(DType::kUint2); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (IsPlainBytes(dtype)) dtypes.push_back(dtype);
  }
  for (const DType dtype : dtypes) {
    const TensorId tensor = m.Op("Identity", {}, {.dims = {2, 3}});
    std::vector<unsigned char> bytes(6 * DTypeSize(dtype));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 37 + 1);
    m.SetValue(tensor, dtype, bytes);
  }
  const TensorId strings = m.Op("Identity", {}, {.dims = {2, 2}});
  m.SetStrings(strings, {"", std::string("a\0b", 3), "\xff\xfe", std::string(100000, 'x')});
  m.Op("Identity", {}, {.dims = {0, 4}});
  m.Op("Identity", {}, {.dims = {}});
  const auto live = m.Finish();
  for (const bool compress : {false, true}) {
    SaveOptions options;
    options.compress = compress;
    options.overwrite = true;
    ASSERT_TRUE(SaveTrace(*live, Path("d.flow"), options).ok());
    const auto loaded = Load(Path("d.flow"));
    ASSERT_NE(loaded, nullptr);
    ExpectSameValues(*live, *loaded);
    EXPECT_EQ(loaded->ReadTensor(strings)->strings[1], std::string_view("a\0b", 3));
  }
}

TEST_F(StoreTest, ValuesBeginAtMultiplesOfTheAlignment) {
  for (const char* name : {"a.flow", "a.flow.zip"}) {
    const auto loaded = Load(SaveSmall(name));
    for (TensorId id = 0; id < loaded->tables().tensors.size(); ++id) {
      const Result<Payload> payload = loaded->ReadTensor(id);
      if (!payload.ok() || payload->nbytes == 0) continue;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(payload->data) % kAlignment, 0U) << name << id;
    }
  }
}

TEST_F(StoreTest, EqualValuesAreStoredOnce) {
  TraceMaker m;
  const std::vector<float> values(5000, 1.5F);
  for (int i = 0; i < 20; ++i) m.Op("Identity", {}, {.dims = {5000}, .values = values});
  ASSERT_TRUE(SaveTrace(*m.Finish(), Path("e.flow"), {}).ok());
  EXPECT_LT(std::filesystem::file_size(Path("e.flow/tensors-00000.safetensors")), 40000U);
}

TEST_F(StoreTest, StatisticsAreKept) {
  TraceMaker m;
  const TensorId tensor = m.Op("Identity", {}, {.dims = {4}, .state = PayloadState::kStats});
  Stats stats;
  stats.numeric = true;
  stats.count = 4;
  stats.nan = 1;
  stats.min = -0.0;
  stats.max = std::numeric_limits<double>::denorm_min();
  stats.mean = std::numeric_limits<double>::quiet_NaN();
  stats.std = std::numeric_limits<double>::infinity();
  stats.histogram[3] = 4;
  m.payloads().KeepStats(tensor, stats);
  ASSERT_TRUE(SaveTrace(*m.Finish(), Path("s.flow"), {}).ok());
  const auto loaded = Load(Path("s.flow"))->StoredStats(tensor);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_TRUE(std::signbit(loaded->min));
  EXPECT_EQ(loaded->max, stats.max);
  EXPECT_TRUE(std::isnan(loaded->mean));
  EXPECT_EQ(loaded->std, stats.std);
  EXPECT_EQ(loaded->histogram, stats.histogram);
}

TEST_F(StoreTest, SelectionLeavesValuesOut) {
  const auto live = MakeSmall();
  SaveOptions options;
  options.keep.assign(live->tables().tensors.size(), false);
  const auto loaded = Load(SaveSmall("n.flow", options));
  for (const TensorRecord& tensor : loaded->tables().tensors) {
    EXPECT_NE(tensor.state, PayloadState::kKept);
  }
  EXPECT_FALSE(std::filesystem::exists(Path("n.flow/tensors-00000.safetensors")));
}

TEST_F(StoreTest, ShardsAreClosedWhenTheyAreFull) {
  ShardWriter writer(folder_, {4096 - 8, 256}, false);
  std::vector<char> bytes(100);
  for (TensorId id = 0; id < 10; ++id) {
    bytes[0] = static_cast<char>(id);
    Payload payload;
    payload.dtype = DType::kUint8;
    payload.dims = {100};
    payload.data = bytes.data();
    payload.nbytes = bytes.size();
    const Result<StoredValue> stored = writer.Put(id, payload);
    ASSERT_TRUE(stored.ok());
    EXPECT_EQ(stored->shard, id / 2);
  }
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(writer.num_shards(), 5U);
  EXPECT_TRUE(std::filesystem::exists(Path("tensors-00004.safetensors")));
}

TEST_F(StoreTest, NothingButATraceIsReplaced) {
  const auto trace = MakeSmall();
  std::filesystem::create_directory(Path("other.flow"));
  WriteFile(Path("other.flow/precious"), "x");
  SaveOptions overwrite;
  overwrite.overwrite = true;
  EXPECT_EQ(SaveTrace(*trace, Path("other.flow"), overwrite).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadFile(Path("other.flow/precious")), "x");
  EXPECT_EQ(SaveTrace(*trace, Path("name"), {}).code(), StatusCode::kInvalidArgument);
  SaveSmall("a.flow");
  EXPECT_EQ(SaveTrace(*trace, Path("a.flow"), {}).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(SaveTrace(*trace, Path("a.flow"), overwrite).ok());
  EXPECT_EQ(SaveTrace(*trace, Path("missing/a.flow"), {}).code(), StatusCode::kIo);
}

TEST_F(StoreTest, ALoadedTraceOutlivesItsFolder) {
  const auto live = MakeSmall();
  const auto loaded = Load(SaveSmall());
  std::filesystem::remove_all(Path("small.flow"));
  ExpectSameValues(*live, *loaded);
}

TEST_F(StoreTest, ALoadedTraceReplacesItself) {
  const auto live = MakeSmall();
  const auto loaded = Load(SaveSmall());
  SaveOptions overwrite;
  overwrite.overwrite = true;
  ASSERT_TRUE(SaveTrace(*loaded, Path("small.flow"), overwrite).ok());
  ExpectSameValues(*live, *Load(Path("small.flow")));
}

TEST_F(StoreTest, ColumnsThatAreAddedLaterAreNoTrouble) {
  const std::string path = SaveSmall();
  ChangeDatabase(path, "CREATE TABLE \"later\"(\"id\" INTEGER PRIMARY KEY, \"x\" TEXT)");
  ExpectSameValues(*MakeSmall(), *Load(path));
}

TEST_F(StoreTest, ADistanceThatIsNoNumberComesBack) {
  TraceMaker m;
  m.Op("Identity", {m.Input("x", {1})});
  CompiledDifference nan;
  nan.call = m.tables().ops.size() - 1;
  nan.num_elements = nan.num_different = 1;
  nan.max_abs = nan.max_rel = std::numeric_limits<double>::quiet_NaN();
  m.tables().compiled_differences.push_back(nan);
  ASSERT_TRUE(SaveTrace(*m.Finish(), Path("n.flow"), {}).ok());
  const auto loaded = Load(Path("n.flow"));
  ASSERT_NE(loaded, nullptr);
  EXPECT_TRUE(std::isnan(loaded->tables().compiled_differences.at(0).max_abs));
  EXPECT_TRUE(std::isnan(loaded->tables().compiled_differences.at(0).max_rel));
}

TEST_F(StoreTest, ANewerFormatIsToldApart) {
  const std::string path = SaveSmall();
  ChangeDatabase(path, "UPDATE info SET value = 2 WHERE key = 'format'; DROP TABLE checksums");
  EXPECT_EQ(OpenTrace(path).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace flowscope::store
