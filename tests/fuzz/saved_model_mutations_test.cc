// A bounded run of saved_model_fuzz.cc: mutations of a sound file, the same in every run.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "fake_runtime/function_writer.h"
#include "fake_runtime/saved_model_writer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" size_t FlowscopeFuzzNumRead();

namespace flowscope::fake {
namespace {

std::string SoundFile() {
  const Runtime runtime;
  const Attrs call = {{"f", FuncAttr("restore_1")},
                      {"Tin", TypesAttr({DType::kString, DType::kResource})},
                      {"Tout", TypesAttr({DType::kString})}};
  return SavedModelWriter()
      .Node("x", "Placeholder", {}, {{"dtype", TypeAttr(DType::kFloat32)}})
      .Node("w", "VarHandleOp", {}, {{"dtype", TypeAttr(DType::kFloat32)}})
      .Node("read", "ReadVariableOp", {"w"}, {{"dtype", TypeAttr(DType::kFloat32)}})
      .Node("y", "AddV2", {"x", "read", "^w"}, {{"T", TypeAttr(DType::kFloat32)}})
      .Node("file", "Placeholder", {}, {{"dtype", TypeAttr(DType::kString)}})
      .Node("restore", "StatefulPartitionedCall", {"file", "w"}, call)
      .Function(FunctionWriter("restore_1")
                    .Arg("file", DType::kString)
                    .Arg("w", DType::kResource)
                    .Const("keys", 1)
                    .Node("assign", "AssignVariableOp", {"w", "keys:output:0"})
                    .Returns("out", "file")
                    .Bytes())
      .Signature("serving_default", {{"x", "x:0"}}, {{"y", "y:0"}})
      .Saver("file:0", "restore")
      .Object({{"layer", 1}})
      .Object({{"w", 2}, {"up", 0}})
      .Object({}, "layer/w")
      .Bytes();
}

void Try(const std::string& bytes) {
  // A copy of its own, so that a read beyond its end is one beyond an allocation.
  const std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

TEST(SavedModelMutations, AreReadOrRefused) {
  const std::string sound = SoundFile();
  Try(sound);
  std::mt19937 random(7);
  const auto below = [&random](size_t limit) { return static_cast<size_t>(random() % limit); };
  constexpr int kRuns = 50'000;
  for (int run = 0; run < kRuns; ++run) {
    std::string bytes = sound;
    for (size_t change = below(4) + 1; change > 0; --change) {
      const size_t at = below(bytes.size());
      switch (below(4)) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        case 2:
          bytes.erase(at, below(8) + 1);
          break;
        default:
          bytes.insert(at, bytes.substr(below(bytes.size()), below(16)));
      }
      if (bytes.empty()) break;
    }
    Try(bytes);
  }
  // Both kinds are met often: what is read goes through all views, and what is cut off is refused.
  EXPECT_GT(FlowscopeFuzzNumRead(), kRuns / 10);
  EXPECT_LT(FlowscopeFuzzNumRead(), kRuns);
}

}  // namespace
}  // namespace flowscope::fake
